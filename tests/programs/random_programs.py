"""Random legal slot programs, what they compute, what makes two the same, and damage."""

import random
import re
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.matrices import BlockLayout, Blocks
from cloakwork.programs.slots import (
    Add,
    AddProducts,
    AnyLayout,
    Bootstrap,
    Builder,
    Constant,
    DiagonalProducts,
    DropLevel,
    Fill,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    RotatedProducts,
    RotateSum,
    SlotProgram,
    State,
    Sub,
    SwitchProduct,
    TakeSum,
    TimesI,
    TwiceReal,
    Vector,
    WeightedSums,
    polynomial_depth,
)
from cloakwork.runtime.executor import run
from cloakwork.schemes.clear_real import ClearBackend, ClearVector

# Few and repeated, so that programs repeat themselves.
NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, -0.0, 0.1])
COEFFICIENTS = [(0.0, 1.0), (0.5, 0.0, -0.25), (0.1, 0.2, 0.0, 0.3, 0.0)]

ORIGINS = ["", "here.py:1", 'say "%0" # x\n']

# Those that long programs need most come twice.
OF_ONE: list[type[Neg] | type[TimesI] | type[TwiceReal] | type[Rescale]]
OF_ONE = [Neg, TimesI, TwiceReal, Rescale]
KINDS: list[type[Operation]] = [*OF_ONE, Add, Sub, Mul, Rotate, Linear, Polynomial]
KINDS += [Mul, Rotate, Rescale, DropLevel, Constant]
KINDS += [Fill]
KINDS += [RotatedProducts, DiagonalProducts, AddProducts, SwitchProduct, SwitchProduct]
KINDS += [WeightedSums, TakeSum, TakeSum]
# Only one, by one level, in a program.
REFRESHING_KINDS = [*KINDS, Bootstrap]

# Few enough that squares of sums of squares stay far from overflow.
MAX_LEVEL = 4
TOP = State(MAX_LEVEL)
MAX_OPERATIONS = 20


