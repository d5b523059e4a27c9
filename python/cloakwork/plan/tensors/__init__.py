"""Searches for the cheapest packing of a program over tensors."""
