"""Inputs of a circuit that are results of other programs over integers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.inputs import Declared
from cloakwork.plan.circuits.following import range_of_exact
from cloakwork.runtime.after import Result, require_told_apart


def taking_results(
    declared: Mapping[str, Declared], after: object, action: str
) -> dict[str, Declared]:
    """The inputs of a circuit, those that are results within the ranges of these.

    Raises:
        InvalidArgumentError: There is no such input, or it does not hold the result.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import scalar
        >>> taking_results({"a": scalar(bits=8)}, {}, "compile")["a"].bounds
        (-128, 127)
    """
    if not isinstance(after, Mapping) or not all(
        isinstance(each, Result) for each in after.values()
    ):
        raise InvalidArgumentError(
            f"cannot {action}: expected results over integers by the names of inputs, as "
            f"after={{'a': cloakwork.result(first)}}, got {shown(after)}"
        )
    require_told_apart(after.values(), action)
    inputs = dict(declared)
    for name, result in after.items():
        if name not in declared:
            raise InvalidArgumentError(
                f"cannot {action}: expected one of the inputs {', '.join(declared)}, got "
                f"{shown(name)}"
            )
        found = range_of_exact(result, action)
        own = declared[name]
        low, high = own.bounds or found
        if own.shape != result.port.shape or low > found[0] or high < found[1]:
            raise InvalidArgumentError(
                f"cannot {action}: expected an input of shape {result.port.shape} for "
                f"{result.result} of {result.program.name}, integers from {found[0]} to "
                f"{found[1]}, got {name} of shape {own.shape}, from {low} to {high}; declare it "
                "so, or without a range"
            )
        if own.slots is not None:
            raise InvalidArgumentError(
                f"cannot {action}: expected {name} without a layout, as the result lies where "
                f"{result.program.name} leaves it, got one; leave layout= out"
            )
        # What follows brings the numbers to wherever the plan wants them.
        inputs[name] = replace(own, bounds=found, grouped=True, replicated=True)
    return inputs
