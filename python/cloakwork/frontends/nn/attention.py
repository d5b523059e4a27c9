"""Torch's scaled dot products of queries, keys and values, and its layers of several heads."""

from __future__ import annotations

import copy
import math
from itertools import chain
from string import ascii_letters
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork.frontends.nn.call import TorchCall, array_of
from cloakwork.frontends.nn.contraction import contracted_terms
from cloakwork.frontends.nn.masked import held_apart
from cloakwork.frontends.nn.norms import softmax_of_last
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

if TYPE_CHECKING:
    import torch


def scaled_dot_product(call: TorchCall) -> Term:
    """softmax(query @ key.T * scale + mask) @ value, of elements that a known mask leaves in.

    Raises:
        UnsupportedLayerError: The mask depends on the input, or there is dropout.
    """
    query, key, value = (call.arguments[name] for name in ("query", "key", "value"))
    if not any(isinstance(each, Term) for each in (query, key)):
        raise call.unsupported("known queries and keys; use matmul and softmax")
    if call.number("dropout_p"):
        raise call.unsupported("dropout")
    *lead, length, width = _shape(call, query)
    letters = ascii_letters[: len(lead) + 1]
    scale = call.arguments.get("scale")
    scale = 1.0 / math.sqrt(width) if scale is None else float(scale)
    scores = contracted_terms(call, [letters + "LE", letters + "SE"], letters + "LS", [query, key])
    scores = call.trace.scaled(call.layer, scores, scale, 0.0)
    shape = (*lead, length, _shape(call, key)[-2])
    mask = _mask(call, shape)
    seen = np.isfinite(mask)
    shift = np.where(seen, mask, 0.0)
    if shift.any():
        scores = call.append(g.Affine(np.ones((1,) * shift.ndim), shift), scores)
    weights = softmax_of_last(call, scores, None if seen.all() else seen.astype(np.float64))
    return contracted_terms(
        call, [letters + "LS", letters + "SV"], letters + "LV", [weights, value]
    )


def _shape(call: TorchCall, operand: Any) -> g.Shape:
    """The shape of a value, or of a known tensor, without the batch."""
    return call.trace.shape(operand) if isinstance(operand, Term) else tuple(operand.shape[1:])


def _mask(call: TorchCall, shape: g.Shape) -> g.Array:
    """What is added to the scores: minus infinity where a query does not see a key."""
    given = call.arguments.get("attn_mask")
    if call.arguments.get("is_causal"):
        mask = np.where(np.tril(np.ones(shape[-2:])), 0.0, -np.inf)
    elif given is None:
        mask = np.zeros(shape[-2:])
    elif isinstance(given, Term):
        raise call.unsupported("a mask that depends on the input", "give it as a known tensor")
    else:
        mask = array_of(given)
        if mask.ndim > len(shape):
            # Its first axis is the batch.
            if not np.array_equal(mask, np.broadcast_to(mask[:1], mask.shape), equal_nan=True):
                raise call.unsupported("a mask that differs between inputs", "give all one mask")
            mask = mask[0]
        if str(given.dtype) == "torch.bool":
            mask = np.where(mask, 0.0, -np.inf)
    added, hidden = held_apart(mask)
    mask = np.where(hidden, -np.inf, added)
    if not (np.isfinite(mask) | np.isneginf(mask)).all() or np.isneginf(mask).all(axis=-1).any():
        raise call.unsupported(
            "a mask that leaves a query no key, or is NaN or infinite", "leave each query a key"
        )
    return np.broadcast_to(mask, shape).copy()


def with_batch_first(module: torch.nn.Module) -> torch.nn.Module:
    """The same network, its layers of several heads written so that the batch stays first.

    Torch's own move the batch behind the sequence, where operations would mix inputs. What a layer
    has that is not written here, such as biases as further keys, keeps torch's way.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> layer = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
    >>> x = torch.ones(3, 5, 4)
    >>> bool(torch.allclose(with_batch_first(layer)(x, x, x)[0], layer(x, x, x)[0]))
    True
    """
    import torch  # noqa: PLC0415

    if not any(isinstance(part, torch.nn.MultiheadAttention) for part in module.modules()):
        return module
    shared = {id(each): each for each in chain(module.parameters(), module.buffers())}
    copied = copy.deepcopy(module, shared)
    for part in copied.modules():
        if isinstance(part, torch.nn.MultiheadAttention) and _is_written_here(part):
            # Of this one layer, whose class stays torch's.
            vars(part)["forward"] = MethodType(_several_heads, part)
    return copied


def _is_written_here(layer: torch.nn.MultiheadAttention) -> bool:
    plain = layer.bias_k is None and layer.bias_v is None and not layer.add_zero_attn
    return plain and layer.batch_first and not (layer.dropout and layer.training)


def _several_heads(
    layer: torch.nn.MultiheadAttention,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    key_padding_mask: torch.Tensor | None = None,
    need_weights: bool = True,
    attn_mask: torch.Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Torch's forward of nn.MultiheadAttention for three axes."""
    from torch.nn import functional  # noqa: PLC0415

    if query.ndim != 3 or (is_causal and attn_mask is None):
        return type(layer).forward(
            layer,
            query,
            key,
            value,
            key_padding_mask,
            need_weights,
            attn_mask,
            average_attn_weights,
            is_causal,
        )
    joint = layer.in_proj_weight
    apart = (layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight)
    projections = apart if joint is None else joint.chunk(3)
    biases = (None,) * 3 if layer.in_proj_bias is None else layer.in_proj_bias.chunk(3)

    def heads(given: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None) -> torch.Tensor:
        made = functional.linear(given, weight, bias)
        return made.reshape(*made.shape[:-1], layer.num_heads, layer.head_dim).transpose(1, 2)

    q, k, v = map(heads, (query, key, value), projections, biases)
    mask = None if attn_mask is None else _added(attn_mask)
    if mask is not None and mask.ndim == 3:
        mask = mask.reshape(len(query), layer.num_heads, *mask.shape[1:])
    if key_padding_mask is not None:
        padding = _added(key_padding_mask)[:, None, None, :]
        mask = padding if mask is None else mask + padding
    made = functional.scaled_dot_product_attention(q, k, v, mask)
    found = layer.out_proj(made.transpose(1, 2).flatten(-2))
    if not need_weights:
        return found, None
    scores = q @ k.transpose(-2, -1) / math.sqrt(layer.head_dim)
    if mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    return found, weights.mean(1) if average_attn_weights else weights


def _added(mask: torch.Tensor) -> torch.Tensor:
    """What a mask of torch's layer adds to scores: it leaves out what a boolean one marks."""
    import torch  # noqa: PLC0415

    return mask if mask.is_floating_point() else torch.where(mask, -torch.inf, 0.0)
