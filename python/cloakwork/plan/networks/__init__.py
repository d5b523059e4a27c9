"""Packs images of a network in slots and writes its layers as linear transforms."""
