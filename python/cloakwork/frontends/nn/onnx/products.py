"""ONNX's products of matrices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.nn import functional

from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall


def _gemm(call: OnnxCall) -> torch.Tensor:
    left, right, bias = call.tensor(0), call.tensor(1), call.optional(2)
    alpha, beta = call.attribute("alpha", 1.0), call.attribute("beta", 1.0)
    left = left.T if call.attribute("transA", 0) else left
    right = right if call.attribute("transB", 0) else right.T
    plain = alpha == beta == 1.0 and bias is not None and bias.shape == right.shape[:1]
    if plain:
        return functional.linear(left, right, bias)
    found = functional.linear(left, right)
    found = found if alpha == 1.0 else alpha * found
    if bias is None:
        return found
    return found + (bias if beta == 1.0 else beta * bias)


def _matmul(call: OnnxCall) -> torch.Tensor:
    return torch.matmul(call.tensor(0), call.tensor(1))


def _einsum(call: OnnxCall) -> torch.Tensor:
    operands = [call.tensor(place) for place in range(len(call.inputs))]
    return torch.einsum(call.attribute("equation"), *operands)


OPERATORS: Mapping[str, Callable[[OnnxCall], Any]] = MappingProxyType(
    {"Einsum": _einsum, "Gemm": _gemm, "MatMul": _matmul}
)
