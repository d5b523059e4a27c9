"""Nothing: the result is written already."""