@st.composite
def programs(
    draw: st.DrawFn, kinds: Sequence[type[Operation]] = tuple(REFRESHING_KINDS)
) -> SlotProgram:
    """A program of a few inputs, any operations that are legal, and at least one output."""
    slots = draw(st.sampled_from([2, 4, 6, 16]))
    builder = Builder(draw(st.text(max_size=5)), slots)
    states: list[State] = []
    places = draw(st.permutations(layouts(slots)))
    origins = draw(st.permutations(ORIGINS))

    def append(operation: Operation) -> None:
        builder.origin = origins[len(builder) % len(origins)]
        builder.stage = origins[len(builder) // 2 % len(origins)]
        number = builder.append(operation, places[len(builder) % len(places)])
        states.append(builder.state(number))

    for _ in range(draw(st.integers(1, 3))):
        append(Input(draw(st.text(max_size=3)), draw(st.integers(0, MAX_LEVEL))))
    append(Constant(draw(vectors(slots))))
    for _ in range(draw(st.integers(0, MAX_OPERATIONS))):
        operation = draw(_operations(states, slots, kinds))
        if operation is not None:
            append(operation)
        if isinstance(operation, Bootstrap):
            kinds = KINDS
    ready = [n for n, state in enumerate(states) if _is_ready(state, 0) and not state.sums]
    for operand in draw(st.lists(st.sampled_from(ready), min_size=1, max_size=3)):
        append(Output(operand))
    return builder.finish()


def vectors(slots: int) -> st.SearchStrategy[Vector]:
    """Vectors of few numbers, constant ones among them."""
    pattern = st.lists(NUMBERS, min_size=1, max_size=3)
    return pattern.map(lambda numbers: np.resize(np.array(numbers), slots))


def layouts(slots: int) -> list[AnyLayout | None]:
    """A few layouts of this many slots."""
    return [
        None,
        Layout(slots, (), offset=1),
        Layout(slots, (Axis(100, 1, "i", tile=2), Axis(1, -3)), garbage=True),
        Layout(slots, (Axis(2, -1, "i", tile=2),), offset=1, garbage=True),
        Layout(slots, (Axis(2, 1, "i"),), garbage=True),
        Layout(slots, (Axis(1, 0, "two words"), Axis(1, 0)), (Axis(2, slots // 2, "garbage"),)),
        BlockLayout(Blocks(slots, side=2, rows=2, inner_parts=2), "right", (1, 3, 2)),
        BlockLayout(Blocks(slots, side=slots, rows=2, tall=2), "product", (1, 3, 2)),
    ]


def _is_ready(state: State, levels: int) -> bool:
    return state.level is not None and state.level >= levels and not state.waiting


@st.composite
def _operations(
    draw: st.DrawFn, states: Sequence[State], slots: int, kinds: Sequence[type[Operation]]
) -> Operation | None:
    """An operation that is legal on values in these states; None if none of the drawn kind is."""
    kind = draw(st.sampled_from(kinds))
    if kind is Constant:
        return Constant(draw(vectors(slots)))
    numbers = range(len(states))
    products = [n for n in numbers if states[n].products]
    sums = [n for n in numbers if states[n].sums]
    encrypted = [n for n in numbers if states[n].level is not None and n not in (*products, *sums)]
    candidates = {
        Mul: [n for n in encrypted if _is_ready(states[n], 1)],
        Linear: [n for n in encrypted if _is_ready(states[n], 1)],
        Polynomial: [n for n in encrypted if _is_ready(states[n], 1)],
        DropLevel: [n for n in encrypted if _is_ready(states[n], 1)],
        Bootstrap: [n for n in encrypted if _is_ready(states[n], 0) and states[n] != TOP],
        Fill: [n for n in encrypted if _is_ready(states[n], 0)],
        Rescale: [n for n in encrypted if states[n].waiting],
        RotatedProducts: [n for n in encrypted if _is_ready(states[n], 1)],
        DiagonalProducts: [n for n in encrypted if _is_ready(states[n], 1)],
        AddProducts: products,
        SwitchProduct: products,
        WeightedSums: [n for n in encrypted if _is_ready(states[n], 1)],
        TakeSum: sums,
    }.get(kind, encrypted)
    if not candidates:
        return None
    first = draw(st.sampled_from(candidates))
    state = states[first]
    level = state.level or 0
    if kind in (Add, Sub, Mul):
        partners = [n for n in numbers if states[n] in (state, State(None))]
        pair = (first, draw(st.sampled_from(partners)))
        left, right = pair if draw(st.booleans()) else pair[::-1]
        if kind is Add:
            return Add(left, right)
        return Sub(left, right) if kind is Sub else Mul(left, right)
    if kind is Fill:
        clear = [n for n in numbers if states[n] == State(None)]
        return Fill(first, draw(st.sampled_from(clear)))
    if kind is AddProducts:
        partners = [n for n in products if states[n] == state]
        return AddProducts(first, draw(st.sampled_from(partners)))
    if kind is SwitchProduct:
        step = slots // state.products
        return SwitchProduct(first, step * draw(st.integers(0, state.products - 1)))
    if kind is RotatedProducts:
        partners = [n for n in encrypted if states[n] == state]
        operands = st.lists(st.sampled_from(partners), min_size=1, max_size=3)
        u = draw(operands)
        v = [draw(st.sampled_from(partners)) for _ in u]
        step = draw(st.sampled_from([n for n in range(1, slots + 1) if slots % n == 0]))
        return RotatedProducts(tuple(u), tuple(v), step)
    if kind is DiagonalProducts:
        partners = [n for n in encrypted if states[n] == state]
        turns = draw(st.sampled_from([n for n in range(1, 5) if slots % n == 0]))
        terms = turns * draw(st.integers(1, 2))
        u, v = ([draw(st.sampled_from(partners)) for _ in range(terms)] for _ in range(2))
        return DiagonalProducts(tuple(u), tuple(v), slots // turns)
    if kind is WeightedSums:
        partners = [n for n in encrypted if states[n] == state]
        summed = draw(st.lists(st.sampled_from(partners), min_size=1, max_size=3))
        offsets = draw(st.lists(NUMBERS, min_size=1, max_size=3))
        weights = [[draw(NUMBERS) for _ in summed] for _ in offsets]
        return WeightedSums(tuple(summed), np.array(weights), np.array(offsets))
    if kind is TakeSum:
        return TakeSum(first, draw(st.integers(0, state.sums - 1)))
    if kind is Rotate:
        return Rotate(first, draw(st.integers(1, slots - 1)))
    if kind is Linear:
        chosen = sorted(draw(st.sets(st.integers(0, slots - 1), min_size=1, max_size=3)))
        start = draw(st.sampled_from([0, 0, slots]))
        diagonals = {d - start if d else d: draw(vectors(slots)) for d in chosen}
        return Linear(first, diagonals, draw(st.integers(1, slots)))
    if kind is Polynomial:
        fitting = [c for c in COEFFICIENTS if polynomial_depth(c) <= level]
        # Beyond [-1, 1] a polynomial in the Chebyshev basis is still one.
        return Polynomial(
            first,
            draw(st.sampled_from(fitting)),
            "chebyshev" if draw(st.booleans()) else "monomial",
        )
    if kind is Bootstrap:
        return Bootstrap(first, draw(st.integers(0, level)), level + 1)
    if kind is DropLevel:
        return DropLevel(first, draw(st.integers(0, level - 1)))
    return next(each for each in OF_ONE if each is kind)(first)


def results(program: SlotProgram) -> list[list[float]]:
    """What a program computes in the clear from inputs that depend on their position only."""
    entries = [operation for operation in program.operations if isinstance(operation, Input)]
    inputs = [
        ClearVector(np.random.default_rng(n).uniform(-1, 1, program.slots), entry.level)
        for n, entry in enumerate(entries)
    ]
    return [output.slots.tolist() for output in run(program, ClearBackend(), inputs)]


def facts(program: SlotProgram) -> tuple[object, ...]:
    """All that a program is, such that == compares it bit by bit."""
    return (
        program.title,
        program.slots,
        [_facts_of(operation) for operation in program.operations],
        program.layouts,
        [_axis_names(layout) for layout in program.layouts],
        program.origins,
        program.stages,
        program.states,
    )


def _facts_of(operation: Operation) -> tuple[object, ...]:
    numbers = (type(operation), operation.operands)
    match operation:
        case Input(name=name, level=level):
            return (*numbers, name, level)
        case Constant(vector=vector):
            return (*numbers, vector.tobytes())
        case Rotate(steps=steps) | SwitchProduct(steps=steps):
            return (*numbers, steps)
        case RotatedProducts(step=step):
            return (*numbers, step)
        case WeightedSums(weights=weights, offsets=offsets):
            return (*numbers, weights.shape, weights.tobytes(), offsets.tobytes())
        case TakeSum(number=number):
            return (*numbers, number)
        case RotateSum(added=added, subtracted=subtracted):
            return (*numbers, added, subtracted)
        case Linear(diagonals=diagonals, baby_steps=baby_steps):
            return (*numbers, [(d, v.tobytes()) for d, v in diagonals.items()], baby_steps)
        case Polynomial(coefficients=coefficients, basis=basis):
            return (*numbers, [float(c).hex() for c in coefficients], basis)
        case DropLevel(level=level):
            return (*numbers, level)
        case Bootstrap(least=least, level=level):
            return (*numbers, least, level)
        case _:
            return numbers


def _axis_names(layout: AnyLayout | None) -> list[str]:
    if not isinstance(layout, Layout):
        return []
    return [axis.name for axis in layout.axes + layout.replicas]


def damage(text: str, rng: random.Random) -> str:
    """The text with one place changed."""
    pieces = re.findall(r"\s+|\w+|[^\w\s]", text)
    at = rng.randrange(len(pieces))
    strange = [
        "0",
        "-1",
        "1.5",
        "99999999",
        "1e309",
        "nan",
        "x9",
        "v0",
        "%0",
        '"',
        "(",
        "\x00",
        "é",
    ]
    lines = text.split("\n")
    line = rng.randrange(len(lines))
    return rng.choice(
        [
            "".join(pieces[:at] + pieces[at + 1 :]),
            "".join([*pieces[:at], rng.choice(strange), *pieces[at + 1 :]]),
            "".join([*pieces[:at], rng.choice(pieces), *pieces[at + 1 :]]),
            "\n".join(lines[:line] + lines[line + 1 :]),
            "\n".join([*lines[:line], rng.choice(lines), *lines[line:]]),
            text[: rng.randrange(len(text))],
        ]
    )
