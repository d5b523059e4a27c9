"""Products modulo 2^64: the stages, each a process of its own, which meet in files alone."""
