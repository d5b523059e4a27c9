"""Exact decisions on bits within functions over reals."""
