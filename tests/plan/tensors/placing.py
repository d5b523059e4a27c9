"""Random layouts, and tensors placed in them and taken out again, for tests of the planner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork.plan.tensors.placed import Placed
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.slots import Builder, Input, Output
from cloakwork.runtime.executor import run
from cloakwork.schemes.clear_real import ClearBackend, ClearVector

SLOTS = 32
LEVEL = 9
GARBAGE = 1000.0

shapes = st.lists(st.integers(1, 6), max_size=3).map(tuple)


@st.composite
def layouts(draw: st.DrawFn, shape: Sequence[int], names: str = "", slots: int = SLOTS) -> Layout:
    """Any layout: gaps, axes in any order or backward, tiles, an offset, copies, dirt."""
    order = draw(st.permutations(range(len(shape))))
    extents = [draw(st.integers(1, size)) for size in shape]
    gaps = [draw(st.integers(0, 2)) for _ in shape]
    strides = _strides(order, extents, gaps)
    while _span(extents, strides) > slots:
        gaps = [0] * len(gaps)
        strides = _strides(order, extents, gaps)
        if _span(extents, strides) > slots:
            extents[extents.index(max(extents))] -= 1
            strides = _strides(order, extents, gaps)
    span = _span(extents, strides)
    replicas: tuple[Axis, ...] = ()
    copies = draw(st.integers(1, min(3, slots // span)))
    if copies > 1:
        replicas = (Axis(copies, span),)
    offset = draw(st.integers(0, slots - span * copies))
    for number, extent in enumerate(extents):
        if draw(st.booleans()):
            offset += (extent - 1) * strides[number]
            strides[number] *= -1
    axes = tuple(
        Axis(size, stride, name, extent if extent < size else 0)
        for size, stride, name, extent in zip(
            shape, strides, names or [""] * len(shape), extents, strict=True
        )
    )
    return Layout(slots, axes, replicas, draw(st.booleans()), offset)


def _strides(order: Sequence[int], extents: Sequence[int], gaps: Sequence[int]) -> list[int]:
    strides = [0] * len(extents)
    span = 1
    for number in order:
        strides[number] = span + gaps[number]
        span += (extents[number] - 1) * strides[number]
    return strides


def _span(extents: Sequence[int], strides: Sequence[int]) -> int:
    return 1 + sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))


def numbers(shape: Sequence[int], seed: int = 0) -> NDArray[np.float64]:
    return np.asarray(np.random.default_rng(seed).uniform(-1, 1, tuple(shape)))


def packed(layout: Layout, array: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """Its vectors, with garbage in the slots that may hold anything."""
    vectors = layout.pack(array)
    if layout.garbage:
        for vector, mask in zip(vectors, layout.pack(np.ones(layout.shape)), strict=True):
            vector[mask == 0] = GARBAGE
    return vectors


@dataclass
class Bench:
    """A program in the making and what goes into it."""

    slots: int = SLOTS
    vectors: list[ClearVector] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.builder = Builder("", self.slots)

    def place(self, array: NDArray[np.float64], layout: Layout, level: int = LEVEL) -> Placed:
        """An array as inputs of the program."""
        vectors = packed(layout, array)
        self.vectors += [ClearVector(vector, level) for vector in vectors]
        return Placed(tuple(self.builder.append(Input("", level)) for _ in vectors), layout)

    def vectors_of(self, placed: Placed) -> list[NDArray[np.float64]]:
        """What the program leaves in the values of a tensor."""
        for value in placed.values:
            self.builder.append(Output(value))
        results = run(self.builder.finish(), ClearBackend(), self.vectors)
        return [each.slots for each in results[-len(placed.values) :]]

    def check(self, placed: Placed, expected: NDArray[np.float64]) -> None:
        """The elements and their copies are right; other slots are zero if they are said to be."""
        layout = placed.layout
        assert len(placed.values) == layout.ciphertexts
        assert layout.shape == expected.shape
        wanted = layout.pack(expected)
        used = layout.pack(np.ones(layout.shape))
        for vector, right, mask in zip(self.vectors_of(placed), wanted, used, strict=True):
            where = mask == 1 if layout.garbage else np.full(mask.shape, True)
            np.testing.assert_allclose(vector[where], right[where], atol=1e-9)
