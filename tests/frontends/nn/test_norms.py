"""Norms over features, softmax and attention, against torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.utils._pytree import tree_map

import cloakwork as cw
from cloakwork.errors import ActivationFitError, NotFiniteError, UnsupportedLayerError
from cloakwork.frontends.nn.attention import with_batch_first
from tests.frontends.nn.function_module import Function
from tests.frontends.nn.results import arrays
from tests.thoroughness import slow

SAMPLES = 64


class Attention(nn.Module):
    """Several heads, whose queries, keys and values all depend on the input."""

    def __init__(self, width: int, heads: int, *, causal: bool = False) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.projections = nn.Linear(width, 3 * width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        split = batch, length, self.heads, width // self.heads
        parts = self.projections(x).chunk(3, dim=-1)
        query, key, value = (part.reshape(split).transpose(1, 2) for part in parts)
        found = functional.scaled_dot_product_attention(query, key, value, is_causal=self.causal)
        result: torch.Tensor = self.norm(x + found.transpose(1, 2).reshape(x.shape))
        return result


def inputs(*shape: int) -> torch.Tensor:
    return torch.rand(SAMPLES, *shape, generator=torch.Generator().manual_seed(0)) * 2 - 1


def trained(module: nn.Module) -> nn.Module:
    """With weights of norms that are not ones."""
    generator = torch.Generator().manual_seed(1)
    for parameter in module.parameters():
        parameter.data += 0.2 * torch.rand(parameter.shape, generator=generator)
    return module.eval()


MODULES: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "layer_norm": (lambda: nn.LayerNorm(8), (8,)),
    "layer_norm_of_two_axes": (lambda: nn.LayerNorm((3, 4), elementwise_affine=False), (2, 3, 4)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (4, 2, 3)),
    "instance_norm": (lambda: nn.InstanceNorm2d(2, affine=True), (2, 2, 3)),
    "known_instance_norm": (lambda: nn.InstanceNorm1d(2, track_running_stats=True), (2, 3)),
    "rms_norm": (lambda: nn.RMSNorm(8), (8,)),
    "rms_norm_of_two_axes": (lambda: nn.RMSNorm((2, 3), eps=0.1), (2, 2, 3)),
    "softmax": (lambda: nn.Softmax(dim=-1), (2, 6)),
    "softmax_of_channels": (lambda: nn.Softmax(dim=1), (3, 4)),
    "exp": (lambda: Function(torch.exp), (5,)),
    "reciprocal": (lambda: Function(lambda x: torch.reciprocal(x + 3)), (5,)),
    "rsqrt": (lambda: Function(lambda x: torch.rsqrt(x * x + 0.5)), (5,)),
    "attention": (lambda: Attention(8, 2), (4, 8)),
    "causal_attention": (lambda: Attention(8, 2, causal=True), (4, 8)),
}


# They differ little from others here.
ALIKE = (
    "attention",
    "instance_norm",
    "rms_norm_of_two_axes",
    "group_norm",
    "layer_norm",
    "softmax_of_channels",
)


@pytest.mark.parametrize("name", [*(name for name in MODULES if name not in ALIKE), *slow(*ALIKE)])
def test_in_the_clear_they_are_what_torch_computes(name: str) -> None:
    torch.manual_seed(2)
    make, shape = MODULES[name]
    module, x = trained(make()), inputs(*shape)
    program = cw.nn.compile(module, x, precision=10, log_n=12, insecure=True)
    expected = module(x).detach().numpy()
    found = np.stack([program.run_clear(each) for each in x[:8]])
    assert np.abs(found - expected[:8]).max() < 2.0**-8


@pytest.mark.parametrize("name", ["layer_norm", "softmax"])
def test_on_ciphertexts_they_are_what_torch_computes(name: str) -> None:
    torch.manual_seed(2)
    make, shape = MODULES[name]
    module, x = trained(make()), inputs(*shape)
    program = cw.nn.compile(module, x, precision=10, log_n=12, insecure=True)
    expected = module(x[:1]).detach().numpy()[0]
    assert np.abs(program.run(x[0]) - expected).max() < 2.0**-8


def causal_softmax(x: torch.Tensor) -> torch.Tensor:
    mask = torch.full((4, 4), -torch.inf).triu(1)
    return (12 * x + mask).softmax(-1)


def spread_attention(x: torch.Tensor) -> torch.Tensor:
    return functional.scaled_dot_product_attention(6 * x, 6 * x, x)


FAR = {
    "one_axis": lambda x: (15 * x).softmax(1),
    "masked": causal_softmax,
    "attention": spread_attention,
    "used_twice": lambda x: (12 * x).softmax(-1) + (14 * x).softmax(-1) * x,
}


@pytest.mark.parametrize("name", FAR)
def test_a_softmax_may_be_of_scores_that_lie_far_apart(name: str) -> None:
    torch.manual_seed(3)
    module, x = Function(FAR[name]).eval(), inputs(4, 4)
    program = cw.nn.compile(module, x, precision=6, log_n=9, bootstrap=True, insecure=True)
    expected = module(x).detach().numpy()
    simulated = [program.simulate(each) for each in x]
    assert all(each.outside == () for each in simulated)
    found = np.stack([each.outputs for each in simulated])
    assert np.abs(found - expected).max() < 2.0**-6
    assert np.abs(program.run(x[0]) - expected[0]).max() < 2.0**-6


def test_the_noise_of_a_softmax_is_estimated_where_no_score_wins() -> None:
    torch.manual_seed(2)
    module, x = nn.Softmax(1).eval(), 6 * torch.randn(400, 6)
    program = cw.nn.compile(module, x, precision=8, log_n=12, bootstrap=False, insecure=True)
    assert program.scheme.parameters.scale_bits < 40
    errors = [
        np.abs(program.simulate(each).outputs - exact.numpy()).max()
        for each, exact in zip(x[:60], module(x[:60]), strict=True)
    ]
    assert max(errors) < 2.0**-8


def test_a_softmax_may_be_of_inputs_that_are_all_as_peaked() -> None:
    x = 30 * torch.eye(10)[:8] - 15
    module = nn.Softmax(1).eval()
    program = cw.nn.compile(module, x, precision=8, log_n=9, bootstrap=True, insecure=True)
    assert np.abs(program.simulate(x[3]).outputs - module(x[3:4])[0].numpy()).max() < 2.0**-8


def test_a_reciprocal_of_what_may_be_zero_is_refused() -> None:
    with pytest.raises(ActivationFitError, match="expected numbers above 0"):
        cw.nn.compile(Function(torch.reciprocal).eval(), inputs(4), log_n=12, insecure=True)


class Heads(nn.Module):
    """Torch's own layer of several heads, of queries of the input and keys of a function of it."""

    def __init__(self, mask: torch.Tensor | None = None, **options: Any) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True, **options)
        self.mask = mask

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = 0.5 - x[:, 1:]
        keys, values = y[..., : self.layer.kdim], y[..., : self.layer.vdim]
        found: torch.Tensor = self.layer(x, keys, values, attn_mask=self.mask)[0]
        return found


