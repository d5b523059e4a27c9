"""Parameters: rings, moduli and scales that are secure and enough."""
