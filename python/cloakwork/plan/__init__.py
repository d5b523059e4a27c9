"""Decides where elements sit and how they move."""
