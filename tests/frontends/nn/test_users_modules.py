"""Modules as users write them: each computes what torch does, or is refused by its line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn import users_modules
from tests.frontends.nn.results import arrays
from tests.frontends.nn.users_modules import COMPILED, REFUSED, Written
from tests.thoroughness import slow

# Torch tells so of LSTM before it follows it.
pytestmark = pytest.mark.filterwarnings("ignore:The tensor attributes")

# What float64 may lose.
ROUNDING = 1e-9
# They have few activations, so that planning them takes least.
QUICK = ("siamese", "one-hot", "temporal shift")


def made(written: Written) -> tuple[nn.Module, tuple[torch.Tensor, ...]]:
    """A module in float64, and inputs for it."""
    make, shapes = written
    torch.manual_seed(0)
    inputs = tuple(torch.rand(32, *shape, dtype=torch.float64) for shape in shapes)
    return make().double().eval(), inputs


@pytest.mark.parametrize("name", COMPILED)
def test_what_is_read_computes_what_torch_does(name: str) -> None:
    module, inputs = made(COMPILED[name])
    found = evaluate(capture(module, inputs), *(each.numpy() for each in inputs))
    with torch.no_grad():
        expected: Any = module(*inputs)
    for own, wanted in zip(arrays(found), arrays(expected), strict=True):
        assert own.shape == wanted.shape
        assert np.abs(own - wanted).max() <= ROUNDING


@pytest.mark.random
@pytest.mark.parametrize("name", [*QUICK, *slow(*(name for name in COMPILED if name not in QUICK))])
def test_programs_compute_what_torch_does(name: str) -> None:
    module, inputs = made(COMPILED[name])
    program = cw.nn.compile(module, inputs, precision=8, log_n=9, insecure=True)
    with torch.no_grad():
        expected: Any = module(*(each[:1] for each in inputs))
    found = program.run_clear(*(each[0].numpy() for each in inputs))
    for own, wanted in zip(arrays(found), arrays(expected), strict=True):
        assert np.abs(own - wanted[0]).max() < program.error


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_computed_is_refused_by_its_line(name: str) -> None:
    written, line = REFUSED[name]
    module, inputs = made(written)
    quoted = rf"{re.escape(users_modules.__file__)}:\d+: {re.escape(line)}; "
    with pytest.raises(cw.errors.CloakworkError, match=quoted):
        capture(module, inputs)
