"""Compares a program that was just planned with what it was planned from, on a few inputs.

The clear backend runs the very operations of the program, so a wrong range, polynomial, layout or
rewrite shows there. What the program should compute is asked of the user's own function, which
shares none of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import CloakworkError, PlanMismatchError, ValueOutOfRangeError
from cloakwork.programs.packing.bits import results_of_bits
from cloakwork.programs.packing.results import arrays_in
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Linear, Operation, RotatedProducts, SlotProgram
from cloakwork.runtime.client import Client
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.program import Program

# Numbers of slots that a comparison may read, which takes a second or so; what is larger is not
# compared.
_MOST_WORK = 1 << 26
# Inputs that are compared, and that are tried for them.
_COMPARED, _TRIED = 2, 6
# Integers near the middle are at most so large.
_SMALL = 3
# Doubles are off by this part of the largest number on the way.
_ROUNDING = 2.0**-44

Meaning = Callable[[Mapping[str, Any]], Any]


def require_agreement(
    program: Program,
    meaning: Meaning,
    error: float,
    draws: Iterable[Mapping[str, Any]] | None = None,
) -> None:
    """Refuse a program whose results in the clear are not those that it should have.

    Args:
        program: The program.
        meaning: What results should be for inputs, in the program's own form; None where nobody
            can say. It is asked again where results differ: a function that draws numbers gives
            others, and nothing is compared.
        error: How far results may be off.
        draws: Inputs by name, of which those are passed over that a client would refuse; by
            default numbers all over their ranges.

    Raises:
        PlanMismatchError: They are further off, of another number or shape, or outside their range.
    """
    if _work(program) > _MOST_WORK:
        return
    client, evaluator = program.in_clear().keygen()
    # Doubles are off by part of the largest number on the way, by the bounds of the inputs.
    bounds = [each for each in program.value_bounds or () if each is not None]
    allowed = error + _ROUNDING * max(filter(math.isfinite, bounds), default=0.0)
    compared = 0
    for arguments in islice(drawn(program.inputs) if draws is None else draws, _TRIED):
        if compared == _COMPARED:
            break
        expected = meaning(arguments)
        found = None if expected is None else _results(client, evaluator, arguments)
        if found is None:
            continue
        compared += 1
        difference = _difference(expected, found, allowed)
        if difference is not None and _difference(meaning(arguments), expected, 0.0) is None:
            raise PlanMismatchError(f"cannot compile {program.name}: {difference}; {_ADVICE}")


def drawn(ports: Sequence[Port]) -> Iterator[dict[str, NDArray[Any]]]:
    """Inputs all over their ranges, at their ends, and near their middles.

    Example:
        >>> bit = Port("x", "integer", 0, (3,), 0, 1)
        >>> [each["x"].tolist() for each in islice(drawn([bit]), 2)]
        [[1, 1, 0], [1, 1, 1]]
    """
    random = Random(0)
    numbers = np.random.default_rng(1)
    # Products of many stay small near the middle.
    draws: tuple[Callable[[Port], NDArray[Any]], ...] = (
        lambda port: _between(random, numbers, port, *_ends(port)),
        lambda port: _at_ends(random, numbers, port),
        lambda port: _between(random, numbers, port, *_middle(port)),
    )
    while True:
        for draw in draws:
            yield {port.name: _bits(random, port) if port.is_bits else draw(port) for port in ports}


def _bits(random: Random, port: Port) -> Any:
    """A value of an input over bits."""
    bits = np.array([[random.getrandbits(1) for _ in range(port.bits)]], np.uint8)
    return results_of_bits((port,), bits, many=False)[port.name]


def _between(
    random: Random, numbers: np.random.Generator, port: Port, low: Any, high: Any
) -> NDArray[Any]:
    if port.kind == "real":
        found: NDArray[np.float64] = low + (high - low) * numbers.random(port.shape)
        return found
    return _filled(port, partial(random.randint, low, high))


def _at_ends(random: Random, numbers: np.random.Generator, port: Port) -> NDArray[Any]:
    if port.kind == "real":
        found: NDArray[np.float64] = np.where(numbers.integers(0, 2, port.shape), *_ends(port))
        return found
    return _filled(port, partial(random.choice, _ends(port)))


def _filled(port: Port, number: Callable[[], Any]) -> NDArray[Any]:
    # Integers may be longer than any word.
    drawn = [number() for _ in range(math.prod(port.shape))]
    return np.array(drawn, object).reshape(port.shape)


def _ends(port: Port) -> tuple[Any, Any]:
    assert port.low is not None
    assert port.high is not None
    return port.low, port.high


def _middle(port: Port) -> tuple[Any, Any]:
    low, high = _ends(port)
    if port.kind == "real":
        return low + (high - low) / 3, high - (high - low) / 3
    return max(low, min(high, -_SMALL)), min(high, max(low, _SMALL))


def _work(program: Program) -> int:
    """How many numbers of slots a run in the clear reads."""
    body = program.body
    if not isinstance(body, SlotProgram):
        return body.bootstrap_count
    return body.slots * sum(_reads(each, body.slots) for each in body.operations)


def _reads(operation: Operation, slots: int) -> int:
    """How many vectors one operation reads."""
    match operation:
        case Linear(diagonals=diagonals):
            return len(diagonals)
        case RotatedProducts(left=left, step=step):
            return len(left) * slots // step
        case _:
            return len(operation.operands)


def _results(client: Client, evaluator: Evaluator, arguments: Mapping[str, Any]) -> Any:
    """The results in the clear; None where a client refuses such inputs, or what comes of them."""
    try:
        sent = client.encrypt(**arguments)
    except CloakworkError:
        return None
    try:
        return client.decrypt(evaluator.run(sent))
    except ValueOutOfRangeError as refusal:
        raise PlanMismatchError(
            f"cannot compile {client.program.name}: by its plan results leave the range that "
            f"follows from those of the inputs: {refusal}; {_ADVICE}"
        ) from refusal
    except CloakworkError:
        # Of integers that are longer than asked for, or results that are small beside their errors.
        return None


_ADVICE = (
    "this is a defect of Cloakwork: please report it with the function; until it is mended, write "
    "the function in another way"
)


def _difference(expected: Any, found: Any, allowed: float) -> str | None:
    """How results differ from those that a function gives, in words; None where they are near."""
    wanted, got = (list(map(np.asarray, arrays_in(each))) for each in (expected, found))
    if len(wanted) != len(got):
        return (
            f"the number of results is {len(wanted)} where the function runs without encryption, "
            f"and {len(got)} by its plan"
        )
    for number, (right, made) in enumerate(zip(wanted, got, strict=True), start=1):
        if right.shape != made.shape:
            return (
                f"result {number} is of shape {right.shape} where the function runs without "
                f"encryption, and {made.shape} by its plan"
            )
        if not right.size or (right == made).all():
            continue
        # Integers may be longer than any word.
        kind = np.float64 if made.dtype.kind == "f" else object
        off = float(np.abs(made.astype(kind) - right.astype(kind)).max())
        if not off <= allowed:
            return (
                f"by its plan result {number} is off by {off:.3g} from what the function gives "
                f"without encryption, where {allowed:.3g} is stated"
            )
    return None
