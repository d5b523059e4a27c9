"""Shows what was planned and what it cost."""
