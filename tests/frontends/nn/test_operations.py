"""Every operation of torch that is more than one layer here, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.nn import functional

import cloakwork as cw
from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn.function_module import Function
from tests.thoroughness import slow

# What float64 may lose.
ROUNDING = 1e-12


def randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))


MASK = randn(3, 8, 6) > 0
GROWN: dict[str, Any] = {"stride": 2, "padding": 1, "output_padding": 1, "dilation": 2}

ONE = torch.ones((), dtype=torch.float64)
HIDING = torch.full((6, 6), -torch.inf).triu(1)
PLACES = torch.tensor([2, 0])


def in_place(x: torch.Tensor) -> torch.Tensor:
    x, out = x.clone(), torch.zeros(len(x), 5, *x.shape[2:], dtype=x.dtype)
    x[:, 0] = 0.5
    x[:, 1:2].fill_(1.5)
    x[..., 2].zero_()
    x[:, :, 1] = torch.ones(6)
    out[:, 1:3] = x[:, :2]
    out[:, 0] = x[:, 2]
    out[:, -1] += x[:, 0]
    return out


def choice_of_two(x: torch.Tensor) -> torch.Tensor:
    left, right = x[:, :1], x[:, 1:2]
    return torch.where(left > right, left, right)


MODULES: dict[str, nn.Module] = {
    "mish": nn.Mish(),
    "elu": nn.ELU(),
    "steep elu": nn.ELU(1.5),
    "celu": nn.CELU(0.5),
    "selu": nn.SELU(),
    "log sigmoid": nn.LogSigmoid(),
    "glu": nn.GLU(),
    "glu of rows": nn.GLU(-2),
    "hardswish": nn.Hardswish(),
    "threshold": nn.Threshold(0.25, 0.25),
    "leaky by a choice": Function(lambda x: torch.where(x > 0, x, 0.1 * x)),
    "positive part": Function(lambda x: (x >= 0).to(x.dtype) * x),
    "square of positive numbers": Function(lambda x: torch.where(x < 0, 0.0, x**2)),
    "choice of two": Function(choice_of_two),
    "filled above": Function(lambda x: x.masked_fill(~(x <= 0.5), 0.5)),
    "hardsigmoid": nn.Hardsigmoid(),
    "relu6": nn.ReLU6(),
    "hardtanh": nn.Hardtanh(-0.5, 0.75),
    "softshrink": nn.Softshrink(0.3),
    "abs": Function(torch.abs),
    "clamp from below": Function(lambda x: x.clamp(min=-0.25)),
    "clamp from above": Function(lambda x: x.clamp(max=0.25)),
    "clamp to nothing": Function(lambda x: x.clamp(0.5, 0.25)),
    "maximum": Function(lambda x: torch.maximum(x, x.flip(-1))),
    "maximum of known": Function(torch.maximum, randn(8, 6)),
    "maximum from minus infinity": Function(torch.maximum, torch.full((3, 1, 6), -torch.inf)),
    "minimum from infinity": Function(lambda x: x.minimum(torch.full_like(x, torch.inf))),
    "minimum of known": Function(lambda x, known: torch.minimum(known, x), randn(8, 6)),
    "minimum": Function(lambda x: torch.minimum(x, 0.5 * x.flip(-1))),
    "amax": Function(lambda x: x.amax((1, -1), keepdim=True)),
    "amax of rows": Function(lambda x: x.amax(-2)),
    "max pool": nn.MaxPool2d(2),
    "max pool, padded": nn.MaxPool2d(3, stride=2, padding=1),
    "max pool, ceil": nn.MaxPool2d((3, 2), stride=(2, 3), ceil_mode=True),
    "max pool, spread": nn.MaxPool2d(2, stride=1, dilation=(3, 2)),
    "max pool of rows": nn.Sequential(nn.Flatten(2), nn.MaxPool1d(5, 3, 1)),
    "adaptive max pool": nn.AdaptiveMaxPool2d((4, 2)),
    "adaptive max pool, uneven": nn.AdaptiveMaxPool2d((5, 4)),
    "adaptive max pool of rows": nn.Sequential(nn.Flatten(2), nn.AdaptiveMaxPool1d(7)),
    "largest of all": nn.AdaptiveMaxPool2d(1),
    "transposed": nn.ConvTranspose2d(3, 2, 3),
    "transposed, all": nn.ConvTranspose2d(3, 6, (3, 2), groups=3, bias=False, **GROWN),
    "transposed, cut": nn.ConvTranspose2d(3, 2, 2, stride=3, padding=2),
    "transposed rows": nn.Sequential(nn.Flatten(2), nn.ConvTranspose1d(3, 4, 3, stride=2)),
    "in place": Function(in_place),
    "axes": Function(lambda x: x.swapaxes(1, 2).moveaxis(-1, 1).mT.rot90(1, (2, 3))),
    "parts": Function(lambda x: torch.hstack([x.tensor_split(2, -1)[1], x[:, PLACES, :, :3]])),
    "triangles": Function(lambda x: x.tril() + x.triu(1).diagonal(dim1=2, dim2=3)[:, :, None]),
    "places": Function(lambda x: x.index_select(2, PLACES) * x[:, [0, 2, 1], 3:5]),
    "repeated": Function(lambda x: torch.tile(x, (1, 2, 1, 1)).repeat_interleave(2, 2)),
    "spread": Function(lambda x: x[:, :1].expand_as(x) + x[:, :, :1].broadcast_to(x.shape)),
    "windows": Function(
        lambda x: functional.unfold(x, 3)[:, :18, :4] * x.unfold(2, 6, 1).flatten(2)[:, :1, :4]
    ),
    "shuffled": Function(lambda x: nn.ChannelShuffle(3)(functional.interpolate(x, scale_factor=2))),
    "lerp": Function(lambda x, w: torch.lerp(x, x.flip(1), 0.25) + torch.lerp(w, 2 * w, x), ONE),
    "addcmul": Function(lambda x: torch.addcmul(x, x, x.flip(-1), value=0.5)),
    "addmm": Function(lambda x, w: torch.addmm(w[0], x[:, 0, 0], w, beta=2, alpha=3), randn(6, 4)),
    "baddbmm": Function(lambda x: torch.baddbmm(x[:, 0, :, :3], x[:, 1], x[:, 2].mT[..., :3])),
    "largest of an axis": Function(lambda x: x.max(1)[0] - x.min(-1, keepdim=True).values[:, 0]),
    "largest of two": Function(lambda x, w: torch.max(x, x.flip(1)) + torch.min(x, w), ONE),
    "amin": Function(lambda x: x.amin((1, 2))),
    "softmax of some": Function(lambda x, w: (x[:, :, :6] + w).softmax(-1), HIDING),
    "softmax of the rest": Function(lambda x, w: (w.T + x[:, :, 2:]).to(x).softmax(2), HIDING),
    "softmax of what is left": Function(
        lambda x, w: x[:, :, :6].masked_fill(w < 0, -torch.inf).softmax(-1), HIDING
    ),
    "softmax beside low numbers": Function(
        lambda x, w: (
            (x[:, :, :6].masked_fill(w < 0, -1e9)).softmax(-1)
            + (x[:, :, :6] + w.clamp(min=-65504.0)).softmax(-1)
            + torch.where(w < 0, torch.finfo(x.dtype).min, x[:, :, :6]).softmax(-1)
        ),
        HIDING,
    ),
    "low numbers": Function(lambda x: torch.cat([(x - 1e5) * 2, x - 1e6], 1)),
    "softmax of numbers as low": Function(
        lambda x, w: (x + w).softmax(-1), torch.tensor([-1e4, -9999.5, -1e4, -9998, -1e4, -1e4])
    ),
    "softmax of low numbers": Function(lambda x: (x - 1e4).softmax(-1)),
    "softmax of what is chosen": Function(
        lambda x, w: torch.where(w < 0, -torch.inf, x[:, :, :6]).softmax(-1), HIDING
    ),
    "heads that see what came before": Function(
        lambda x, w: functional.scaled_dot_product_attention(x, x[:, :, :6], x[:, :, 2:], w[5:]),
        HIDING,
    ),
    "cumsum": Function(lambda x: x.cumsum(1) + x.cumsum(-1)),
    "pad by a number": Function(lambda x: functional.pad(x, (1, 2, 0, 1), value=1.5)),
    "where": Function(lambda x, mask: torch.where(mask, x, 2 * x + 1), MASK),
    "where of known": Function(lambda x, mask: torch.where(mask, 0.5, x), MASK),
    "masked": Function(lambda x, mask: x.masked_fill(mask, -2.0), MASK[:1]),
    "weights": Function(lambda x, w: torch.einsum("bchw,cd->bdhw", x, w), randn(3, 5)),
    "weights of each": Function(lambda x, w: torch.einsum("bchw,chk->bkc", x, w), randn(3, 8, 2)),
    "weights first": Function(lambda x, w: torch.einsum("oi,bi...->bo...", w, x), randn(4, 3)),
    "scaled": Function(lambda x, w: torch.einsum("bchw,wc->bwch", x, w), randn(6, 3)),
    "rows by rows": Function(lambda x: torch.einsum("bchw,bcgw->bchg", x, x)),
    "three": Function(
        lambda x, w: torch.einsum("bchw,wk,bcgk->bhg", x, w, x[..., :2]), randn(6, 2)
    ),
    "sum": Function(lambda x: torch.einsum("bchw->bw", x)),
    "broadcast": Function(lambda x: torch.einsum("bchw,bchw->bch", x, x[:, :, :1])),
    "implicit": Function(lambda x, w: torch.einsum("abcd,de", x, w), randn(6, 2)),
    "traced": Function(lambda x, w: torch.einsum("bchw,hh->bcw", x, w), randn(8, 8)),
    "attention": Function(lambda x: x @ x.transpose(-1, -2) @ x),
    "bmm": Function(lambda x: torch.bmm(x[:, 0], x[:, 1].transpose(1, 2))),
    "broadcast matmul": Function(lambda x: x[:, :1] @ x.transpose(-1, -2)),
    "known on the left": Function(lambda x, w: w @ x, randn(4, 8)),
    "known of many": Function(lambda x, w: x @ w, randn(1, 3, 6, 2)),
    "known vectors": Function(lambda x, w, v: (v @ x) @ w, randn(6), randn(8)),
}


@pytest.mark.parametrize("name", MODULES)
def test_what_is_read_computes_what_torch_does(name: str) -> None:
    module, x = MODULES[name].double().eval(), randn(2, 3, 8, 6)
    graph = capture(module, x)
    found = evaluate(graph, x.numpy())
    expected = module(x).detach().numpy()
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= ROUNDING * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize(
    "name",
    [
        "hardswish",
        "choice of two",
        "transposed, all",
        "three",
        "where",
        "masked",
        *slow("selu", "mish", "max pool"),
    ],
)
def test_ciphertexts_hold_what_torch_computes(name: str) -> None:
    module = nn.Sequential(MODULES[name], nn.Flatten()).double().eval()
    images = 0.5 * randn(20, 3, 8, 6)
    program = cw.nn.compile(module, images, precision=8, log_n=11, insecure=True)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(images[0])))
    assert np.abs(found - module(images[:1]).detach().numpy()[0]).max() < program.error


@pytest.mark.parametrize(
    ("function", "advice"),
    [
        (lambda x: torch.einsum("bchw,cbhw->bhw", x, x.expand(-1, -1, -1, -1)), "the batch"),
        (lambda x: torch.einsum("bchw->chwb", x), "the batch"),
        (lambda x: torch.einsum("bchh->bc", x[..., :6, :]), "diagonal"),
        (lambda x: torch.where(x > 0, x, 1.0), "are equal where the comparison turns over"),
        (lambda x: torch.where(x > 0, x, x.exp()), "got where .*smooth function"),
        (lambda x: x > 0, "got gt .a comparison"),
        (lambda x: x + (x > 0), "got add .a comparison"),
        (lambda x: (x > 0).sum(1), "got sum .a comparison"),
        (lambda x: (x > 0).int() * x, "got to .a result of torch.int32"),
        (lambda x: (x > 0) * (x > 1) * x, "got mul .a result of torch.bool"),
        (lambda x: functional.threshold(x, 0.5, 0.0), "got threshold"),
        (lambda x: x * (x == 0), "cannot be compared but where"),
        (
            lambda x: x[:, :0].sum(1) + x.sum(1),
            "got sum .a sum or mean of no elements.*leave it out",
        ),
        (lambda x: x.amax(0), "over the batch"),
        (lambda x: x.cumsum(0), "over the batch"),
        (lambda x: x.masked_fill(torch.ones(6, dtype=torch.bool), float("inf")), "an infinity"),
        (lambda x: functional.adaptive_max_pool2d(x, (0, 1)), "no windows"),
    ],
)
def test_what_cannot_be_read_is_refused_by_name(
    function: Callable[[torch.Tensor], torch.Tensor], advice: str
) -> None:
    with pytest.raises(cw.errors.UnsupportedLayerError, match=advice):
        capture(Function(function).eval(), randn(3, 3, 8, 6))
