"""Programs in a row: a result is an input of the next program, and stays encrypted between."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cloakwork as cw
from cloakwork.base.record import Fields
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    InvalidParametersError,
    InvalidProgramError,
    KeyMismatchError,
    MalformedBytesError,
    ParametersMismatchError,
    PrecisionLostError,
    ProgramMismatchError,
    ShapeMismatchError,
)
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.layout import Layout
from cloakwork.programs.places import BatchPlaces
from cloakwork.runtime.after import After
from cloakwork.schemes.base import ReadLimits
from tests.system.random_rows import random_circuit
from tests.system.rows import row
from tests.thoroughness import slow

Function = Callable[..., Any]
RING: dict[str, Any] = {"log_n": 9, "insecure": True}

# Of a matrix of 3 x 4: what makes results that lie in many ways, some beside garbage.
FIRST: tuple[Function, ...] = (
    lambda x: x,
    lambda x: x.sum(axis=0),
    lambda x: x.sum(axis=1),
    lambda x: x @ np.linspace(-1, 1, 20).reshape(4, 5),
    lambda x: x.T * x.T,
    cw.sigmoid,
    lambda x: x[::-1, 1:] - 0.5,
    lambda x: x @ x.T,
)
# Of any tensor.
SECOND: tuple[Function, ...] = (
    lambda y: y + 1,
    lambda y: y * y,
    lambda y: y.sum(),
    lambda y: y.reshape(-1)[::-1],
    cw.sigmoid,
    lambda y: (y * y).sum(axis=0),
)


def in_numpy(function: Function, array: Any) -> Any:
    # The sigmoid of a session's tensors has no arrays.
    if function is cw.sigmoid:
        return 1 / (1 + np.exp(-array))
    return np.asarray(function(array))


@pytest.mark.parametrize("seed", [*range(15), *slow(*range(15, 60))])
def test_random_pairs(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    one, other = FIRST[seed % len(FIRST)], SECOND[rng.integers(len(SECOND))]
    first = cw.compile(one, cw.Spec((3, 4)), precision=int(rng.integers(14, 22)), **RING)
    second = cw.compile(other, cw.result(first), precision=14, **RING)
    first, second = cw.together(first, second)
    x = rng.uniform(-1, 1, (3, 4))
    expected = in_numpy(other, in_numpy(one, x))
    assert second.error is not None
    for programs in ((first, second), (first.in_clear(), second.in_clear())):
        clients, evaluators = row(*programs)
        assert evaluators[0]._key is evaluators[1]._key
        made = evaluators[0].run(clients[0].encrypt(x))
        found = clients[1].decrypt(evaluators[1].run(made))
        assert np.shape(found) == np.shape(expected)
        assert np.abs(found - expected).max() <= second.error
    assert np.abs(second.run_clear(in_numpy(one, x)) - expected).max() <= second.error


def test_three_in_a_row_with_another_input_and_files(tmp_path: Path) -> None:
    first = cw.compile(lambda x: (x @ x.T, x.sum(axis=0)), (3, 4), **RING)
    second = cw.compile(
        lambda y, w: y @ w, cw.result(first, "result 1"), cw.Spec((3,), bound=0.5), **RING
    )
    third = cw.compile(
        lambda a, b: (a * a).sum() + b, cw.result(second), cw.result(first, 1), **RING
    )
    first, second, third = cw.together(first, second, third)
    clients, evaluators = row(first, second, third)
    rng = np.random.default_rng(5)
    x, w = rng.uniform(-1, 1, (3, 4)), rng.uniform(-0.5, 0.5, 3)
    clients[2].save(tmp_path / "client")
    evaluators[2].save(tmp_path / "evaluator")

    of_third = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    links = of_third.program.after
    assert [(each.input, each.program.name, each.result) for each in links] == [
        ("a", "<lambda>", "result"),
        ("b", "<lambda>", "result 2"),
    ]
    of_second = of_third.serving(links[0].program)
    of_first = of_third.serving(links[1].program)
    made = of_first.run(clients[0].encrypt(x))
    made.save(tmp_path / "made")
    made = cw.load(tmp_path / "made", cw.Encrypted)
    last = of_third.run([of_second.run([clients[1].encrypt(w=w), made]), made])
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    product = (x @ x.T) @ w
    expected = (product * product).sum() + x.sum(axis=0)
    error = client.program.error
    assert error is not None
    assert np.abs(client.decrypt(last) - expected).max() <= error


def matrices(a: Any, b: Any) -> Any:
    return a @ b


def squares(a: Any, b: Any) -> Any:
    return (a @ b) ** 2


# What makes a result in blocks, and of matrices of which shapes and bound.
BLOCKS: dict[str, tuple[Function, tuple[tuple[int, ...], ...], float]] = {
    "in strides": (squares, ((30, 1), (1, 30)), 1.0),
    "with imaginary parts": (matrices, ((4, 2), (2, 5)), 1.0),
    "beside garbage": (matrices, ((5, 7), (7, 3)), 0.5),
    "in diagonals": (squares, ((24, 24), (24, 24)), 0.5),
    "two columns a slot": (matrices, ((60, 3), (3, 60)), 1.0),
    "of a batch": (matrices, ((3, 4, 2), (3, 2, 5)), 1.0),
}


@pytest.mark.parametrize("case", BLOCKS)
def test_all_follows_a_result_in_blocks(case: str) -> None:
    rng = np.random.default_rng(3)
    function, shapes, bound = BLOCKS[case]
    ring = {**RING, "log_n": 10}
    first = cw.compile(function, *(cw.Spec(each, bound=bound) for each in shapes), **ring)
    assert first.packing.kind == "matrices"
    assert isinstance(cw.result(first).place, Layout) == (case == "in strides")
    a, b = (rng.uniform(-bound, bound, shape) for shape in shapes)
    of_first = function(a, b)
    for other in (
        cw.sigmoid,
        lambda y: y[..., ::-1, 1:] - 0.5,
        lambda y: (y * y).sum(axis=0),
        lambda y: y @ np.linspace(-1, 1, 2 * y.shape[-1]).reshape(-1, 2),
    ):
        second = cw.compile(other, cw.result(first), precision=12, **ring)
        one, two = cw.together(first, second)
        expected = in_numpy(other, of_first)
        assert two.error is not None
        for programs in ((one, two), (one.in_clear(), two.in_clear())):
            clients, evaluators = row(*programs)
            made = evaluators[0].run(clients[0].encrypt(a, b))
            found = clients[1].decrypt(evaluators[1].run(made))
            assert np.abs(found - expected).max() <= two.error
        assert np.abs(two.run_clear(of_first) - expected).max() <= two.error


def test_products_of_several_ciphertexts_follow_one_another(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    a, b, c = (rng.uniform(-1, 1, shape) for shape in ((40, 24), (24, 40), (40, 24)))
    ring = {**RING, "log_n": 10}
    first = cw.compile(lambda a, b: a @ b, a.shape, b.shape, **ring)
    second = cw.compile(lambda y, c: y @ c, cw.result(first), c.shape, precision=12, **ring)
    first, second = cw.together(first, second)
    assert first.packing.vector_counts[1] > 1
    clients, evaluators = row(first, second)
    evaluators[1].save(tmp_path / "evaluator")
    last = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    made = evaluators[0].run(clients[0].encrypt(a, b))
    found = clients[1].decrypt(last.run([clients[1].encrypt(c=c), made]))
    assert second.error is not None
    assert np.abs(found - a @ b @ c).max() <= second.error


def test_a_function_follows_a_network() -> None:
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 6), torch.nn.SiLU(), torch.nn.Linear(6, 4)
    module = torch.nn.Sequential(*layers).eval()
    samples = np.random.default_rng(2).uniform(-1, 1, (32, 8))
    network = cw.nn.compile(module, samples, log_n=11, insecure=True)
    spread = cw.compile(
        lambda y: y - y.mean(), cw.result(network), log_n=11, insecure=True, precision=14
    )
    network, spread = cw.together(network, spread)
    clients, evaluators = row(network, spread)
    made = evaluators[0].run(clients[0].encrypt(samples[0]))
    scores = module(torch.tensor(samples[0]).float()).detach().numpy()
    found = clients[1].decrypt(evaluators[1].run(made))
    assert spread.error is not None
    assert np.abs(found - (scores - scores.mean())).max() <= spread.error
    assert np.abs(clients[0].decrypt(made) - scores).max() <= network.error


def test_files_hold_each_program_once(tmp_path: Path) -> None:
    program = cw.compile(lambda x: (x, x + 1), (4,), **RING)
    programs, sizes = [program], []
    for number in range(8):
        program = cw.compile(
            lambda a, b: (a - b, a + b),
            cw.result(program, 0),
            cw.result(program, 1),
            precision=10,
            **RING,
        )
        programs.append(program)
        program.save(tmp_path / f"{number}")
        sizes.append((tmp_path / f"{number}").stat().st_size)
    assert sizes[-1] - sizes[0] < 8 * sizes[0]
    loaded = cw.load(tmp_path / "7", cw.Program, insecure=True)
    assert loaded.fingerprint == program.fingerprint
    assert loaded.after[0].program is loaded.after[1].program
    together = cw.together(*programs)
    clients, evaluators = row(*(each.in_clear() for each in together))
    x = np.linspace(-1, 1, 4)
    a, b = x, x + 1
    made = evaluators[0].run(clients[0].encrypt(x))
    for evaluator in evaluators[1:]:
        made, (a, b) = evaluator.run(made), (a - b, a + b)
    for one, other in zip(clients[-1].decrypt(made), (a, b), strict=True):
        np.testing.assert_allclose(one, other, atol=2.0**-10)


@pytest.mark.parametrize("number", [-1, 1])
def test_files_that_name_a_program_that_is_not_before_are_refused(number: int) -> None:
    _, second = pair()
    record: Any = second.to_record()
    record["after"] = [{**record["after"][0], "program": number}]
    with pytest.raises(MalformedBytesError, match="program"):
        cw.Program.from_fields(Fields(record, "the file"), ReadLimits(insecure=True))


@pytest.mark.parametrize("pairs", [False, True])
def test_a_function_follows_a_batch_of_a_network(
    pairs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(NetworkOptions, "pairings", (pairs,))
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.SiLU(), torch.nn.Linear(6, 40))
    samples = np.random.default_rng(2).uniform(-1, 1, (64, 8))
    network = cw.nn.compile(module.eval(), samples, log_n=9, insecure=True, batch=4)
    size = network.batch
    spec = cw.result(network)
    assert spec.shape == (size, 40)
    assert isinstance(spec.place, BatchPlaces) == pairs
    mean = cw.compile(lambda y: y.mean(axis=0) ** 2, spec, precision=12, **RING)
    network, mean = cw.together(network, mean)
    clients, evaluators = row(network, mean)
    inputs = samples[np.arange(2 * size) % len(samples)]
    scores = module(torch.tensor(inputs).float()).detach().numpy()
    expected = scores.reshape(2, size, 40).mean(axis=1) ** 2
    assert mean.error is not None
    made = evaluators[0].run(clients[0].encrypt(inputs))
    found = clients[1].decrypt(evaluators[1].run(made))
    assert np.abs(found - expected).max() <= mean.error
    made = evaluators[0].run(clients[0].encrypt(inputs[:size]))
    found = clients[1].decrypt(evaluators[1].run(made))
    assert np.abs(found - expected[0]).max() <= mean.error
    assert np.abs(mean.run_clear(scores[:size]) - expected[0]).max() <= mean.error
    few = evaluators[0].run(clients[0].encrypt(inputs[: size - 1]))
    with pytest.raises(ShapeMismatchError, match=f"for whole batches of {size}, got {size - 1}"):
        evaluators[1].run(few)


def pair() -> tuple[cw.Program, cw.Program]:
    first = cw.compile(lambda x: x * x, (4,), **RING)
    return first, cw.compile(lambda y, w: y * w, cw.result(first), (4,), **RING)


def test_refusals_say_what_would_do() -> None:
    one, two = pair()
    client, evaluator = two.keygen()
    x = np.full(4, 0.5)
    with pytest.raises(InputNameError, match="the input 'y' is the result 'result' of"):
        client.encrypt(x, x)
    with pytest.raises(InvalidArgumentError, match="among them, whose result"):
        cw.together(two)
    alone = one.keygen()
    made = alone[1].run(alone[0].encrypt(x))
    with pytest.raises(KeyMismatchError):
        evaluator.run([made, client.encrypt(w=x)])
    first, second = cw.together(one, two)
    clients, evaluators = row(first, second)
    made, sent = evaluators[0].run(clients[0].encrypt(x)), clients[1].encrypt(w=x)
    assert np.abs(clients[1].decrypt(evaluators[1].run([made, sent])) - 0.125).max() < 2.0**-12
    with pytest.raises(InputNameError, match="got none for y; give what a run of"):
        evaluators[1].run(sent)
    with pytest.raises(ProgramMismatchError, match="expected inputs, or results of"):
        evaluators[1].run([evaluators[1].run([made, sent]), sent])
    with pytest.raises(InputNameError, match="got y twice"):
        evaluators[1].run([made, made, sent])
    with pytest.raises(InvalidArgumentError, match="expected inputs, got outputs"):
        evaluators[0].run(made)
    several = evaluators[0].run(clients[0].encrypt([x, x]))
    with pytest.raises(ShapeMismatchError, match="expected as many evaluations"):
        evaluators[1].run([several, sent])
    both = evaluators[1].run([several, clients[1].encrypt(w=[x, x])])
    assert clients[1].decrypt(both).shape == (2, 4)


def test_programs_that_compute_the_same_are_one() -> None:
    one, other = (cw.compile(lambda x: x * x, (3,), **RING) for _ in range(2))
    with pytest.raises(InvalidArgumentError, match="let one program compute both results"):
        cw.compile(lambda u, v: u - 2 * v, cw.result(one), cw.result(other), **RING)
    bits = [cw.boolean.above(cw.Port("v", "signed", 4), 0).compile() for _ in range(2)]
    ports = tuple(cw.Port(name, "bits", 1) for name in "ab")
    circuit = random_circuit(random.Random(0), ports, cw.Port("y", "bits", 1))
    with pytest.raises(InvalidArgumentError, match="let one program compute both results"):
        circuit.compile(after=dict(zip("ab", map(cw.result, bits), strict=True)))
    both = cw.compile(lambda u, v: u - 2 * v, cw.result(one), cw.result(one), **RING)
    one, both = cw.together(one, both)
    client, evaluator = one.keygen()
    last = client.serving(both)
    server = evaluator.serving(both, last.evaluation_keys(one))
    x = np.array([0.5, -0.25, 1])
    runs = [evaluator.run(client.encrypt(each)) for each in (x, -x / 2)]
    with pytest.raises(InputNameError, match="got u, v twice; give what one run of <lambda>"):
        server.run(runs)
    assert np.abs(last.decrypt(server.run(runs[0])) + x * x).max() < 2.0**-15


def test_circuits_that_decide_the_same_on_one_tensor_are_one() -> None:
    above = [cw.exactly(lambda v: cw.boolean.above(v, 0.125), bits=8, fraction=6) for _ in range(2)]
    program = cw.compile(
        lambda x: above[0](x) * 0.5 + above[1](x), (4,), precision=8, log_n=12, insecure=True
    )
    assert len(program.parts) == 3
    found = program.run([0.5, -0.5, 1, 0])
    assert np.abs(found - [1.5, 0, 1.5, 0]).max() < 2.0**-7


def test_programs_of_other_parameters_are_brought_together_first() -> None:
    one, _ = pair()
    deep = cw.compile(lambda y: y * y * y, cw.result(one), **RING)
    client, _ = one.keygen()
    assert one.scheme.key_set != deep.scheme.key_set
    with pytest.raises(ParametersMismatchError, match=r"together before keys are made"):
        _ = deep.estimated_results
    with pytest.raises(ParametersMismatchError, match=r"together before keys"):
        client.serving(deep)


def test_specs_that_do_not_serve_are_refused() -> None:
    one, two = pair()
    for which in (1, -1, "other", None, True, 0.0):
        with pytest.raises(InvalidArgumentError, match="expected one of result of"):
            cw.result(one, which)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="expected a compiled program"):
        cw.result("one")  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="compile both with one log_n"):
        cw.compile(lambda y: y, cw.result(one), log_n=10, insecure=True)
    spec = cw.Spec((4, 4), bound=9, kind="integer")
    product = cw.compile(lambda a, b: a @ b, spec, spec, log_n=11, insecure=True)
    with pytest.raises(InvalidArgumentError, match="inputs that all are integers or all are reals"):
        cw.compile(lambda y, x: y @ x, cw.result(product), (4, 4))
    wide = cw.compile(lambda x: x, (5,), **RING)
    flipped = cw.compile(lambda x: x[::-1], (4,), **RING)
    for link, reason in (
        (After("z", one, "result"), "is not there"),
        (After("y", one, "other"), "is not there"),
        (After("y", wide, "result"), "is not of the kind and shape"),
        (After("y", flipped, "result"), "does not lie where the result does"),
    ):
        with pytest.raises(InvalidProgramError, match=reason):
            cw.Program(two.scheme, two.body, two.packing, after=(link,))


def _powers(x: Any) -> Any:
    return np.exp(x)


def test_results_that_their_errors_leave_nothing_of_are_refused() -> None:
    first = cw.compile(_powers, (4,), precision=8, log_n=11, insecure=True)
    taken = cw.result(first)
    # Of 1.7 at most, 2^-8 is within 8 bits or so; 50 times as much is not.
    with pytest.raises(InvalidParametersError, match="than 8 bits of them are right"):
        cw.compile(lambda y: cw.within(50 * (y - 1), -0.5, 0.5), taken, log_n=11, insecure=True)
    with pytest.raises(InvalidParametersError, match="compile what it follows with about"):
        cw.compile(lambda y: np.tanh(y - y.mean()) * 0.001, taken, log_n=11, insecure=True)


def test_results_smaller_than_what_the_row_is_off_by_are_not_given_out() -> None:
    first = cw.compile(_powers, (4,), precision=8, log_n=11, insecure=True)
    second = cw.compile(lambda y: 3000 * (y - 1), cw.result(first), log_n=11, insecure=True)
    first, second = cw.together(first, second, insecure=True)
    client, evaluator = first.keygen()
    last = client.serving(second)
    server = evaluator.serving(second, last.evaluation_keys(first))
    assert second.error is not None
    assert 2 < second.error < 16
    small = server.run(evaluator.run(client.encrypt([0.0001, -0.0001, 0.0003, 0.0])))
    with pytest.raises(PrecisionLostError, match="states errors of up to 8"):
        last.decrypt(small)
    with pytest.raises(PrecisionLostError, match="compile what it follows with more precision"):
        last.decrypt_for_others(small, statistical_bits=5, decryptions=4)
    x = np.array([0.5, -0.5, 1.0, -1.0])
    found = last.decrypt(server.run(evaluator.run(client.encrypt(x))))
    assert np.abs(found - 3000 * (np.exp(x) - 1)).max() < second.error
