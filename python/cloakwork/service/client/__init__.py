"""The side that has the data: what asks a server."""
