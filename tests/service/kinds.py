"""Every kind of program that an evaluator runs, with what one run of it is given."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

import cloakwork as cw
from tests.families import BITS, CIRCUITS, ENCRYPTED, TENSORS, Family

RING: dict[str, Any] = {"log_n": 10, "insecure": True}
X, Y = np.linspace(-1, 1, 8), np.linspace(0, 1, 8)
WHOLE = cw.Spec((2, 3), bound=9, kind="integer")


@dataclass(frozen=True)
class Given:
    """What a run is given.

    Args:
        inputs: What is encrypted.
        clear: What is not.
    """

    inputs: Any
    clear: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of program.

    Args:
        name: What it is called.
        make: Makes the program, and those that it follows after it.
        give: What a run is given, of a client of the program and an evaluator of each.
        expected: What comes out.
        is_slow: Whether a run takes more than a few seconds.
    """

    name: str
    make: Callable[[], tuple[cw.Program, ...]]
    give: Callable[[cw.Client, Mapping[str, Any]], Given]
    expected: Any = field(repr=False)
    is_slow: bool = False

    @property
    def programs(self) -> dict[str, cw.Program]:
        """The program by the name of the kind, those before it by further ones."""
        first, *others = _made(self.name)
        return {self.name: first, **{f"{self.name}-{n}": each for n, each in enumerate(others)}}


def _of(family: Family) -> Kind:
    return Kind(
        family.name,
        lambda: (family.program,),
        lambda client, _: Given(client.encrypt(**family.arguments)),
        family.expected,
    )


def _alone(name: str, function: Callable[..., Any], *arguments: Any) -> Kind:
    """A function of arrays."""
    shapes = [np.shape(each) for each in arguments]
    return Kind(
        name,
        lambda: (cw.compile(function, *shapes, precision=10, **RING),),
        lambda client, _: Given(client.encrypt(*arguments)),
        function(*arguments),
    )


_ABOVE = cw.exactly(lambda v: cw.boolean.above(v, 0.125), bits=7, fraction=5)


def _chosen(x: Any, prices: Any) -> Any:
    return _ABOVE(x) * prices


def _by_others(client: cw.Client, _: Mapping[str, Any]) -> Given:
    first, second = client.public_key(), client.public_key()
    return Given(
        [first.encrypt(a=TENSORS.arguments["a"]), second.encrypt(b=TENSORS.arguments["b"])]
    )


def _moved(client: cw.Client, _: Mapping[str, Any]) -> Given:
    old = cw.Client.generate(client.program)
    return Given(old.rekeying_key(client).rekey(old.encrypt(**TENSORS.arguments)))


def _spread(x: Any) -> Any:
    return x - x.mean()


def _reals_in_a_row() -> tuple[cw.Program, ...]:
    first = cw.compile(_spread, (8,), **RING)
    second = cw.compile(lambda y, v: y * v, cw.result(first), (8,), **RING)
    return cw.together(first, second)[::-1]


@cw.circuit(m=cw.matrix(2, 2), x=cw.scalar(bits=8))
def _determinant(m: Any, x: Any) -> Any:
    return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0] + x


_INTEGERS = np.arange(6).reshape(2, 3)


def _integers_in_a_row() -> tuple[cw.Program, ...]:
    first = cw.compile(lambda a: a @ a.T, WHOLE, log_n=12, insecure=True)
    second = _determinant.compile(bits=20, after={"m": cw.result(first)}, log_n=12, insecure=True)
    return cw.together(first, second)[::-1]


def _after(**others: Any) -> Callable[[cw.Client, Mapping[str, Any]], Given]:
    """What a client of the last program encrypts, beside what the one before makes."""

    def give(client: cw.Client, evaluators: Mapping[str, Any]) -> Given:
        (evaluator,) = (each for name, each in evaluators.items() if name.endswith("-0"))
        before = client.serving(evaluator.interface)
        first = X if "v" in others else _INTEGERS
        return Given([evaluator.run(before.encrypt(first)), client.encrypt(**others)])

    return give


KINDS = (
    *map(_of, ENCRYPTED),
    _alone("functions", lambda x, w: cw.sigmoid(x * w), X, Y),
    _alone("blocks", lambda a, b: a @ b, np.eye(8), np.diag(Y)),
    _alone("repeated", lambda x: cw.repeat(lambda s: s * 0.5 + x * 0.25, x, 6, bound=2), X),
    Kind(
        "evaluations",
        lambda: (TENSORS.program,),
        lambda client, _: Given(
            client.encrypt(np.stack([TENSORS.arguments["a"]] * 2), TENSORS.arguments["b"])
        ),
        tuple(np.stack([each] * 2) for each in TENSORS.expected),
    ),
    Kind("clients", lambda: (TENSORS.program,), _by_others, TENSORS.expected),
    Kind("rekeyed", lambda: (TENSORS.program,), _moved, TENSORS.expected),
    Kind(
        "halves",
        lambda: (CIRCUITS.program,),
        lambda client, _: Given(
            [client.encrypt(x=CIRCUITS.arguments["x"]), client.encrypt(s=CIRCUITS.arguments["s"])]
        ),
        CIRCUITS.expected,
    ),
    Kind(
        "partly-clear",
        lambda: (BITS.program,),
        lambda client, _: Given(client.encrypt(a=5), {"b": 3}),
        BITS.expected,
    ),
    Kind(
        "bridged",
        lambda: (cw.compile(_chosen, (8,), (8,), precision=10, log_n=12, insecure=True),),
        lambda client, _: Given(client.encrypt(X, Y)),
        (X > 0.125) * Y,
        is_slow=True,
    ),
    Kind("reals-in-a-row", _reals_in_a_row, _after(v=Y), _spread(X) * Y),
    Kind(
        "integers-in-a-row",
        _integers_in_a_row,
        _after(x=7),
        round(np.linalg.det(_INTEGERS @ _INTEGERS.T)) + 7,
    ),
)
BY_NAME = {each.name: each for each in KINDS}


@cache
def _made(name: str) -> tuple[cw.Program, ...]:
    return BY_NAME[name].make()
