"""einsum on encrypted tensors."""
