"""Rewrites of a slot program that keep its meaning."""
