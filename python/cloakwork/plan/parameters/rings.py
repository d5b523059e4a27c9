"""The rings that plans are made for, where nobody asks for one."""

# Base-2 logarithms of the degrees.
RINGS = range(12, 17)
