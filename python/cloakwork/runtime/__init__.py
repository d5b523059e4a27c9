"""Programs, clients, evaluators: keys made, programs run, files."""
