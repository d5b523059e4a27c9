"""Modules some parameters of whose forward are known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType

import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor, nn

from cloakwork.frontends.nn.known_inputs import with_known_inputs


def twice(module: nn.Bilinear, input1: Tensor, input2: Tensor) -> Tensor:
    return 2 * nn.Bilinear.forward(module, input1, input2)


def of_another(function: Callable[..., Tensor], module: nn.Bilinear) -> Callable[..., Tensor]:
    class Other:
        def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
            return function(module, input1, input2)

    return Other().forward


@pytest.mark.parametrize("bound", [MethodType, partial, of_another])
def test_a_forward_of_the_modules_own_is_called(
    bound: Callable[..., Callable[..., Tensor]],
) -> None:
    module, x, ones = nn.Bilinear(2, 3, 4), torch.rand(5, 2), torch.ones(5, 3)
    vars(module)["forward"] = bound(twice, module)
    made = with_known_inputs(module, {"input2": ones[:1]})
    assert torch.equal(made(x), module(x, ones))
    assert not module._buffers
    assert not module._non_persistent_buffers_set
