"""Torch's distances of vectors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cloakwork.frontends.nn import arithmetic
from cloakwork.frontends.nn.call import TorchCall
from cloakwork.frontends.nn.layers import reduced
from cloakwork.frontends.nn.trace import Term
from cloakwork.programs.ir import layers as g

_EUCLIDEAN = "take the Euclidean distance, p=2"


def of_pairs(call: TorchCall) -> Term:
    """The length of x1 - x2 + eps along the last axis."""
    _require_euclidean(call)
    gap = arithmetic.sum_of(call, call.arguments["x1"], call.arguments["x2"], -1.0)
    shifted = call.trace.scaled(call.layer, gap, 1.0, call.number("eps"))
    return _length(call, shifted, bool(call.arguments["keepdim"]))


def of_rows(call: TorchCall) -> Term:
    """The distance of each row of x1 to each of x2."""
    _require_euclidean(call)
    left, right = call.arguments["x1"], call.arguments["x2"]
    if not (isinstance(left, Term) and isinstance(right, Term)):
        raise call.unsupported("known rows", "write (x1[:, :, None] - x2[:, None]).norm(dim=-1)")
    shapes = call.trace.shape(left), call.trace.shape(right)
    if [len(shape) for shape in shapes] != [2, 2]:
        raise call.unsupported("another shape than (batch, rows, features)")
    (rows, size), (columns, _) = shapes
    of_left = np.broadcast_to(np.arange(rows * size).reshape(rows, 1, size), (rows, columns, size))
    of_right = np.broadcast_to(
        np.arange(columns * size).reshape(1, columns, size), (rows, columns, size)
    )
    gap = arithmetic.sum_of(
        call,
        call.append(g.Rearrange(of_left.ravel(), of_left.shape), left),
        call.append(g.Rearrange(of_right.ravel(), of_right.shape), right),
        -1.0,
    )
    return _length(call, gap, False)


def _require_euclidean(call: TorchCall) -> None:
    if (order := call.number("p")) != 2:
        raise call.unsupported(f"a distance of order {order:g}", _EUCLIDEAN)


def _length(call: TorchCall, value: Term, keepdim: bool) -> Term:
    squares = call.trace.power(call.layer, value, 2)
    name = next(iter(call.arguments))
    along = {name: squares, "dim": [-1], "keepdim": keepdim}
    total = reduced(replace(call, arguments=along), squares, 1.0)
    return call.append(g.Activation("sqrt"), total)