class Weights(nn.Module):
    """What each head looks at."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights: torch.Tensor = self.layer(x, x, x)[1]
        return weights


class Padded(nn.Module):
    """Torch's own layer of several heads, of sequences whose last element is padding."""

    def __init__(self, mask: torch.Tensor | None = None) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(8, 2, batch_first=True)
        self.mask = mask

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        padding = torch.arange(4).expand(len(x), 4) == 3
        mask = None if self.mask is None else self.mask.repeat(len(x), 1, 1)
        if mask is not None and mask.is_floating_point():
            # Torch asks for two masks of one kind.
            padding = torch.where(padding, -torch.inf, 0.0)
        found: tuple[torch.Tensor, torch.Tensor] = self.layer(x, x, x, padding, attn_mask=mask)
        return found


class PaddedEncoder(nn.Module):
    """Torch's own encoder, of sequences whose second element is padding."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = encoder(norm_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        padding = torch.tensor([[False, True, False, False]]).expand(len(x), -1)
        found: torch.Tensor = self.layer(x, src_key_padding_mask=padding)
        return found


def encoder(**options: Any) -> nn.TransformerEncoderLayer:
    return nn.TransformerEncoderLayer(8, 2, 12, batch_first=True, **options)


BOOLEANS = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 1]], dtype=torch.bool)
NUMBERS = torch.tensor([[-0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.5, 0.0, 0.5], [0.0, -1.0, 0.0]])
# One mask for each of two heads.
EACH = torch.stack([torch.ones(4, 4).triu(1), torch.eye(4)])
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "heads": Heads,
    "heads_without_biases": lambda: Heads(bias=False),
    "heads_of_other_widths": lambda: Heads(kdim=6, vdim=4),
    "heads_with_a_mask_of_booleans": lambda: Heads(BOOLEANS),
    "heads_with_a_mask_that_is_added": lambda: Heads(NUMBERS),
    "encoder": lambda: encoder(activation="gelu"),
    "encoder_with_the_norm_first": lambda: encoder(activation="gelu", norm_first=True),
    "encoders": lambda: nn.TransformerEncoder(encoder(), 2, enable_nested_tensor=False),
    "heads_with_their_weights": Weights,
    "heads_with_a_padding": Padded,
    "heads_with_a_padding_and_a_mask_each": lambda: Padded(EACH > 0),
    "heads_with_a_padding_and_an_added_mask_each": lambda: Padded(EACH),
    "heads_with_a_padding_by_a_large_number": lambda: Padded(-1e9 * EACH),
    "encoder_with_a_padding": PaddedEncoder,
}
FEW = ("heads_with_a_mask_that_is_added", "heads_with_a_padding_and_a_mask_each")
FURTHER = (
    "heads_with_a_padding",
    "heads_with_a_padding_and_an_added_mask_each",
    "heads_with_a_padding_by_a_large_number",
)


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_of_several_heads_is_written_with_the_batch_first(name: str) -> None:
    torch.manual_seed(3)
    module, x = trained(LAYERS[name]()), inputs(4, 8)
    written = with_batch_first(module)
    # Without gradients torch computes its encoders by one operation, whatever its layers' forward.
    found, expected = (tree_map(torch.Tensor.detach, each(x)) for each in (written, module))
    for own, wanted in zip(arrays(found), arrays(expected), strict=True):
        assert np.abs(own - wanted).max() < 1e-6
    assert all(
        own is other for own, other in zip(module.parameters(), written.parameters(), strict=True)
    )


@pytest.mark.parametrize(
    "name", [*FEW, *slow("heads", "encoder", "encoder_with_a_padding", *FURTHER)]
)
def test_layers_of_several_heads_in_the_clear_are_what_torch_computes(name: str) -> None:
    torch.manual_seed(3)
    module, x = trained(LAYERS[name]()), inputs(4, 8)
    program = cw.nn.compile(module, x, precision=10, log_n=12, insecure=True)
    for each in x[:4]:
        with torch.no_grad():
            expected = arrays(module(each[None]))
        for own, wanted in zip(arrays(program.run_clear(each)), expected, strict=True):
            assert np.abs(own - wanted[0]).max() < 2.0**-8


@pytest.mark.parametrize(
    "padding", [lambda x: x[..., 0] > 0, lambda x: torch.arange(len(x) * 4).reshape(-1, 4) == 5]
)
def test_a_padding_that_differs_between_inputs_is_refused(
    padding: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    class Differing(Heads):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.layer(x, x, x, key_padding_mask=padding(x))[0]
            return found

    with pytest.raises(UnsupportedLayerError, match="layer"):
        cw.nn.compile(Differing().eval(), inputs(4, 8), log_n=12, insecure=True)


@pytest.mark.parametrize("mask", [torch.full((4, 4), -torch.inf), torch.full((4, 4), torch.nan)])
def test_a_mask_that_leaves_no_key_is_refused(mask: torch.Tensor) -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        hidden = torch.where(torch.ones(4, 4) > 0, mask.sum() * torch.ones(4, 4), 0.0)
        return functional.scaled_dot_product_attention(x, x, x, attn_mask=hidden)

    with pytest.raises((UnsupportedLayerError, NotFiniteError)):
        cw.nn.compile(Function(attend).eval(), inputs(4, 8), log_n=12, insecure=True)
