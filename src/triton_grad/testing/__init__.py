"""Tools that find what an ordinary test of a kernel cannot see."""
