"""A scale and a shift moved from one side of a layer to the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from math import prod

import numpy as np
from numpy.polynomial import Polynomial as Monomial

from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.evaluate import applied


def after(operation: g.Operation, affine: g.Affine) -> g.Operation | None:
    """The one operation that does both, an affine map of its result last.

    Args:
        operation: The layer.
        affine: What scales and shifts its result.

    Returns:
        None where no operation does both.
    """
    scale, shift = _narrow(affine.scale), _narrow(affine.shift)
    match operation:
        case g.Linear(weight=weight, bias=bias) if _varies_only(-1, scale, shift):
            factors = scale.ravel()
            return g.Linear(weight * factors[:, None], bias * factors + shift.ravel())
        case g.Convolution(weight=weight, bias=bias) if _varies_only(0, scale, shift):
            factors = scale.ravel()
            kernels = weight * factors[:, None, None, None]
            return replace(operation, weight=kernels, bias=bias * factors + shift.ravel())
        case g.Affine():
            total = operation.shift * affine.scale + affine.shift
            return g.Affine(_narrow(operation.scale * affine.scale), _narrow(total))
        case g.Polynomial(coefficients=coefficients) if scale.size == shift.size == 1:
            first, *rest = (scale.item() * each for each in coefficients)
            return replace(operation, coefficients=(first + shift.item(), *rest))
        case _:
            return None


def before(
    operation: g.Operation, affine: g.Affine, shape: g.Shape
) -> tuple[g.Operation, g.Affine] | None:
    """What does the same as an affine map first: an operation and an affine map of its result.

    Args:
        operation: The layer.
        affine: What scales and shifts its operand.
        shape: Shape of the operand.

    Returns:
        None where the scale cannot pass the operation.
    """
    scale, shift = _narrow(affine.scale), _narrow(affine.shift)
    moved = np.broadcast_to(shift, shape)[None]
    match operation:
        case g.Linear(weight=weight) if _varies_only(-1, scale):
            factors = np.broadcast_to(scale.ravel(), weight.shape[1:])
            shifts = applied(replace(operation, bias=np.zeros(len(weight))), [moved])[0]
            return replace(operation, weight=weight * factors), _shift_by(shifts)
        case g.Convolution() if _varies_only(0, scale):
            unbiased = replace(operation, bias=np.zeros_like(operation.bias))
            shifts = applied(unbiased, [moved])[0]
            return _scaled_inputs(operation, scale.ravel()), _shift_by(shifts)
        case g.AveragePool() if _varies_only(0, scale):
            return operation, g.Affine(scale, applied(operation, [moved])[0])
        case g.Rearrange(indices=indices):
            scales = np.broadcast_to(scale, shape).ravel()[indices]
            scales = np.where(indices < 0, 1.0, scales).reshape(operation.shape)
            return operation, g.Affine(_narrow(scales), _narrow(applied(operation, [moved])[0]))
        case g.Polynomial(basis="monomial") if scale.size == shift.size == 1 and scale.all():
            return _substituted(operation, scale.item(), shift.item()), _nothing(shape)
        case _:
            return None


def passed_back(rearrange: g.Rearrange, affine: g.Affine, source: g.Shape) -> list[g.Affine] | None:
    """The affine map of a rearrangement's operand that does what one of its result does.

    Returns:
        None where an element is taken to places that are scaled or shifted differently.
    """
    moved: list[g.Array] = []
    real = rearrange.indices >= 0
    taken = rearrange.indices[real]
    for values, neutral in ((affine.scale, 1.0), (affine.shift, 0.0)):
        wanted = np.broadcast_to(values, rearrange.shape).ravel()
        own = np.full(prod(source), neutral)
        own[taken] = wanted[real]
        # A zero that was put in stays zero when scaled, not when shifted.
        zeros_stay = neutral == 1.0 or not wanted[~real].any()
        if not zeros_stay or not np.array_equal(own[taken], wanted[real]):
            return None
        moved.append(_narrow(own.reshape(source)))
    return [g.Affine(*moved)]


def parts(affine: g.Affine, shape: g.Shape, axis: int, sizes: Sequence[int]) -> list[g.Affine]:
    """An affine map of nodes beside one another, cut into one of each."""
    ends = list(accumulate(sizes))[:-1]
    cuts = (
        np.split(np.broadcast_to(values, shape), ends, axis)
        for values in (affine.scale, affine.shift)
    )
    return [g.Affine(_narrow(scale), _narrow(shift)) for scale, shift in zip(*cuts, strict=True)]


def composed(first: g.Rearrange, second: g.Rearrange) -> g.Rearrange:
    """Two rearrangements as one."""
    indices = np.where(second.indices < 0, -1, first.indices[second.indices])
    return g.Rearrange(indices, second.shape)


def _scaled_inputs(layer: g.Convolution, scale: g.Array) -> g.Convolution:
    outer, inner, *_ = layer.weight.shape
    by_group = np.broadcast_to(scale, (inner * layer.groups,)).reshape(layer.groups, inner)
    factors = np.repeat(by_group, outer // layer.groups, axis=0)
    return replace(layer, weight=layer.weight * factors[:, :, None, None])


def _substituted(polynomial: g.Polynomial, scale: float, shift: float) -> g.Polynomial:
    """The polynomial of scale * x + shift, as one of x."""
    result = Monomial(polynomial.coefficients)(Monomial([shift, scale]))
    low, high = sorted((end - shift) / scale for end in (polynomial.low, polynomial.high))
    return g.Polynomial(tuple(map(float, result.coef)), "monomial", low, high)


def _shift_by(shift: g.Array) -> g.Affine:
    return g.Affine(np.ones((1,) * shift.ndim), _narrow(shift))


def _nothing(shape: g.Shape) -> g.Affine:
    return _shift_by(np.zeros((1,) * len(shape)))


def _narrow(values: g.Array) -> g.Array:
    """The same numbers, of size 1 along every axis along which they do not differ."""
    for axis in range(values.ndim):
        first = values.take([0], axis)
        if np.array_equal(np.broadcast_to(first, values.shape), values):
            values = first
    return values


def _varies_only(axis: int, *arrays: g.Array) -> bool:
    return all(values.shape[axis] == values.size for values in arrays)
