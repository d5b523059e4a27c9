"""Runs programs on a cluster of Dask: cut into grains, keys and values in files."""
