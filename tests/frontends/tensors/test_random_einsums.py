"""The random einsums are einsums, and all kinds of them."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings

from tests.frontends.tensors.random_einsums import RandomEinsum, random_einsums

EXAMPLES = 300


def features(case: RandomEinsum) -> set[str]:
    text, operands, encrypted = case
    left, arrow, right = text.replace(" ", "").partition("->")
    terms = left.split(",")
    found = {f"{len(terms)} operands", "explicit" if arrow else "implicit"}
    if "..." in left:
        found.add("ellipsis")
    if "..." in right:
        found.add("ellipsis in the output")
    if any(
        operand.ndim > len(term.replace("...", ""))
        for operand, term in zip(operands, terms, strict=True)
    ):
        found.add("ellipsis of axes")
    if any(term.count(label) > 1 for term in terms for label in term if label != "."):
        found.add("repeat")
    sizes: dict[str, set[int]] = {}
    for term, operand in zip(terms, operands, strict=True):
        if "..." not in term:
            for label, size in zip(term, operand.shape, strict=True):
                sizes.setdefault(label, set()).add(size)
    if any(len(several) > 1 for several in sizes.values()):
        found.add("stretch")
    if any(operand.ndim == 0 for operand in operands):
        found.add("scalar")
    if any(set(one) & set(other) - {"."} for one in terms for other in terms if one != other):
        found.add("shared label")
    if text != text.replace(" ", ""):
        found.add("space")
    if not all(encrypted):
        found.add("clear operand")
    if sum(encrypted) > 1:
        found.add("several encrypted")
    return found


@pytest.mark.slow
def test_every_kind_comes_and_numpy_accepts_it() -> None:
    seen: Counter[str] = Counter()

    @settings(max_examples=EXAMPLES, derandomize=True, database=None, deadline=None)
    @given(random_einsums())
    def count(case: RandomEinsum) -> None:
        text, operands, encrypted = case
        assert np.isfinite(np.einsum(text, *operands)).all()
        assert len(operands) == len(encrypted) <= 4
        assert any(encrypted)
        for operand in operands:
            assert operand.dtype == np.float64
            assert operand.size <= 4096
            assert np.abs(operand).max() <= 1
        seen.update(features(case))

    count()
    expected = {
        *("1 operands", "2 operands", "3 operands", "4 operands"),
        *("explicit", "implicit", "ellipsis", "ellipsis in the output", "ellipsis of axes"),
        *("repeat", "stretch", "scalar", "shared label", "space"),
        *("clear operand", "several encrypted"),
    }
    rare = {name: seen[name] for name in expected if seen[name] < EXAMPLES // 20}
    assert not rare, seen
