"""Pictures of programs, drawn by matplotlib."""
