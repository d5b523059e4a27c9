"""numpy's functions of tensors, and refusals of others by name."""
