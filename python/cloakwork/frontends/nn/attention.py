"""Torch's scaled dot products of queries, keys and values."""

from __future__ import annotations

import math
from string import ascii_letters

import numpy as np

from cloakwork.frontends.nn.call import Call, array_of
from cloakwork.frontends.nn.contraction import contracted
from cloakwork.frontends.nn.norms import softmax_of_last
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g


def scaled_dot_product(call: Call) -> Term:
    """softmax(query @ key.T * scale) @ value, of elements that a known mask of booleans leaves in.

    Raises:
        UnsupportedLayerError: The mask is to be added or depends on the input, or there is dropout.
    """
    query, key, value = (call.arguments[name] for name in ("query", "key", "value"))
    if not all(isinstance(each, Term) for each in (query, key, value)):
        raise call.unsupported("known queries, keys or values; use matmul and softmax")
    if call.number("dropout_p"):
        raise call.unsupported("dropout")
    *lead, length, width = call.trace.shape(query)
    letters = ascii_letters[: len(lead) + 1]
    scale = call.arguments.get("scale")
    scale = 1.0 / math.sqrt(width) if scale is None else float(scale)
    scores = contracted(call, [letters + "LE", letters + "SE"], letters + "LS", [query, key])
    scores = call.trace.scaled(call.layer, scores, scale, 0.0)
    shape = (*lead, length, call.trace.shape(key)[-2])
    weights = softmax_of_last(call, scores, _mask(call, shape))
    return contracted(call, [letters + "LS", letters + "SV"], letters + "LV", [weights, value])


def _mask(call: Call, shape: g.Shape) -> g.Array | None:
    """Ones where a query sees a key, zeros elsewhere; None where each sees all."""
    given = call.arguments.get("attn_mask")
    if call.arguments.get("is_causal"):
        return np.broadcast_to(np.tril(np.ones(shape[-2:])), shape).copy()
    if given is None:
        return None
    if isinstance(given, Term) or str(given.dtype) != "torch.bool" or given.ndim > 2:
        raise call.unsupported(
            "a mask that is added, or differs between inputs", "give one of booleans, of two axes"
        )
    return np.broadcast_to(array_of(given), shape).copy()
