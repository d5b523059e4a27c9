"""Hypothesis: the same examples in every run, or others by `--hypothesis-profile=random`."""

from hypothesis import settings

from tests.thoroughness import part

settings.register_profile("random", deadline=None, max_examples=part(100))
settings.register_profile("repeatable", parent=settings.get_profile("random"), derandomize=True)
settings.load_profile("repeatable")
