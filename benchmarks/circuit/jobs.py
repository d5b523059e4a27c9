"""The scalar circuits of Coyote's evaluation (ASPLOS 2023, section 6), built anew."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from cloakwork.programs.ir.circuits import (
    CircuitBuilder,
    CircuitInput,
    Difference,
    Integer,
    ScalarCircuit,
    ScalarProduct,
    Sum,
)


@dataclass(frozen=True, slots=True)
class CircuitJob:
    """A circuit of the suite.

    Args:
        name: The paper's name for it.
        replication: `un`, `partially` or `fully` replicated, or what else tells it from others
            of the name.
        circuit: The circuit.
    """

    name: str
    replication: str
    circuit: ScalarCircuit


def small_jobs() -> Iterator[CircuitJob]:
    """The jobs of the paper's table of operation counts, without the large one."""
    for name, first_replicated, make in _REPLICATED:
        for replication, flags in _flags(first_replicated).items():
            yield CircuitJob(name, replication, make(*flags))
    for length in (3, 6, 10):
        yield CircuitJob(f"dot.{length}", "un", dot(length))
    yield CircuitJob("sort[3]", "ungrouped", sort_3(False, False, grouped=False))
    yield CircuitJob("max[5]", "ungrouped", max_5(False, False, grouped=False))


def large_job() -> CircuitJob:
    """The product of two 16 x 16 matrices."""
    return CircuitJob("mm.16", "un", matrix_product(16, False, False))


def layout_jobs() -> Iterator[CircuitJob]:
    """The product of two 3 x 3 matrices from inputs grouped in five ways."""
    for name, split in _LAYOUTS.items():
        yield CircuitJob("mm.3", name, _split_matrix_product(split))


def polynomial_jobs() -> Iterator[CircuitJob]:
    """Random trees of sums and products of different scalars, of depth 5 and 10.

    Dense homogeneous: every operation of a full tree is a product. Dense mixed: a full tree of
    sums and products. Sparse: branches also end early.
    """
    for depth in (5, 10):
        for regime in ("dense homogeneous", "dense mixed", "sparse"):
            yield CircuitJob(f"polynomial.{depth}", regime, random_polynomial(depth, regime, 7))


def matrix_product(size: int, left: bool, right: bool) -> ScalarCircuit:
    """Two square matrices multiplied; `left` and `right` say which are replicated."""
    builder = CircuitBuilder(f"mm.{size}")
    a = builder.input(CircuitInput("a", (size, size), replicated=left))
    b = builder.input(CircuitInput("b", (size, size), replicated=right))
    entries = _products(builder, size, a, b)
    builder.output("c", (size, size), entries)
    return builder.finish()


def dot(length: int) -> ScalarCircuit:
    """The inner product of two vectors."""
    builder = CircuitBuilder(f"dot.{length}")
    a = builder.input(CircuitInput("a", (length,)))
    b = builder.input(CircuitInput("b", (length,)))
    builder.output("c", (), (_inner(builder, a, b),))
    return builder.finish()


def convolution(length: int, taps: int, kernel: bool, signal: bool) -> ScalarCircuit:
    """A signal under a kernel at every place where all of the kernel fits."""
    builder = CircuitBuilder(f"conv.{length}.{taps}")
    x = builder.input(CircuitInput("x", (length,), replicated=signal))
    k = builder.input(CircuitInput("k", (taps,), replicated=kernel))
    places = length - taps + 1
    entries = [_inner(builder, x[place : place + taps], k) for place in range(places)]
    builder.output("y", (places,), entries)
    return builder.finish()


def distances(length: int, left: bool, right: bool) -> ScalarCircuit:
    """The squared differences of all pairs of one number from each of two vectors."""
    builder = CircuitBuilder(f"dist.{length}")
    xs = builder.input(CircuitInput("x", (length,), replicated=left))
    ys = builder.input(CircuitInput("y", (length,), replicated=right))
    entries = []
    for x in xs:
        for y in ys:
            difference = builder.append(Difference(x, y))
            entries.append(builder.append(ScalarProduct(difference, difference)))
    builder.output("d", (length, length), entries)
    return builder.finish()


def sort_3(bits: bool, labels: bool, *, grouped: bool = True) -> ScalarCircuit:
    """Which of six labels belongs to the order of three numbers, from their comparisons."""
    builder = CircuitBuilder("sort[3]")
    c12, c23, c13 = _input(builder, "c", 3, bits, grouped)
    o123, o132, o213, o231, o312, o321 = _input(builder, "o", 6, labels, grouped)
    below = _select(builder, c23, o123, _select(builder, c13, o132, o312))
    above = _select(builder, c13, o213, _select(builder, c23, o231, o321))
    builder.output("y", (), (_select(builder, c12, below, above),))
    return builder.finish()


def max_5(bits: bool, labels: bool, *, grouped: bool = True) -> ScalarCircuit:
    """Which of five labels belongs to the largest of five numbers, from their comparisons."""
    builder = CircuitBuilder("max[5]")
    c12, c13, c23, c14, c34, c24, c15, c45, c35, c25 = _input(builder, "c", 10, bits, grouped)
    o1, o2, o3, o4, o5 = _input(builder, "o", 5, labels, grouped)
    last = _select(builder, c45, o4, o5)
    first = _select(builder, c14, _select(builder, c15, o1, o5), last)
    second = _select(builder, c24, _select(builder, c25, o2, o5), last)
    third = _select(builder, c34, _select(builder, c35, o3, o5), last)
    first = _select(builder, c13, first, third)
    second = _select(builder, c23, second, third)
    builder.output("y", (), (_select(builder, c12, first, second),))
    return builder.finish()


