"""Tensor expressions: orders, layouts, slot programs."""
