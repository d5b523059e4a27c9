"""Keys, roles, running, files."""
