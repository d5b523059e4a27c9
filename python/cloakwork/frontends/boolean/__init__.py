"""Circuits that others have written, read as gate programs."""
