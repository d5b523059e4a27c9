"""Tensors: einsum and array methods, eager in a session or compiled."""
