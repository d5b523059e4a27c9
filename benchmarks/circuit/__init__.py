"""Circuits over encrypted integers."""
