"""Seconds and bytes of operations, modelled or measured on this machine."""
