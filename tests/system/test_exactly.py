"""Functions over reals that decide exactly on the way, on ciphertexts at 128-bit security."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cloakwork as cw

_WEIGHTS = np.random.default_rng(0).uniform(-1, 1, (6, 16)) / 8


def _run(program: cw.Program, *inputs: Any) -> Any:
    assert "INSECURE" not in f"{program.scheme}"
    client, evaluator = program.keygen()
    return client.decrypt(evaluator.run(client.encrypt(*inputs)))


@pytest.mark.slow
def test_a_threshold_selects_in_the_middle_of_a_function() -> None:
    above = cw.exactly(lambda v: cw.boolean.above(v, 0.125), bits=8, fraction=6)

    def function(x: Any, prices: Any) -> Any:
        scores = _WEIGHTS @ x
        chosen = above(scores)
        return (chosen * prices).sum(), chosen * scores

    program = cw.compile(function, (16,), (6,), precision=12)
    rng = np.random.default_rng(1)
    x, prices = rng.uniform(-1, 1, 16), rng.uniform(-1, 1, 6)
    assert np.abs(_WEIGHTS @ x - 0.125 - 2**-7).min() > 2**-10
    expected, found = function(x, prices), _run(program, x, prices)
    assert program.error is not None
    for one, other in zip(found, expected, strict=True):
        assert np.abs(one - other).max() < program.error < 2**-10


@pytest.mark.slow
def test_the_greatest_of_several_numbers_chooses_in_the_middle_of_a_function() -> None:
    greatest = cw.exactly(cw.boolean.one_hot, bits=8)

    def function(x: Any, rows: Any) -> Any:
        return greatest(_WEIGHTS @ x) @ rows

    program = cw.compile(function, (16,), (6, 4), precision=12)
    rng = np.random.default_rng(2)
    x, rows = rng.uniform(-1, 1, 16), rng.uniform(-1, 1, (6, 4))
    first, second = np.sort(_WEIGHTS @ x)[:-3:-1]
    assert first - second > 2**-6
    found = _run(program, x, rows)
    assert program.error is not None
    assert np.abs(found - rows[np.argmax(_WEIGHTS @ x)]).max() < program.error < 2**-9


@pytest.mark.slow
def test_a_network_takes_what_is_decided_on_the_scores_of_another() -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    layers = torch.nn.Linear(8, 6), torch.nn.SiLU(), torch.nn.Linear(6, 4)
    scoring = torch.nn.Sequential(*layers).eval()
    valuing = torch.nn.Sequential(torch.nn.Linear(4, 3)).eval()
    images = np.random.default_rng(2).uniform(0, 1, (8, 8))
    first = cw.nn.compile(scoring, images, log_n=16, precision=12)
    port = cw.Port("scores", "signed", 8, shape=(4,), fraction=5)
    second = cw.boolean.one_hot(port).compile(after={"scores": cw.result(first)})
    third = cw.compile(lambda v: 1 * v, cw.result(second), precision=12, log_n=16)
    after = {"input": cw.result(third)}
    last = cw.nn.compile(valuing, np.eye(4), precision=10, log_n=16, after=after)
    program = cw.in_a_row(first, second, third, last)
    assert [port.name for port in program.inputs] == ["input"]
    scores = scoring(torch.tensor(images[0]).float()).detach().numpy()
    assert np.diff(np.sort(scores)[-2:])[0] > 2**-4
    expected = valuing(torch.eye(4)[int(scores.argmax())]).detach().numpy()
    assert program.error is not None
    for found in (_run(program, images[0]), program.run_clear(images[0])):
        assert np.abs(found - expected).max() < program.error < 2**-8
