"""Bits of results by the ranges that inputs declare, and whether these are few enough."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from cloakwork.errors import InvalidArgumentError, ResultOverflowError
from cloakwork.frontends.circuit.inputs import Declared, signed_range
from cloakwork.plan.circuits.function_ranges import MOST_BITS, Range
from cloakwork.plan.circuits.ranges import result_ranges
from cloakwork.programs.ir.circuits import ScalarCircuit
from cloakwork.programs.packing.scalar import MAX_BITS, bits_of, fits_signed

NO_RANGES = (
    "declare no ranges, so that the client computes results in the clear before it encrypts (in "
    "ranges, what cancels counts in full), "
)


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a function.

    Args:
        title: The function's name.
        inputs: The names of its inputs.
        ranges: The least and the greatest value of each result, by those of the inputs.
    """

    title: str
    inputs: Sequence[str]
    ranges: Callable[[Mapping[str, Range]], tuple[Range, ...]]

    @classmethod
    def of(cls, circuit: ScalarCircuit) -> Results:
        """Those of a circuit."""
        names = [each.name for each in circuit.inputs]
        return cls(circuit.title, names, partial(result_ranges, circuit))


def _clamped(found: Range, within: Range) -> Range:
    low, high = within
    return min(max(found[0], low), high), min(max(found[1], low), high)


def bits_of_ranges(results: Results, inputs: Mapping[str, Declared]) -> int:
    """The bits of results by the ranges that inputs declare.

    Raises:
        InvalidArgumentError: An input declares none.
    """
    ranges = {name: each.bounds for name, each in inputs.items() if each.bounds}
    open_ended = [name for name in inputs if name not in ranges]
    if open_ended:
        raise InvalidArgumentError(
            f"cannot compile a circuit: expected bits= for the results of {results.title}, or a "
            "range of each input, from which they follow, got no range of "
            f"{', '.join(open_ended)}; declare it, such as by cw.scalar(bits=8)"
        )
    return min(MAX_BITS, max(map(bits_of, results.ranges(ranges))))


def require_declared_bits(
    results: Results, declared: Mapping[str, Range], bits: int, instead: str
) -> None:
    """Refuse results that may have more bits by the ranges that inputs are declared with.

    What an input without a range makes of a result, the client sees in the clear.

    Args:
        results: What the results are.
        declared: The ranges of inputs that have one.
        bits: Results have no more.
        instead: What else will do.

    Raises:
        ResultOverflowError: There are some.
    """

    def ranges_within(most: int) -> tuple[Range, ...]:
        ends = {name: declared.get(name, (0, 0)) for name in results.inputs}
        return results.ranges(
            {name: _clamped(each, signed_range(most)) for name, each in ends.items()}
        )

    # What is always one number is clear, or an input without a range is in it.
    needed, number = max(
        (0 if low == high else bits_of((low, high)), number)
        for number, (low, high) in enumerate(ranges_within(MAX_BITS))
    )
    if needed <= bits:
        return
    more = f"compile with bits={needed} or more, " if needed <= MAX_BITS else ""
    fewer = max(
        (
            each
            for each in range(1, MAX_BITS)
            if all(fits_signed(r, bits) for r in ranges_within(each))
        ),
        default=None,
    )
    less = f"declare inputs with bits={fewer} or fewer, " if fewer else ""
    may_have = f"{needed} bits" if needed <= MOST_BITS else f"more than {MOST_BITS} bits"
    raise ResultOverflowError(
        f"cannot compile {results.title}: expected results that are signed numbers of {bits} bits, "
        f"and by the declared ranges of its inputs result {number} may have {may_have}; "
        f"{more}{less}{instead}or let results wrap around by wrapping=True"
    )
