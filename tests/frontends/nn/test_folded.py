"""Values whose first axis is the batch and another axis in one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import Tensor
from torch.nn import functional

from cloakwork.errors import CloakworkError
from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn.function_module import Function
from tests.frontends.nn.results import arrays

Forward: TypeAlias = Callable[[Tensor], Tensor]

_CHANCE = np.random.default_rng(0)


def known(*shape: int) -> Tensor:
    """A known tensor."""
    return torch.tensor(_CHANCE.normal(size=shape)).float()


SQUARE, WIDE, ROWS = known(6, 6), known(6, 5), known(12, 6)
SCORES = known(2, 1, 2)
KERNEL, IMAGE_KERNEL, SHIFT = known(4, 1, 3), known(2, 1, 2, 2), known(4)

# Of inputs of shape (batch, 4, 6).
SAME: Mapping[str, Forward] = {
    "turned first": lambda x: x.transpose(0, 1).tanh().transpose(0, 1),
    "turned behind": lambda x: (
        (x.permute(1, 2, 0) * WIDE[:, :1]).mean(0, keepdim=True).mT.mT.permute(2, 0, 1)
    ),
    "turned product": lambda x: functional.softmax(x.transpose(0, 1) @ WIDE, -1).transpose(0, 1),
    "queries of entries": lambda x: torch.stack(
        x.view(-1, 2, 3, 2).permute(2, 0, 1, 3).unbind(0), 1
    ).view_as(x),
    "turned rows": lambda x: functional.layer_norm(
        functional.linear(x.transpose(0, 1), SQUARE), (6,)
    ).transpose(0, 1),
    "product with rows": lambda x: (x.view(-1, 6) @ WIDE).view(len(x), 4, 5),
    "added product": lambda x: torch.addmm(WIDE[0], x.view(-1, 6), WIDE).view(len(x), 4, 5),
    "linear, norm, activation": lambda x: functional.gelu(
        functional.layer_norm(functional.linear(x.flatten(0, 1), SQUARE), (6,))
    ).view(len(x), 4, 6),
    "products of entries": lambda x: (x.view(-1, 2, 6) @ x.view(-1, 2, 6).transpose(1, 2)).view(
        len(x), -1
    ),
    "products of heads": lambda x: torch.baddbmm(
        SCORES.repeat(len(x), 1, 1),
        x.reshape(-1, 2, 6),
        x.reshape(-1, 2, 6).mT,
        beta=0.5,
    ).view(len(x), 2, 2, 2),
    "softmax of entries": lambda x: x.view(-1, 6).softmax(1).view_as(x),
    "sums and parts": lambda x: (x.view(-1, 2, 3).sum(1) * 2 - 1).view(len(x), 4, 3),
    "windows": lambda x: (
        x.view(-1, 2, 2, 6).transpose(1, 2).reshape(-1, 2, 6).roll(1, 1).view(len(x), 24)
    ),
    "sum of folded ones": lambda x: (x.view(-1, 6) + x.tanh().view(-1, 6) * SQUARE[0]).view_as(x),
    "beside one another": lambda x: torch.cat([x.view(-1, 6), x.view(-1, 6).square()], 1).view(
        len(x), 4, 12
    ),
    "numbers of all": lambda x: x.view(-1).exp().view(len(x), 24),
    "attention of windows": lambda x: functional.scaled_dot_product_attention(
        *3 * (x.view(-1, 1, 2, 6),)
    ).view_as(x),
    "batch norm": lambda x: functional.batch_norm(
        x.flatten(0, 1), ROWS[0], ROWS[1].square() + 0.5, WIDE[:, 0], WIDE[:, 1]
    ).reshape_as(x),
    "group norm": lambda x: functional.group_norm(
        x.view(-1, 4, 3), 2, SHIFT, SQUARE[0, :4]
    ).view_as(x),
    "convolution": lambda x: functional.conv1d(
        x.view(-1, 2, 6), KERNEL, SHIFT, stride=2, padding=1, groups=2
    ).view(len(x), 2, 4, 3),
    "images": lambda x: functional.avg_pool2d(
        functional.conv2d(x.view(-1, 1, 4, 3), IMAGE_KERNEL, padding="same").relu(), 2
    ).view(len(x), 2, -1),
    "largest of windows": lambda x: functional.max_pool1d(x.view(-1, 3, 4), 2).view(len(x), -1),
    "between pixels": lambda x: functional.interpolate(
        x.view(-1, 1, 4, 3), (5, 2), mode="bilinear"
    ).view(len(x), 2, 5, 2),
    "folded and again": lambda x: x.view(-1, 6).view(-1, 3).cos().view(-1, 6).view_as(x),
}

MIXED: Mapping[str, Forward] = {
    "result": lambda x: x.view(-1, 6),
    "sum of all": lambda x: x.view(-1, 6).sum(0).expand(len(x), 6),
    "product over all": lambda x: (x.view(-1, 6).T @ x.view(-1, 6)).expand(len(x), 6, 6),
    "rows of all": lambda x: (x.view(-1, 6) @ x.view(-1, 4)[:6]).view(len(x), -1),
    "softmax over all": lambda x: x.view(-1, 6).softmax(0).view_as(x),
    "norm of all": lambda x: functional.layer_norm(x.view(-1, 6), (4 * len(x), 6)).view_as(x),
    "other ones": lambda x: (x.view(-1, 6) + ROWS * len(x)).view_as(x),
    "turned": lambda x: x.view(-1, 6).flip(0).view_as(x),
    "running total": lambda x: x.view(-1, 6).cumsum(0).view_as(x),
}


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", SAME)
def test_what_works_on_entries_is_read(name: str, batch: int) -> None:
    module = Function(SAME[name]).eval()
    x = torch.rand(batch, 4, 6)
    [found] = arrays(evaluate(capture(module, x), x.double().numpy()))
    wanted = module(x).numpy()
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() < 1e-5


@pytest.mark.parametrize("name", MIXED)
def test_what_works_on_several_inputs_is_refused(name: str) -> None:
    x = torch.rand(3, 4, 6)
    with pytest.raises(CloakworkError, match="batch"):
        capture(Function(MIXED[name]).eval(), x)
