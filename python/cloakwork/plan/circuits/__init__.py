"""Circuits over integers: search, packing, levels, slot programs."""
