"""Random einsums that numpy accepts, in the whole of its language."""

import math
import string
from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

RandomEinsum: TypeAlias = tuple[str, tuple[NDArray[np.float64], ...], tuple[bool, ...]]

MAX_AXES = 4


@st.composite
def random_einsums(
    draw: st.DrawFn,
    max_operands: int = 4,
    max_labels: int = 5,
    max_size: int = 9,
    max_elements: int = 4096,
) -> RandomEinsum:
    """An expression, its operands with values from -1 to 1, and which are encrypted.

    Args:
        draw: Given by hypothesis.
        max_operands: Most operands.
        max_labels: Most labels, the axes of ellipses included.
        max_size: Largest size of a label.
        max_elements: Most elements of an operand, and most products to be summed: the
            sizes of all labels multiplied.
    """
    shared = draw(st.integers(0, min(2, max_labels - 1)))
    letters = draw(
        st.lists(
            st.sampled_from(string.ascii_letters),
            min_size=1,
            max_size=max_labels - shared,
            unique=True,
        )
    )
    ellipsis = string.digits[:shared]  # stand-ins, so that all axes are alike below
    size_of: dict[str, int] = {}
    for label in draw(st.permutations([*letters, *ellipsis])):
        room = max_elements // math.prod(size_of.values())
        size_of[label] = draw(st.integers(1, min(max_size, room)))
    count = draw(st.integers(1, max_operands))
    terms = [draw(_terms(letters, ellipsis, size_of, max_elements)) for _ in range(count)]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    operands = []
    for term in terms:
        thin = draw(st.sets(st.sampled_from(term), max_size=2)) if term else set()
        shape = [1 if label in thin else size_of[label] for label in term if label != "."]
        operands.append(np.asarray(rng.uniform(-1, 1, shape)))
    text = draw(st.sampled_from([",", ", "])).join(_written(term) for term in terms)
    used = sorted(set("".join(terms)) & set(letters))
    if draw(st.integers(0, 2)):
        text += draw(st.sampled_from(["->", " -> "]))
        output = draw(st.permutations(used))[: draw(st.integers(0, len(used)))]
        if any(label in ellipsis for term in terms for label in term):
            output.insert(draw(st.integers(0, len(output))), "...")
        text += "".join(output)
    encrypted = draw(st.tuples(*[st.booleans()] * count).filter(any))
    return text, tuple(operands), encrypted


@st.composite
def _terms(
    draw: st.DrawFn, letters: list[str], ellipsis: str, size_of: dict[str, int], most: int
) -> str:
    """Labels, perhaps repeated, among them a dot and digits where an ellipsis stands."""
    term = ""
    elements = 1
    for label in draw(st.lists(st.sampled_from(letters), max_size=MAX_AXES)):
        if elements * size_of[label] <= most:
            term += label
            elements *= size_of[label]
    if draw(st.integers(0, 2)):
        return term
    hidden = ellipsis[draw(st.integers(0, len(ellipsis))) :]
    while elements * math.prod(size_of[label] for label in hidden) > most:
        hidden = hidden[1:]
    place = draw(st.integers(0, len(term)))
    return f"{term[:place]}.{hidden}{term[place:]}"


def _written(term: str) -> str:
    return "".join("..." if label == "." else label for label in term if label not in string.digits)
