"""Hypothesis: the same examples in every run, or others by `--hypothesis-profile=random`."""

from hypothesis import settings

settings.register_profile("random", deadline=None)
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
