"""Inputs of a network that are results of other programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.networks.following import InputResult
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.spec import PlacedSpec
from cloakwork.runtime.after import Result, ResultOf, require_told_apart
from cloakwork.runtime.program import Program

_ACTION = "compile a network"


def _shown(given: Any) -> str:
    """What was given instead of a result over reals, and what to do with it."""
    if not isinstance(given, Result):
        return shown(given)
    return (
        f"{given.port} of {given.program.name}; compile a function of it first, such as "
        "cloakwork.compile(lambda x: x, cloakwork.result(first)), and give the result of that"
    )


def following_results(
    after: object, names: Sequence[str], options: NetworkOptions
) -> tuple[dict[str, InputResult], NetworkOptions]:
    """The results that inputs of a network are, and the options in their ring.

    Args:
        after: What `cloakwork.result` gave, by the names of inputs.
        names: The names of the inputs.
        options: What is asked of the network.

    Raises:
        InvalidArgumentError: It is something else, or the network is for several inputs at once.

    Example:
        >>> following_results({}, ["input"], NetworkOptions())[0]
        {}
    """
    results: dict[str, InputResult] = {}
    given: Mapping[str, Any] = after if isinstance(after, Mapping) else {"": after}
    require_told_apart(given.values(), _ACTION)
    for name, each in given.items():
        is_result = isinstance(each, PlacedSpec) and isinstance(each, ResultOf)
        if not is_result or not isinstance(each.program, Program):
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected results over reals by the names of inputs, as "
                f"after={{'input': cloakwork.result(first)}}, got {_shown(each)}"
            )
        results[name] = InputResult(each.program, each.result, each.shape, each.bound, each.error)
    for name in results:
        if name not in names:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected one of the inputs {', '.join(names)}, got "
                f"{shown(name)}"
            )
    if not results:
        return {}, options
    if options.batch != 1:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected batch=1 of what follows another program, got "
            f"{options.batch}; leave batch= out"
        )
    rings = {each.program.scheme.parameters.log_n for each in results.values()}
    rings |= set() if options.log_n is None else {options.log_n}
    if len(rings) > 1:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected results in the ring of the network, got "
            f"{', '.join(f'log_n={each}' for each in sorted(rings))}; compile both with one log_n"
        )
    return results, replace(options, log_n=rings.pop())
