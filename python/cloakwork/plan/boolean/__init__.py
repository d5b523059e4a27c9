"""Gate programs mapped to bootstrap programs."""
