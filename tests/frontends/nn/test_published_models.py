"""Models of Hugging Face, their classes as they are: each computes what torch does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import cloakwork as cw
from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn.published_models import COMPILED, REFUSED, Inputs, made
from tests.frontends.nn.results import arrays
from tests.thoroughness import slow

# DeBERTa does so where it is made.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")

# What rotary positions and norms lose, which models compute in float32 whatever their weights are.
ROUNDING = 1e-5
# One of each kind; all of them in make test-slow.
QUICK = (
    "google-bert/bert-base-uncased",
    "openai-community/gpt2",
    "meta-llama/Llama-3.2-1B",
    "google/vit-base-patch16-224",
)


def results(module: torch.nn.Module, inputs: Inputs) -> list[np.ndarray]:
    """What a model makes of inputs."""
    with torch.no_grad():
        return arrays(module(**inputs))


@pytest.mark.parametrize("name", COMPILED)
def test_what_is_read_computes_what_torch_does(name: str) -> None:
    module, inputs = made(COMPILED[name])
    found = evaluate(capture(module, inputs), *(each.double().numpy() for each in inputs.values()))
    for own, wanted in zip(arrays(found), results(module, inputs), strict=True):
        assert own.shape == wanted.shape
        assert np.abs(own - wanted).max() < ROUNDING


@pytest.mark.parametrize("name", [*QUICK, *slow(*(name for name in COMPILED if name not in QUICK))])
def test_programs_compute_what_torch_does(name: str) -> None:
    module, inputs = made(COMPILED[name])
    program = cw.nn.compile(module, inputs, precision=6, log_n=10, insecure=True, bootstrap=True)
    first: Any = {name: each[0].numpy() for name, each in inputs.items()}
    simulated = program.simulate(**first)
    assert simulated.outside == ()
    assert program.error is not None
    for own, wanted in zip(arrays(simulated.outputs), results(module, inputs), strict=True):
        assert np.abs(own - wanted[0]).max() < min(program.error, 2**-5)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_computed_is_refused_by_its_line(name: str) -> None:
    model, message = REFUSED[name]
    module, inputs = made(model)
    with pytest.raises(cw.errors.CloakworkError, match=message):
        capture(module, inputs)
