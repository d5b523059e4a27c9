"""A server runs every kind of program that an evaluator runs: the same bytes, the same refusals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InputNameError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    ProgramMismatchError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.runtime import container
from cloakwork.runtime.clear_inputs import clear_inputs, values_of_clear
from cloakwork.service.client.remote import Server
from cloakwork.service.run_inputs import RunInputs
from tests.cli.command import Cloakwork
from tests.families import BITS, TENSORS, same
from tests.service.kinds import BY_NAME, KINDS, Kind
from tests.service.serving import Serving, put


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("kinds")
    put(folder, **{name: each for kind in KINDS for name, each in kind.programs.items()})
    serving = Serving(folder)
    yield serving.connect()
    serving.stop()


class Here:
    """An evaluator on this machine, with the interface that one elsewhere has."""

    def __init__(self, program: cw.Program, keys: cw.EvaluationKeys) -> None:
        self.interface = cw.Interface.of(program)
        self._evaluator = program.evaluator(keys)

    def run(self, *given: Any) -> cw.Encrypted:
        return self._evaluator.run(*given)


def _evaluators(
    server: Server, kind: Kind, client: cw.Client
) -> tuple[dict[str, Here], dict[str, Any]]:
    """Those here and those there, under the same keys."""
    clients = {name: client.serving(server.interface(name)) for name in kind.programs}
    keys = {name: each.evaluation_keys() for name, each in clients.items()}
    here = {name: Here(program, keys[name]) for name, program in kind.programs.items()}
    return here, {name: server.evaluator(name, keys[name]) for name in clients}


def _case(kind: Kind) -> Any:
    return pytest.param(kind, marks=[pytest.mark.slow] * kind.is_slow, id=kind.name)


@pytest.mark.parametrize("kind", [*map(_case, KINDS)])
def test_what_runs_here_runs_there(server: Server, kind: Kind) -> None:
    client = server.interface(kind.name).client()
    here, there = _evaluators(server, kind, client)
    given = kind.give(client, here)
    expected = here[kind.name].run(given.inputs, given.clear)
    found = there[kind.name].run(given.inputs, given.clear)
    assert found.to_bytes() == expected.to_bytes()
    # Of programs that state none: noise of their small rings is about 2^-17.
    tolerance = here[kind.name].interface.error or 2.0**-14
    # What was rekeyed over reals, clients of a whole program alone decrypt.
    client = client.serving(kind.programs[kind.name])
    assert same(client.decrypt(found), kind.expected, tolerance)


def test_results_there_are_inputs_there(server: Server) -> None:
    kind = BY_NAME["reals-in-a-row"]
    client = server.interface(kind.name).client()
    _, there = _evaluators(server, kind, client)
    given = kind.give(client, there)
    found = client.decrypt(there[kind.name].run(given.inputs))
    assert np.abs(found - kind.expected).max() < 2.0**-10


def _refusal(evaluator: Any, *given: Any) -> tuple[type[CloakworkError], str]:
    with pytest.raises(CloakworkError) as refusal:
        evaluator.run(*given)
    return type(refusal.value), str(refusal.value)


def test_refusals_are_the_same(server: Server) -> None:
    kind = BY_NAME["tensors"]
    client = server.interface("tensors").client()
    here, there = _evaluators(server, kind, client)
    a, b = TENSORS.arguments["a"], TENSORS.arguments["b"]
    one, several = client.encrypt(a=a), client.encrypt(b=np.stack([b] * 2))
    stranger = server.interface("tensors").client()
    for error, given in (
        (InputNameError, (one,)),
        (InputNameError, ([one, one],)),
        (ShapeMismatchError, ([one, several],)),
        (KeyMismatchError, (stranger.encrypt(a, b),)),
        (InvalidArgumentError, ([],)),
        (InvalidArgumentError, (a,)),
        (InvalidArgumentError, (one, {"b": b})),
    ):
        expected = _refusal(here["tensors"], *given)
        assert expected[0] is error
        assert _refusal(there["tensors"], *given) == expected
    other = server.interface("networks").client()
    assert _refusal(there["tensors"], other.encrypt(np.zeros(5)))[0] is ProgramMismatchError


def test_refusals_of_clear_inputs_are_the_same(server: Server) -> None:
    kind = BY_NAME["partly-clear"]
    client = server.interface(kind.name).client()
    here, there = _evaluators(server, kind, client)
    sent = client.encrypt(a=5)
    clear: Mapping[str, Any] | Any
    for error, clear in (
        (InputNameError, {"c": 1}),
        (InputNameError, {"a": 1}),
        (InputNameError, None),
        (ValueOutOfRangeError, {"b": 8}),
        (ShapeMismatchError, {"b": [1, 2]}),
        (InvalidArgumentError, 5),
    ):
        expected = _refusal(here[kind.name], sent, clear)
        assert expected[0] is error
        assert _refusal(there[kind.name], sent, clear) == expected
    row = BY_NAME["bridged"]
    client = server.interface(row.name).client()
    sent = client.encrypt(np.ones(8), np.ones(8))
    evaluator = server.evaluator(row.name, client)
    assert "got clear= beside" in _refusal(evaluator, sent, {"x": 1})[1]


def test_an_audit_takes_clear_inputs(server: Server, tmp_path: Path) -> None:
    client = server.interface("partly-clear").client()
    keys, sent = client.evaluation_keys(), client.encrypt(a=5)
    job = server.evaluator("partly-clear", keys).submit([sent], {"b": 3})
    assert job.results().role == "outputs"
    assert job.receipt is not None
    keys.save(tmp_path / "keys")
    sent.save(tmp_path / "inputs")
    BITS.program.save(tmp_path / "program")
    (tmp_path / "receipt").write_text(job.receipt.text())
    (tmp_path / "clear.json").write_text('{"b": 3}')
    given = ["receipt", "program", "inputs", "--keys", "keys"]
    assert "the same" in Cloakwork(tmp_path)("audit", *given, "--clear", "clear.json")
    (tmp_path / "clear.json").write_text('{"b": 2}')
    refused = Cloakwork(tmp_path).refusal("audit", *given, "--clear", "clear.json")
    assert "expected the program, evaluation keys" in refused


def test_clear_inputs_of_all_kinds_come_back() -> None:
    rng = np.random.default_rng(0)
    ports = [
        cw.Port("a", "unsigned", 3),
        cw.Port("b", "signed", 70),
        cw.Port("c", "bits", 9),
        cw.Port("d", "bytes", 24),
        cw.Port("e", "signed", 12, fraction=4),
        cw.Port("f", "unsigned", 5, shape=(2, 3)),
    ]
    values: dict[str, Any] = {
        "a": 6,
        "b": -(2**68) - 1,
        "c": rng.integers(0, 2, 9),
        "d": b"abc",
        "e": -3.25,
        "f": rng.integers(0, 32, (2, 3)),
    }
    program = cw.boolean.Circuit(_passing(ports)).compile(insecure=True)
    bits = clear_inputs(program, values, "run it")
    found = values_of_clear(program, bits, "run it")
    assert found is not None
    assert all(np.array_equal(found[name], each) for name, each in values.items())
    for wrong in ({9: bits[0]}, {0: bits[1]}, {0: bits[0] + 2}):
        with pytest.raises(MalformedBytesError, match="the bits of its inputs"):
            values_of_clear(program, wrong, "run it")


def _passing(ports: list[cw.Port]) -> Any:
    """A circuit of gates whose result is the first bit of its inputs."""
    from cloakwork.programs.gates import GateBuilder, GateKind  # noqa: PLC0415

    builder = GateBuilder("first", tuple(ports))
    builder.output(cw.Port("first", "unsigned", 1), [builder.append(GateKind.AND, 0, 1)])
    return builder.finish()


def test_damaged_inputs_are_named() -> None:
    client, _ = BITS.keys()
    data = bytearray(RunInputs.of(client.program, client.encrypt(a=5), {"b": 3}).to_bytes())
    assert RunInputs.from_bytes(bytes(data)).clear(BITS.program) == {"b": 3}
    rng = np.random.default_rng(0)
    for _ in range(200):
        wrong = bytearray(data)
        for place in rng.integers(0, len(data), rng.choice([1, 5])):
            wrong[place] ^= int(rng.integers(1, 256))
        with pytest.raises(CloakworkError):
            RunInputs.from_bytes(bytes(wrong[: rng.choice([len(wrong), int(rng.integers(99))])]))
    nested: Any = {"number": 1 << 17, "bits": np.zeros(3, np.uint8)}
    records: list[dict[str, Any]] = [
        {"encrypted": 3, "clear": []},
        {"encrypted": [3], "clear": []},
        {"encrypted": [], "clear": [nested]},
        {"encrypted": [], "clear": [{"number": 0, "bits": np.zeros(3)}]},
        {"encrypted": []},
    ]
    for record in records:
        with pytest.raises(MalformedBytesError):
            RunInputs.from_bytes(container.to_bytes(RunInputs._kind, record))
