"""Bootstrapping, measured."""
