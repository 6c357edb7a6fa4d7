"""Ops as a reader writes them: the guide "Check your own op" checks them."""
