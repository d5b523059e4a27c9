"""Polynomials near functions, for every frontend: one at a time, and composed."""
