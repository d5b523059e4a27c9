"""The command line: what the library does, on files."""
