"""Pairs of programs over numbers from several families, in a row under one key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import cloakwork as cw
from cloakwork.errors import InvalidArgumentError, InvalidProgramError
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.runtime.by_element import ByElement
from tests.families import greater, mapped
from tests.system.rows import keys_are_once, row
from tests.thoroughness import slow

SMALL: dict[str, Any] = {"log_n": 11, "insecure": True}
SECURE: dict[str, Any] = {"log_n": 15}
WEIGHTS = np.random.default_rng(9).uniform(-0.25, 0.25, (8, 16))


def module() -> Any:
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 6), torch.nn.SiLU(), torch.nn.Linear(6, 4)
    return torch.nn.Sequential(*layers).eval()


def in_torch(x: Any) -> Any:
    return module()(torch.tensor(np.asarray(x)).float()).detach().double().numpy()


def projected(x: Any) -> Any:
    return WEIGHTS @ x


def product(a: Any, b: Any) -> Any:
    return (a @ b).reshape(-1) / 4


def plain_product(a: Any, b: Any) -> Any:
    return a @ b


def deep(x: Any) -> Any:
    for _ in range(8):
        x = x * x + 0.2
    return x


@dataclass(frozen=True)
class Part:
    """A program of a row.

    Args:
        meaning: What it computes, of arrays.
        compiled: Compiles it, of the results that it follows and samples of them, and options.
        shapes: Of its inputs that are encrypted, the shape by name.
        bound: The largest absolute value of these.
    """

    meaning: Callable[..., Any]
    compiled: Callable[..., cw.Program]
    shapes: dict[str, tuple[int, ...]]
    bound: float = 1.0

    def drawn(self, rng: np.random.Generator) -> dict[str, Any]:
        return {
            name: rng.uniform(-self.bound, self.bound, shape) for name, shape in self.shapes.items()
        }


def tensor(
    function: Any, shapes: dict[str, tuple[int, ...]], bound: float = 1.0, **own: Any
) -> Part:
    def compiled(results: list[Any], _: Any, **options: Any) -> cw.Program:
        specs = [cw.Spec(shape, bound=bound) for shape in shapes.values()]
        return cw.compile(function, *results, *specs, **{**options, **own})

    return Part(function, compiled, shapes, bound)


def network(results: list[Any], samples: Any, **options: Any) -> cw.Program:
    after = {"input": results[0]} if results else {}
    given = np.random.default_rng(2).uniform(-1, 1, (32, 8)) if samples is None else samples
    return cw.nn.compile(module(), given, after=after, **options)


NETWORK = Part(in_torch, network, {"input": (8,)})
NETWORK_AFTER = Part(in_torch, network, {})
FIRST = {
    "einsum": tensor(projected, {"x": (16,)}),
    "product": tensor(product, {"a": (2, 3), "b": (3, 4)}),
    "network": NETWORK,
    "bootstraps": tensor(deep, {"x": (8,)}, 0.5, bootstrap=True, precision=10),
}
SECOND = {
    "network": NETWORK_AFTER,
    "product": tensor(plain_product, {"b": (4, 3)}),
    "einsum": tensor(lambda y: (y * y).sum(), {}),
}
PAIRS = {
    ("einsum", "network"),
    ("product", "network"),
    ("network", "product"),
    ("network", "einsum"),
    ("bootstraps", "einsum"),
    ("product", "einsum"),
}


def check(one: Part, other: Part, options: dict[str, Any]) -> None:
    rng = np.random.default_rng(5)
    first = one.compiled([], None, **options)
    drawn = [one.meaning(*one.drawn(rng).values()) for _ in range(32)]
    result = cw.result(first)
    if other.shapes and len(result.shape) == 1:
        other = Part(
            lambda y, b: y.reshape(1, -1) @ b,
            lambda results, _, **own: cw.compile(
                lambda y, b: y.reshape(1, -1) @ b, *results, cw.Spec((result.shape[0], 3)), **own
            ),
            {"b": (result.shape[0], 3)},
        )
    second = other.compiled([result], np.array(drawn), **{"precision": 12, **options})
    first, second = cw.together(first, second)
    given, further = one.drawn(rng), other.drawn(rng)
    expected = other.meaning(one.meaning(*given.values()), *further.values())
    assert second.error is not None or second.estimated_results
    error = second.error or 2.0 ** -min(each.precision for each in second.estimated_results or ())
    assert error < 2.0**-8
    for programs in ((first, second), (first.in_clear(), second.in_clear())):
        clients, evaluators = row(*programs)
        assert not programs[0].scheme.encrypts or keys_are_once(*programs, evaluators=evaluators)
        made = [evaluators[0].run(clients[0].encrypt(**given))]
        if further:
            made.append(clients[1].encrypt(**further))
        found = clients[1].decrypt(evaluators[1].run(made))
        assert np.abs(found - expected).max() <= error


@pytest.mark.parametrize(("one", "other"), sorted(PAIRS))
def test_pairs(one: str, other: str) -> None:
    check(FIRST[one], SECOND[other], SMALL)


@pytest.mark.parametrize(("one", "other"), slow(*sorted(PAIRS)))
def test_pairs_at_128_bits(one: str, other: str) -> None:
    options = {"log_n": 16} if one == "bootstraps" else SECURE
    check(FIRST[one], SECOND[other], options)


def test_a_network_takes_no_imaginary_parts_of_a_product() -> None:
    """Slots of a product hold others beside its numbers, which an activation would mix in."""
    torch.manual_seed(3)
    layers = torch.nn.Flatten(), torch.nn.Linear(9, 6), torch.nn.SiLU(), torch.nn.Linear(6, 3)
    last = torch.nn.Sequential(*layers).double().eval()
    rng = np.random.default_rng(4)
    first = cw.compile(plain_product, (3, 6), (6, 3), **SMALL)
    place = cw.result(first).place
    assert not getattr(place, "is_real", True)
    pairs = rng.uniform(-1, 1, (32, 3, 6)), rng.uniform(-1, 1, (32, 6, 3))
    samples, (a, b) = plain_product(*pairs), (pairs[0][0], pairs[1][0])
    second = cw.nn.compile(last, samples, after={"input": cw.result(first)}, insecure=True)
    first, second = cw.together(first, second)
    clients, evaluators = row(first, second)
    assert keys_are_once(first, second, evaluators=evaluators)
    found = clients[1].decrypt(evaluators[1].run(evaluators[0].run(clients[0].encrypt(a, b))))
    expected = last(torch.tensor(samples[:1]))[0].detach().numpy()
    assert second.error is not None
    assert np.abs(found - expected).max() <= second.error < 2.0**-8


def test_a_network_follows_a_network(tmp_path: Any) -> None:
    torch.manual_seed(1)
    last = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh()).eval()
    samples = np.random.default_rng(2).uniform(-1, 1, (32, 8))
    first = cw.nn.compile(module(), samples, **SMALL)
    second = cw.nn.compile(
        last, in_torch(samples), after={"input": cw.result(first)}, insecure=True
    )
    first, second = cw.together(first, second)
    clients, evaluators = row(first, second)
    assert keys_are_once(first, second, evaluators=evaluators)
    evaluators[1].save(tmp_path / "evaluator")
    server = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    assert server.program.fingerprint == second.fingerprint
    found = clients[1].decrypt(server.run(evaluators[0].run(clients[0].encrypt(samples[3]))))
    expected = last(torch.tensor(in_torch(samples[3])).float()).detach().numpy()
    assert second.error is not None
    assert np.abs(found - expected).max() <= second.error < 2.0**-8
    assert second.error < (second.error_bound or np.inf) * (1 + 2.0**-40)


def test_refusals_say_what_would_do() -> None:
    first = cw.compile(projected, (16,), **SMALL)
    samples = np.zeros((2, 8))
    for after in ({"z": cw.result(first)}, {"input": first}, [cw.result(first)]):
        with pytest.raises(InvalidArgumentError, match="cannot compile a network: expected"):
            cw.nn.compile(module(), samples, after=after, insecure=True)  # type: ignore[arg-type]
    bits = mapped(greater(3))
    with pytest.raises(InvalidArgumentError, match="compile a function of it first"):
        cw.nn.compile(module(), samples, after={"input": cw.result(bits, "differ")}, insecure=True)
    with pytest.raises(InvalidArgumentError, match="leave batch= out"):
        cw.nn.compile(module(), samples, batch=2, after={"input": cw.result(first)}, insecure=True)
    with pytest.raises(InvalidArgumentError, match="compile both with one log_n"):
        cw.nn.compile(module(), samples, log_n=12, after={"input": cw.result(first)}, insecure=True)
    wide = cw.compile(lambda x: x, (9,), **SMALL)
    with pytest.raises(InvalidArgumentError, match=r"of the shape \(8,\) of its input input"):
        cw.nn.compile(module(), samples, after={"input": cw.result(wide)}, insecure=True)
    alone = cw.nn.compile(module(), samples, **SMALL)
    assert isinstance(alone.packing, BatchPacking)
    for link in (ByElement("input", first, "z"), ByElement("input", wide, "result")):
        with pytest.raises(InvalidProgramError):
            cw.Program(alone.scheme, alone.body, alone.packing, after=(link,))
