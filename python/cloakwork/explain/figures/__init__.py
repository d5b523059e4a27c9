"""Plans as figures."""
