"""Models of Hugging Face, their classes as they are: each computes what torch does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import cloakwork as cw
from cloakwork.frontends.nn.capture import capture
from cloakwork.frontends.nn.known_inputs import with_known_inputs
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
# Of these the last word is padding.
PADDING = torch.tensor([[1, 1, 1, 0]])
PADDED = [name for name, (_, shapes) in COMPILED.items() if "inputs_embeds" in shapes]
# In the second a padded query sees no key, in the third masks follow one another.
QUICK_PADDED = (QUICK[0], "microsoft/deberta-v3-base", QUICK[1])


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


@pytest.mark.parametrize(
    "name", [*QUICK_PADDED, *slow(*(name for name in PADDED if name not in QUICK_PADDED))]
)
def test_a_known_padding_is_read(name: str) -> None:
    module, inputs = made(COMPILED[name])
    padded = with_known_inputs(module, {"attention_mask": PADDING})
    found = evaluate(capture(padded, inputs), inputs["inputs_embeds"].double().numpy())
    wanted = results(
        module, {**inputs, "attention_mask": PADDING.expand(len(*inputs.values()), -1)}
    )
    for own, each in zip(arrays(found), wanted, strict=True):
        assert np.abs(own - each).max() < ROUNDING


def test_what_is_padded_computes_what_shorter_inputs_do() -> None:
    module, inputs = made(COMPILED[QUICK[0]])
    words = inputs["inputs_embeds"]
    program = cw.nn.compile(
        module,
        inputs,
        known={"attention_mask": PADDING},
        precision=6,
        log_n=10,
        insecure=True,
        bootstrap=True,
    )
    assert program.error is not None
    [found] = arrays(program.simulate(words[0].numpy()).outputs)
    [wanted] = results(module, {"inputs_embeds": words[:1, :3]})
    assert np.abs(found - wanted[0]).max() < min(program.error, 2**-5)
    with pytest.raises(cw.errors.ShapeMismatchError, match=r"'inputs_embeds'.*\(4, 16\)"):
        program.run_clear(torch.rand(5, 16))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"attention_mask": torch.eye(24, 4)}, cw.errors.InvalidArgumentError, "rows that differ"),
        ({"attention_mask": torch.ones(())}, cw.errors.InvalidArgumentError, "its first axis"),
        ({"mask": PADDING}, cw.errors.InputNameError, "'mask'"),
    ],
)
def test_what_is_not_known_of_all_inputs_is_refused(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    module, inputs = made(COMPILED[QUICK[0]])
    with pytest.raises(error, match=message):
        cw.nn.compile(module, inputs, known=given)


def test_wrong_uses_are_refused_by_name() -> None:
    module, inputs = made(COMPILED[QUICK[1]])
    mask = {"attention_mask": torch.ones(24, 4)}
    with pytest.raises(cw.errors.UnsupportedLayerError, match="give 'attention_mask' by known="):
        cw.nn.compile(module, {**inputs, **mask})
    config: Any = module.config
    config.use_cache = True
    with pytest.raises(cw.errors.CaptureError, match=r"known={'use_cache': False}"):
        cw.nn.compile(module, inputs)
    [read] = with_known_inputs(module, {"use_cache": False})(**inputs).values()
    assert read.shape == (24, 4, 40)
    with pytest.raises(cw.errors.TrainingModeError, match=r"module\.eval\(\)"):
        cw.nn.compile(module.train(), inputs)


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