def random_polynomial(depth: int, regime: str, seed: int) -> ScalarCircuit:
    """A random tree of sums and products over different scalars, each in any ciphertext.

    Args:
        depth: Operations on the longest way.
        regime: As for `polynomial_jobs`.
        seed: Seed.
    """
    generator = random.Random(f"{depth} {regime} {seed}")
    shape: list[tuple[int, int, bool] | None] = []

    def grow(left: int) -> int:
        ends = regime == "sparse" and left < depth - 1 and generator.random() < 0.5
        if left == 0 or ends:
            shape.append(None)
        else:
            is_product = regime == "dense homogeneous" or generator.random() < 0.5
            shape.append((grow(left - 1), grow(left - 1), is_product))
        return len(shape) - 1

    grow(depth)
    builder = CircuitBuilder(f"polynomial.{depth}, {regime}")
    leaves = iter(builder.input(CircuitInput("x", (shape.count(None),), grouped=False)))
    numbers: list[int] = []
    for entry in shape:
        if entry is None:
            numbers.append(next(leaves))
            continue
        left, right = numbers[entry[0]], numbers[entry[1]]
        numbers.append(builder.append(ScalarProduct(left, right) if entry[2] else Sum(left, right)))
    builder.output("y", (), (numbers[-1],))
    return builder.finish()


def _products(builder: CircuitBuilder, size: int, a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [
        _inner(builder, a[row * size : (row + 1) * size], b[column::size])
        for row in range(size)
        for column in range(size)
    ]


def _inner(builder: CircuitBuilder, left: Sequence[int], right: Sequence[int]) -> int:
    products = [builder.append(ScalarProduct(x, y)) for x, y in zip(left, right, strict=True)]
    return _total(builder, products)


def _total(builder: CircuitBuilder, values: Sequence[int]) -> int:
    if len(values) == 1:
        return values[0]
    half = len(values) // 2
    return builder.append(Sum(_total(builder, values[:half]), _total(builder, values[half:])))


def _select(builder: CircuitBuilder, bit: int, one: int, other: int) -> int:
    inverse = builder.append(Difference(builder.append(Integer(1)), bit))
    first, second = ScalarProduct(bit, one), ScalarProduct(inverse, other)
    return builder.append(Sum(builder.append(first), builder.append(second)))


def _input(
    builder: CircuitBuilder, name: str, count: int, replicated: bool, grouped: bool
) -> list[int]:
    return builder.input(CircuitInput(name, (count,), replicated=replicated, grouped=grouped))


def _split_matrix_product(split: Callable[[str, int, int], tuple[str, int]]) -> ScalarCircuit:
    """The product of two 3 x 3 matrices whose entries are scalars of other inputs.

    Args:
        split: The input in which an entry of `a` or `b` lies, and its number there.
    """
    builder = CircuitBuilder("mm.3")
    homes = {
        (matrix, row, column): split(matrix, row, column)
        for matrix in "ab"
        for row in range(3)
        for column in range(3)
    }
    counts: dict[str, int] = {}
    for name, _ in homes.values():
        counts[name] = counts.get(name, 0) + 1
    numbers = {name: builder.input(CircuitInput(name, (count,))) for name, count in counts.items()}
    a, b = (
        [
            numbers[homes[matrix, row, column][0]][homes[matrix, row, column][1]]
            for row in range(3)
            for column in range(3)
        ]
        for matrix in "ab"
    )
    builder.output("c", (3, 3), _products(builder, 3, a, b))
    return builder.finish()


def _flags(first_replicated: int) -> dict[str, tuple[bool, bool]]:
    return {
        "un": (False, False),
        "partially": (first_replicated == 0, first_replicated == 1),
        "fully": (True, True),
    }


# Which of the two inputs is replicated in part.
_REPLICATED: Sequence[tuple[str, int, Callable[[bool, bool], ScalarCircuit]]] = (
    ("conv.4.2", 0, lambda kernel, signal: convolution(4, 2, kernel, signal)),
    ("conv.5.3", 0, lambda kernel, signal: convolution(5, 3, kernel, signal)),
    ("dist.3", 0, lambda left, right: distances(3, left, right)),
    ("dist.4", 0, lambda left, right: distances(4, left, right)),
    ("dist.5", 0, lambda left, right: distances(5, left, right)),
    ("mm.2", 0, lambda left, right: matrix_product(2, left, right)),
    ("mm.3", 0, lambda left, right: matrix_product(3, left, right)),
    ("sort[3]", 0, sort_3),
    ("max[5]", 0, max_5),
)

_LAYOUTS: dict[str, Callable[[str, int, int], tuple[str, int]]] = {
    "together": lambda matrix, row, column: ("ab", 9 * (matrix == "b") + 3 * row + column),
    "apart": lambda matrix, row, column: (matrix, 3 * row + column),
    "rows of a, columns of b": lambda matrix, row, column: (
        (f"a{row}", column) if matrix == "a" else (f"b{column}", row)
    ),
    "columns of a, rows of b": lambda matrix, row, column: (
        (f"a{column}", row) if matrix == "a" else (f"b{row}", column)
    ),
    "every entry alone": lambda matrix, row, column: (f"{matrix}{row}{column}", 0),
}
