"""Chooses rings, scales and chains of primes."""
