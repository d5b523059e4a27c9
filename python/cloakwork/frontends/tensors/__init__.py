"""numpy's notation, traced by `compile` or run at once on the tensors of a `Session`."""
