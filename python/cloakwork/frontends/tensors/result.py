"""Results of compiled programs as arguments of the next function that is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.returning import BitsSpec
from cloakwork.programs.ir.tensors import TensorFunction
from cloakwork.programs.layout import Layout
from cloakwork.programs.port import BIT_KINDS, Port
from cloakwork.programs.spec import PlacedSpec, Spec
from cloakwork.runtime.after import After, Result, place_of, shape_of, stated_error
from cloakwork.runtime.program import Program
from cloakwork.runtime.returning import Returning

_ACTION = "take a result"


@dataclass(frozen=True, slots=True)
class ResultSpec(PlacedSpec):
    """What is known of an argument that is a result of a compiled program; see `result`."""

    program: Program | None = None
    result: str = ""

    @property
    def of(self) -> Program:
        """The program."""
        assert self.program is not None
        return self.program


@dataclass(frozen=True, slots=True)
class RepeatedSpec(ResultSpec):
    """What is known of an argument that is a result of the step before; see `repeat`.

    The first is a result of a program, where there is one.

    Args:
        times: How often the step is repeated.
        samples: Samples of all arguments of the step, in the first step, by name.
    """

    times: int = 1
    samples: tuple[Mapping[str, Any], ...] = ()


def result(program: Program, which: int | str = 0) -> Any:
    """A result of a compiled program as an argument of the next function.

    Over reals it is an argument of `cloakwork.compile`, or an input of a network, by
    `cloakwork.nn.compile(after=)`; over integers an argument of that, for a product, and
    of the `compile` of a circuit over integers; over reals, integers and bits of the `compile` of a
    circuit over bits: `circuit.compile(after={"a": cloakwork.result(first)})`.

    The function that is compiled with it is planned from where the result lies, and its ranges and
    errors follow from the result's. What lies in blocks is brought into slots first, for a level.
    The result of a network with a batch has an axis for it first. `cloakwork.together` brings both
    programs under one key, and the evaluator of the second takes what the first one's run made:
    nothing is decrypted between.

    Args:
        program: A program over reals, by `cloakwork.compile` or `cloakwork.nn.compile`; or one
            over integers or bits.
        which: The number of the result, from 0 on, or its name.

    Raises:
        InvalidArgumentError: There is no such result, or it does not lie as tensors do.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> first = cw.compile(lambda a, b: a * b, (4, 2), (4, 2), log_n=14)
        >>> second = cw.compile(lambda x: (x * x).sum(), cw.result(first))
        >>> first, second = cw.together(first, second)
        >>> client, evaluator = first.keygen()
        >>> last = client.serving(second)
        >>> server = evaluator.serving(second, last.evaluation_keys(first))
        >>> made = evaluator.run(client.encrypt(np.full((4, 2), 0.5), np.full((4, 2), 0.5)))
        >>> round(float(last.decrypt(server.run(made))), 4)
        0.5
    """
    if not isinstance(program, Program):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a compiled program, got {shown(program)}"
        )
    program = program.parts[-1]
    port = _found(program, which)
    if port.kind in BIT_KINDS or port.kind == "integer":
        _require_encrypting(program)
        return Result(program, port.name)
    if port.exponent:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected numbers as they are, got {port.name} of {program.name} in "
            f"units of 2^{port.exponent}; ask for it by precision= and not by relative=, or scale "
            "the arguments"
        )
    place = place_of(program, port.name)
    if place is None:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected {port.name} of {program.name} to be numbers that lie in "
            f"slots as tensors do, got {program.packing.contents} in other places; compile it "
            "in one function with what follows"
        )
    error = _error(program)
    bound = port.bound
    if not isinstance(place, Layout) or place.garbage:
        assert program.output_bounds is not None
        bound = max(bound, *program.output_bounds)
    ends = (port.low, port.high) if bound == port.bound else (-bound, bound)
    assert ends[0] is not None
    assert ends[1] is not None
    return ResultSpec(
        shape_of(program, port),
        low=ends[0] - error,
        high=ends[1] + error,
        place=place,
        error=error,
        program=program,
        result=port.name,
    )


def ring_of_results(specs: Sequence[Spec]) -> int | None:
    """Base-2 logarithm of the ring degree of the first result among arguments; None without any."""
    rings = (_ring(each) for each in specs if isinstance(each, ResultSpec) and each.program)
    return next(rings, None)


def require_ring(specs: Sequence[Spec], log_n: int | None) -> None:
    """Refuse results in another ring.

    Raises:
        InvalidArgumentError: There are some.
    """
    for each in specs:
        if isinstance(each, ResultSpec) and each.program and _ring(each) != log_n:
            raise InvalidArgumentError(
                f"cannot compile: expected results in the ring of log_n={log_n}, got "
                f"{each.result} of {each.of.name} in that of log_n={_ring(each)}; compile both "
                "with one log_n"
            )


def _ring(spec: ResultSpec) -> int:
    ring: int = spec.of.scheme.parameters.log_n
    return ring


def following(program: Program, graph: TensorFunction) -> Program:
    """A program with the results that are inputs of it, where its function has some."""
    used = {name for names in program.packing.held for name in names}
    links = [
        (_link(source.name, spec), spec.of)
        for source, spec in zip(graph.sources, graph.specs, strict=True)
        if isinstance(spec, ResultSpec | BitsSpec) and spec.program and source.name in used
    ]
    if not links:
        return program
    # Of networks the error that occurs is stated as well as the worst.
    has_bound = all(before.error_bound == before.error for _, before in links)
    bound = program.error_bound if has_bound else None
    return replace(program, after=tuple(link for link, _ in links), error_bound=bound)


def _link(name: str, spec: ResultSpec | BitsSpec) -> After:
    kind = Returning if isinstance(spec, BitsSpec) else After
    return kind(name, spec.of, spec.result)


def _found(program: Program, which: object) -> Port:
    """A result by its number or its name."""
    for number, port in enumerate(program.outputs):
        if which == port.name or (type(which) is int and which == number):
            return port
    names = ", ".join(port.name for port in program.outputs)
    raise InvalidArgumentError(
        f"cannot {_ACTION}: expected one of {names} of {program.name}, or its number from 0 to "
        f"{len(program.outputs) - 1}, got {shown(which)}"
    )


def _require_encrypting(program: Program) -> None:
    if not program.scheme.encrypts:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a program that encrypts, got {program.name}; give the "
            "program that compile returned"
        )


def _error(program: Program) -> float:
    """How far its results may be off: as stated, or by the estimates of ciphertexts."""
    if program.error is None:
        _require_encrypting(program)
    error = stated_error(program)
    assert error is not None
    return error
