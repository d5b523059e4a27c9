"""BGV beside CKKS."""
