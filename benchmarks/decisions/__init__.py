"""Exact decisions on numbers, and numbers that bits become."""
