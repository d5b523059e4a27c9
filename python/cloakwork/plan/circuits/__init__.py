"""Vectorises a circuit over numbers, after Coyote."""
