"""The press: runs the book's snippets, compares, prints them on the page."""
