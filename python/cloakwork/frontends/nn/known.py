"""Known tensors among a network's values: the same numbers for every input."""

from __future__ import annotations

from typing import Any

import numpy as np

from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall, array_of
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g


def term_of(call: TorchCall, value: Any, like: Term) -> Term:
    """A value of the network as it is; a known tensor as one that is the same for every input.

    Args:
        call: Where it is used.
        value: The value or tensor, the batch along the tensor's first axis.
        like: A value of the network with as many axes.

    Raises:
        UnsupportedLayerError: The tensor differs along the batch, has more axes, or is not finite.
    """
    if isinstance(value, Term):
        return value
    return constant(call, without_batch(call, like, array_of(value)), like)


def constant(call: TorchCall, known: g.Array, like: Term) -> Term:
    """Known numbers, without a batch, as a value of the network beside another one."""
    nothing = call.append(g.Rearrange(np.full(known.size, -1), known.shape), like)
    return call.append(g.Affine(np.ones((1,) * known.ndim), known), nothing)


def terms_of(call: TorchCall, values: list[Any]) -> list[Term]:
    """Values and known tensors, of which at least one is a value; see `term_of`."""
    for like in values:
        if isinstance(like, Term) and 0 not in call.trace.shape(like):
            return [term_of(call, value, like) for value in values]
    raise call.unsupported("no elements")


def without_batch(call: TorchCall, value: Term, known: g.Array) -> g.Array:
    """A known tensor with the value's axes but for the batch, along which it must not differ."""
    axes = len(call.trace.shape(value)) + 1
    if known.ndim > axes:
        raise call.unsupported("a known tensor with more axes than the network's")
    return first_of_batch(call, known.reshape((1,) * (axes - known.ndim) + known.shape))


def first_of_batch(call: TorchCall, known: g.Array) -> g.Array:
    """A known tensor without its first axis, the batch, along which it must not differ.

    Raises:
        UnsupportedLayerError: It differs, or is not finite.
    """
    if not np.isfinite(known).all():
        raise call.unsupported("a known tensor with NaN or an infinity", "leave it out")
    same = np.array_equal(known, np.broadcast_to(known[:1], known.shape))
    if known.shape[0] not in (1, call.batch) or not same:
        raise call.unsupported("a known tensor that differs along the batch", BATCH_FIRST)
    return np.asarray(known[0])
