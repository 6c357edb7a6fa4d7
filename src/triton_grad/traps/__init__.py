"""Kernels and wrappers that are wrong on purpose, one bug a file."""
