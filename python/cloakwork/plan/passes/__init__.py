"""Passes from slot program to slot program."""
