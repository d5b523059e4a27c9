"""Programs before they are packed into vectors: over tensors, over numbers, over lanes."""
