"""Random einsums with their operands."""

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray


@dataclass(frozen=True)
class Case:
    """An expression, its operands, and which of them are encrypted."""

    expression: str
    operands: tuple[NDArray[np.float64], ...]
    hidden: tuple[bool, ...]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """One or two operands of up to three axes, labels repeated, axes of 1 that stretch."""
    size_of = {label: draw(st.integers(1, 5)) for label in "abcd"}
    count = draw(st.integers(1, 2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    terms, operands = [], []
    for number in range(count):
        term = "".join(draw(st.lists(st.sampled_from("abcd"), max_size=3)))
        shrunk = draw(st.sets(st.sampled_from("abcd"), max_size=1)) if number else set()
        shape = [1 if label in shrunk else size_of[label] for label in term]
        terms.append(term)
        operands.append(rng.uniform(-1, 1, shape))
    used = sorted(set("".join(terms)))
    output = draw(
        st.permutations(used).flatmap(
            lambda order: st.integers(0, len(order)).map(lambda end: "".join(order[:end]))
        )
    )
    hidden = draw(st.tuples(*[st.booleans()] * count).filter(any))
    return Case(f"{','.join(terms)}->{output}", tuple(operands), hidden)
