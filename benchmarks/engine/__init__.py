"""The engine's operations."""
