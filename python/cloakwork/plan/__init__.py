"""Decides which operations run, where numbers lie, at which levels, under which parameters."""
