"""The operators of ONNX that a network may use, and the function of torch's that computes each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from cloakwork.frontends.nn.onnx import (
    elementwise,
    products,
    recurrent,
    reductions,
    shapes,
    windows,
)
from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall

OPERATORS: Mapping[str, Callable[[OnnxCall], Any]] = MappingProxyType(
    {
        **elementwise.OPERATORS,
        **products.OPERATORS,
        **recurrent.OPERATORS,
        **reductions.OPERATORS,
        **shapes.OPERATORS,
        **windows.OPERATORS,
    }
)
