"""Nothing: the cosines are written already."""
