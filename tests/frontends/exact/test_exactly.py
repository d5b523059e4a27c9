"""Exact decisions within functions over reals: one program of steps and circuits in a row."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.cli.inspection import inspected
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    MalformedBytesError,
    NotIntegerError,
    ProgramMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.gates import GateBuilder, GateKind
from cloakwork.runtime import container
from cloakwork.runtime.interface import KIND as INTERFACE
from cloakwork.runtime.program import KIND
from tests.thoroughness import part

_WEIGHTS = np.random.default_rng(0).uniform(-1, 1, (4, 8)) / 8
# Where results of rounding are not near a border.
_FAR = 2.0**-9
_ABOVE = cw.exactly(lambda v: cw.boolean.above(v, 0.125), bits=7, fraction=5)
_BEST = cw.exactly(cw.boolean.argmax, bits=7, fraction=5)
_SQUARES = cw.exactly([min(n, 8 - n) ** 2 for n in range(8)])


def _chosen(x: Any, prices: Any) -> Any:
    scores = _WEIGHTS @ x
    return _ABOVE(scores) * prices, scores


def _twice(x: Any, y: Any, _: Any) -> Any:
    scores = _WEIGHTS @ x
    choice = _ABOVE(scores)
    mixed = choice * scores + (1 - choice) * y
    return _SQUARES(mixed) * 0.125 + mixed, choice


def _compiled(function: Any, *shapes: tuple[int, ...]) -> cw.Program:
    return cw.compile(function, *shapes, precision=10, log_n=12, insecure=True)


def _near(found: Any, expected: Any, error: float | None) -> bool:
    assert error is not None
    return all(
        np.abs(one - other).max() < error for one, other in zip(found, expected, strict=True)
    )


def _is_far(numbers: Any, fraction: int) -> bool:
    """Whether no number is near to where rounding jumps."""
    scaled = np.asarray(numbers) * 2.0**fraction - 0.5
    return bool(np.abs(scaled - np.rint(scaled)).min() > _FAR * 2.0**fraction)


@pytest.fixture(scope="module")
def chosen() -> cw.Program:
    return _compiled(_chosen, (8,), (4,))


def _inputs(seed: int, *shapes: tuple[int, ...]) -> list[Any]:
    rng = np.random.default_rng(seed)
    while True:
        drawn = [rng.uniform(-1, 1, shape) for shape in shapes]
        if _is_far(_WEIGHTS @ drawn[0], 5):
            return drawn


def test_one_program_decides_between_two_steps_on_ciphertexts(
    chosen: cw.Program, tmp_path: Path
) -> None:
    assert [each.name for each in chosen.parts] == [
        "_chosen, step 1",
        "values above 0.125",
        "_chosen",
    ]
    assert [port.name for port in chosen.inputs] == ["x", "prices"]
    x, prices = _inputs(1, (8,), (4,))
    expected = _chosen(x, prices)
    assert _near(chosen.run_clear(x, prices), expected, chosen.error)
    assert _near(chosen.simulate(x, prices).outputs, expected, chosen.error)
    client, evaluator = chosen.keygen()
    sent = client.encrypt(x, prices=prices)
    assert sent.maker == client.maker
    assert _near(client.decrypt(evaluator.run(sent)), expected, chosen.error)
    # Files hold the row.
    chosen.save(tmp_path / "program")
    client.save(tmp_path / "client")
    evaluator.save(tmp_path / "evaluator")
    sent.save(tmp_path / "in")
    assert f"beside    prices, of program {chosen.fingerprint}" in inspected(tmp_path / "in")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert (loaded.fingerprint, loaded.row) == (chosen.fingerprint, ("x", "prices"))
    server = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    server.run(cw.load(tmp_path / "in", cw.Encrypted)).save(tmp_path / "out")
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    found = client.decrypt(cw.load(tmp_path / "out", cw.Encrypted))
    assert _near(found, expected, chosen.error)
    # Keys are made apart, too, and inputs encrypted one by one, several evaluations at a time.
    keys = client.evaluation_keys()
    assert keys.names > {"all", "ring switching", "return"}
    several = np.stack([_inputs(seed, (8,))[0] for seed in (2, 3)])
    many = client.encrypt(several, prices)
    made = loaded.evaluator(keys).run([many])
    both = [np.stack(each) for each in zip(*(_chosen(x, prices) for x in several), strict=True)]
    assert _near(client.decrypt(made), both, chosen.error)
    apart = [client.encrypt(x=x), client.encrypt(prices=prices)]
    assert _near(client.decrypt(evaluator.run(apart)), expected, chosen.error)
    profile = cw.Profile()
    evaluator.run(sent, threads=1, profile=profile)
    assert {"bootstrap", "polynomial", "rotate"} <= profile.totals().keys()


def test_what_a_row_takes_is_known_before(chosen: cw.Program) -> None:
    found = cw.estimate(chosen)
    apart = [cw.estimate(each) for each in chosen.parts]
    assert found.operations["bootstrap"] == apart[1].operations["bootstrap"] > 0
    assert found.operations["number out of slots"] == 4
    assert found.key_bytes == chosen.key_bytes <= sum(each.key_bytes for each in chosen.parts)
    # What is a result of another program is not sent.
    assert found.input_bytes == sum(each.input_bytes for each in apart)
    assert apart[1].input_bytes == 0
    explained = cw.explain(chosen)
    assert "values above 0.125" in explained
    assert "together" in explained.split("in a row")[1]
    assert chosen.log2_failure < -15


@pytest.mark.slow
def test_numbers_cross_twice_on_ciphertexts() -> None:
    program = _compiled(_twice, (8,), (4,), (2,))
    names = [each.name for each in program.parts]
    assert names == [
        "_twice, step 1",
        "values above 0.125",
        "_twice, step 2",
        "table of values",
        "_twice",
    ]
    rng = np.random.default_rng(4)
    client, evaluator = program.keygen()
    compared = 0
    while not compared:
        x, y, unused = rng.uniform(-1, 1, 8), rng.uniform(-1, 1, 4), np.zeros(2)
        scores = _WEIGHTS @ x
        mixed = np.where(_ABOVE(scores) > 0, scores, y)
        if not _is_far(scores, 5) or not _is_far(mixed, 0):
            continue
        compared += 1
        expected = _twice(x, y, unused)
        assert _near(program.run_clear(x, y, unused), expected, program.error)
        made = client.decrypt(evaluator.run(client.encrypt(x, y, unused)))
        assert _near(made, expected, program.error)


@pytest.mark.parametrize("seed", range(3))
def test_functions_of_random_shapes_are_those_of_numpy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns, count = (int(each) for each in rng.integers(1, 5, 3))
    weights = rng.uniform(-1, 1, (rows, columns)) / columns
    bits = int(rng.integers(3, 7))
    greatest = cw.exactly(cw.boolean.sort, bits=bits, fraction=bits - 1)

    def function(x: Any, y: Any) -> Any:
        numbers = (weights @ x).reshape(-1)
        return (greatest(numbers) * y).sum() + x.sum(), numbers * 2

    if rows * count == 1:
        rows = 2
        weights = np.vstack([weights, weights])
    shapes = (columns, count), (rows * count,)
    program = cw.compile(function, *shapes, precision=11, log_n=12, insecure=True)
    compared = 0
    while compared < part(3):
        x, y = (rng.uniform(-1, 1, shape) for shape in shapes)
        if not _is_far(weights @ x, bits - 1):
            continue
        compared += 1
        assert _near(program.run_clear(x, y), function(x, y), program.error)


def _votes(x: Any, y: Any) -> Any:
    one, other = (_ABOVE(each) for each in (x, y))
    both = np.outer(one, other) + one
    return one + other, np.add(one, one), one - other, -one, one[1:] + one[:-1], both, one + one * x


def test_decisions_add_up_as_the_numbers_that_they_are() -> None:
    program = _compiled(_votes, (4,), (4,))
    x, y = np.array([0.5, 0.5, -0.5, -0.5]), np.array([0.5, -0.5, 0.5, -0.5])
    expected = _votes(x, y)
    assert expected[0].tolist() == [2, 1, 1, 0]
    assert _near(program.run_clear(x, y), expected, program.error)


def test_what_decides_is_asked_for_truth_by_comparing_it() -> None:
    def chosen(x: Any, y: Any) -> Any:
        return np.where(_ABOVE(x), x, y) + (_ABOVE(x) > 0.5) * y

    program = _compiled(chosen, (4,), (4,))
    x, y = np.array([0.5, 0.5, -0.5, -0.5]), np.array([0.5, -0.5, 0.25, -0.25])
    assert _near([program.run_clear(x, y)], [chosen(x, y)], program.error)
    with pytest.raises(InvalidArgumentError, match=r"x \* y and 1 - x of numbers"):
        _compiled(lambda x, y: 1.0 * (_ABOVE(x) & _ABOVE(y)), (4,), (4,))


def test_ranges_follow_from_samples_through_a_decision() -> None:
    samples = [np.random.default_rng(seed).uniform(-1, 1, 8) for seed in range(5)]
    prices = [np.full(4, 0.5)] * 5

    def function(x: Any, prices: Any) -> Any:
        return np.exp(_ABOVE(_WEIGHTS @ x) @ prices)

    program = cw.compile(function, samples, prices, precision=12, log_n=12, insecure=True)
    x, price = samples[0], prices[0]
    found = program.run_clear(x, price)
    assert program.error is not None
    assert abs(found - function(x, price)) < program.error
    with pytest.raises(ValueOutOfRangeError):
        program.keygen()[0].encrypt(x * 20, price * 20)


def test_what_ends_with_a_decision_comes_as_the_numbers_that_it_is(tmp_path: Path) -> None:
    def function(x: Any) -> Any:
        best = _BEST(_WEIGHTS @ x)
        return best["index"], best["greatest"]

    program = cw.compile(function, (8,), precision=12, log_n=12, insecure=True)
    assert [each.name for each in program.parts] == ["function, step 1", "function"]
    x = _inputs(6, (8,))[0]
    expected = function(x)
    client, evaluator = program.keygen()
    for found in (
        program.run_clear(x),
        program.simulate(x).outputs,
        client.decrypt(evaluator.run(client.encrypt(x))),
    ):
        assert [float(each) for each in found] == [float(each) for each in expected]
    assert cw.estimate(program).operations["number out of slots"] == 4
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert loaded.fingerprint == program.fingerprint
    assert [float(each) for each in loaded.run_clear(x)] == [float(each) for each in expected]
    record = program.to_record()
    record = {**record, "packing": {**record["packing"], "results": ["index", "other"]}}
    container.write(tmp_path / "program", KIND, record)
    with pytest.raises(MalformedBytesError, match="names of its outputs as results"):
        cw.load(tmp_path / "program", cw.Program, insecure=True)


def test_functions_that_end_with_decisions_take_small_rings() -> None:
    program = cw.compile(lambda x: _BEST(_WEIGHTS @ x)["index"], (8,), precision=12)
    assert program.parts[0].scheme.parameters.log_n == 13
    twice = cw.compile(lambda x: _ABOVE(_ABOVE(_WEIGHTS @ x) @ _WEIGHTS), (8,), precision=12)
    assert [each.name for each in twice.parts][-2:] == ["<lambda>, step 2", "<lambda>"]


def test_arrays_are_decided_on_in_the_clear() -> None:
    assert _ABOVE(np.array([0.125, 0.17, -1])).tolist() == [0, 1, 0]
    assert _SQUARES(np.array([[1.4, -1.6], [3.0, -4.0]])).tolist() == [[1, 4], [9, 16]]
    # As many bits after the point as the numbers leave: 7 of 9, for a sign and numbers up to 1.5.
    found = cw.exactly(cw.boolean.argmax, bits=9)([-0.25, 1.5, 1.492])
    assert {name: each.tolist() for name, each in found.items()} == {"index": 1, "greatest": 1.5}
    unsigned = cw.exactly(cw.boolean.sort, bits=4)([0.93, 0.06])
    assert unsigned.tolist() == [0.0625, 0.9375]
    several = cw.exactly(_sum_of_two())
    assert several(np.array([1.0, -2.0]), np.array([-2.0, 0.6])).tolist() == [1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("low", "high", "kind", "fraction"),
    [
        (-1.7, 1.7, "signed", 2),
        # 1.873 is rounded to 1.75 or, with noise, beyond.
        (-1.7, 1.873, "signed", 1),
        # Errors of 2^-10 take it over 0.9375.
        (-1, 0.937, "signed", 2),
        (-0.01, 0.9, "unsigned", 4),
        (-0.05, 0.9, "signed", 3),
    ],
)
def test_numbers_leave_with_as_many_bits_after_the_point_as_noise_leaves(
    low: float, high: float, kind: str, fraction: int
) -> None:
    top = cw.exactly(lambda v: cw.boolean.above(v, 0.25), bits=4)
    spec = cw.Spec((2,), low=low, high=high)
    program = cw.compile(lambda x: top(1.0 * x), spec, precision=10, log_n=13)
    (port,) = program.parts[1].packing.inputs
    assert (port.kind, port.fraction) == (kind, fraction)
    if fraction == 4:
        return
    finer = cw.exactly(lambda v: cw.boolean.above(v, 0.25), bits=4, fraction=fraction + 1)
    with pytest.raises(InvalidArgumentError, match="are rounded, with noise"):
        cw.compile(lambda x: finer(1.0 * x), spec, precision=10, log_n=13)


def _sum_of_two() -> cw.boolean.Circuit:
    ports = tuple(cw.Port(name, "signed", 2, shape=(2,)) for name in "ab")
    builder = GateBuilder("either", ports)
    made = [builder.append(GateKind.OR, bit, bit + 4) for bit in range(4)]
    builder.output(cw.Port("c", "bits", 4), made)
    return cw.boolean.Circuit(builder.finish())


def test_a_circuit_takes_several_tensors() -> None:
    either = cw.exactly(_sum_of_two())

    def function(x: Any, y: Any) -> Any:
        return either(x - 1, y) @ np.array([1.0, 2.0, 4.0, 8.0])

    spec = cw.Spec((2,), low=0, high=1)
    program = _compiled(function, spec, spec)  # type: ignore[arg-type]
    x, y = np.array([0.1, 0.9]), np.array([0.8, 0.2])
    assert abs(program.run_clear(x, y) - function(x, y)) < (program.error or 0)


@pytest.mark.parametrize(
    ("decision", "options", "words"),
    [
        (cw.boolean.argmax, {}, "expected bits= for the numbers"),
        (cw.boolean.argmax, {"bits": 17}, "bits"),
        (
            cw.boolean.argmax,
            {"bits": 4, "fraction": 4},
            r"to hold numbers from -4 to 4, got one to which those from -0\.5[12]\d* to 0\.4[56]",
        ),
        (_sum_of_two(), {}, "a tensor for each of the inputs a, b of either"),
        (_sum_of_two(), {"bits": 4}, "a circuit alone"),
        (lambda _: 1, {"bits": 4}, "expected a circuit of"),
        (range(6), {}, "a table of 2\\^bits entries"),
    ],
)
def test_what_cannot_be_decided_on_is_refused(
    decision: Any, options: dict[str, int], words: str
) -> None:
    def function(v: Any) -> Any:
        return cw.exactly(decision, **options)(v) * 1.0

    with pytest.raises(InvalidArgumentError, match=words):
        _compiled(function, cw.Spec((8,), bound=4))  # type: ignore[arg-type]


def test_tensors_of_other_shapes_and_beside_arrays_are_refused() -> None:
    either = cw.exactly(_sum_of_two())
    with pytest.raises(InvalidArgumentError, match=r"of the shape \(3,\)"):
        _compiled(lambda v: either(v[:3], v), (8,))
    with pytest.raises(InvalidArgumentError, match="or arrays alone"):
        _compiled(lambda v: either(v, np.ones(2)), (2,))


def test_decisions_elsewhere_are_refused_by_what_would_do() -> None:
    @cw.circuit(a=cw.vector(3))
    def whole(a: Any) -> Any:
        return _ABOVE(a)

    with pytest.raises(InvalidArgumentError, match=r"compile\(after="):
        whole.compile(bits=8)
    session = cw.Session(depth=1, insecure=True, log_n=11)
    with pytest.raises(InvalidArgumentError, match=r"that cloakwork\.compile plans, or arrays"):
        _ABOVE(session.encrypt([0.5]))
    with pytest.raises(InvalidArgumentError, match="a function of the state apart"):
        cw.compile(lambda s, x: s + _ABOVE(x), cw.state((2,), bound=9, steps=3), (2,))
    first = _compiled(lambda x: x * 0.5, (2,))
    with pytest.raises(InvalidArgumentError, match="the result of another program"):
        _compiled(_ABOVE, cw.result(first))
    with pytest.raises(NotIntegerError, match="a table of integers"):
        cw.exactly([0.5, 1.5])


def test_what_a_row_does_not_do_is_refused(chosen: cw.Program, tmp_path: Path) -> None:
    client, evaluator = chosen.keygen()
    x, prices = _inputs(1, (8,), (4,))
    sent = client.encrypt(x, prices)
    attempts: list[tuple[Callable[[], object], str]] = [
        (chosen.in_clear, "run_clear"),
        (lambda: client.encrypt_into(tmp_path / "folder", x, prices), "encrypt in memory"),
        (lambda: cw.explain(chosen, cw.Profile()), "one of its parts"),
        (lambda: evaluator.run(sent, {"x": 1}), "got clear="),
        (lambda: evaluator.run(evaluator.run(sent)), "expected what encrypt gave"),
    ]
    for attempt, words in attempts:
        with pytest.raises(InvalidArgumentError, match=words):
            attempt()
    with pytest.raises(InputNameError, match="got none for prices"):
        evaluator.run(client.encrypt(x=x))
    with pytest.raises(InputNameError, match="one or more of the inputs x, prices"):
        client.encrypt()
    other, _ = _compiled(lambda x: x * 2, (8,)).keygen()
    with pytest.raises(ProgramMismatchError, match="belong to another program"):
        evaluator.run(other.encrypt(x))


def test_clients_of_an_interface_of_a_row_see_no_weights(
    chosen: cw.Program, tmp_path: Path
) -> None:
    interface = cw.Interface.of(chosen)
    interface.save(tmp_path / "interface")
    interface = cw.load(tmp_path / "interface", cw.Interface, insecure=True)
    assert [port.name for port in interface.inputs] == ["x", "prices"]
    client = interface.client()
    client.save(tmp_path / "client")
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    evaluator = chosen.evaluator(client.evaluation_keys())
    x, prices = _inputs(5, (8,), (4,))
    made = evaluator.run(client.encrypt(x, prices))
    assert _near(client.decrypt(made), _chosen(x, prices), chosen.error)
    damages: list[dict[str, list[str]]] = [{"row": ["x"]}, {"before": []}]
    for changed in damages:
        record = {**interface.to_record(), **changed}
        container.write(tmp_path / "damaged", INTERFACE, record)
        with pytest.raises(MalformedBytesError, match="inputs are not those of its row"):
            cw.load(tmp_path / "damaged", cw.Interface, insecure=True)


def test_a_file_whose_row_is_not_that_of_its_programs_is_refused(
    chosen: cw.Program, tmp_path: Path
) -> None:
    for row in (["x"], ["x", "prices", "z"], ["x", "x"]):
        record = {**chosen.to_record(), "row": row}
        container.write(tmp_path / "program", KIND, record)
        with pytest.raises(MalformedBytesError, match="inputs are not those of its row"):
            cw.load(tmp_path / "program", cw.Program, insecure=True)
