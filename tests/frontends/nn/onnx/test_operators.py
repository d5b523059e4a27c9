"""Every ONNX operator that is taken gives what onnxruntime gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime", reason="onnxruntime, to compare with, is missing")

import onnxruntime as runtime
import torch
from onnx import ModelProto

from cloakwork.frontends.nn.onnx.onnx_model import NEWEST
from cloakwork.frontends.nn.onnx.onnx_module import OnnxModule
from cloakwork.frontends.nn.onnx.operators import OPERATORS
from tests.frontends.nn.onnx.random_models import random_model
from tests.frontends.nn.onnx.single_nodes import CASES, OTHERS, Case, model_of

# The first operator sets that have some operators, or have their operands in this order.
_FIRST = {
    **dict.fromkeys(("Gelu",), 20),
    **dict.fromkeys(("CastLike",), 15),
    **dict.fromkeys(("GroupNormalization",), 21),
    **dict.fromkeys(("RMSNormalization",), 23),
    **dict.fromkeys(("LayerNormalization",), 17),
    **dict.fromkeys(("HardSwish", "Mish"), 18),
    **{name: 18 for name in OPERATORS if name.startswith("Reduce")},
}


def assert_as_runtime(model: ModelProto, inputs: list[Any]) -> None:
    """Compare the module of a model with onnxruntime."""
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [each.name for each in session.get_inputs()]
    expected = session.run(None, dict(zip(names, inputs, strict=True)))
    found = OnnxModule(model).eval()(*map(torch.from_numpy, inputs))
    found = [*found.values()] if isinstance(found, dict) else [found]
    assert len(found) == len(expected)
    for own, theirs in zip(found, expected, strict=True):
        assert own.shape == theirs.shape
        assert np.allclose(own.numpy(), theirs, rtol=1e-4, atol=1e-5)


def _cases(make: Any, name: str) -> list[Case]:
    return [make(np.random.default_rng([seed, *map(ord, name)])) for seed in range(6)]


@pytest.mark.parametrize("name", CASES)
def test_an_operator_gives_what_the_runtime_gives(name: str) -> None:
    for opset in sorted({max(_FIRST.get(name, 14), 14), 21, NEWEST}):
        if opset < _FIRST.get(name, 14):
            continue
        for case in _cases(CASES[name], name):
            assert_as_runtime(model_of(name, case, opset), case.inputs)


def test_every_operator_is_compared() -> None:
    assert {*CASES, *(operator for operator, _, _ in OTHERS.values())} >= {*OPERATORS}


@pytest.mark.parametrize("name", OTHERS)
def test_other_forms_give_what_the_runtime_gives(name: str) -> None:
    operator, make, opsets = OTHERS[name]
    for opset in opsets:
        for case in _cases(make, name):
            assert_as_runtime(model_of(operator, case, opset), case.inputs)


@pytest.mark.parametrize("seed", range(100))
def test_random_graphs_give_what_the_runtime_gives(seed: int) -> None:
    model, inputs = random_model(np.random.default_rng(seed))
    assert_as_runtime(model, inputs)
