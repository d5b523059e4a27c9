"""Polynomials of the elements of tensors."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.polynomial.chebyshev import chebval

from cloakwork.plan.tensors.placed import Placed, require_levels
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import (
    Add,
    Builder,
    Mul,
    Polynomial,
    Rescale,
    polynomial_depth,
)

# Whole factors up to here are made of additions, which take no level.
MOST_ADDED = 8
_WHOLE = 1e-12


def evaluated(
    builder: Builder,
    placed: Placed,
    coefficients: tuple[float, ...],
    ends: tuple[float, float],
    title: str,
) -> Placed:
    """The tensor of a polynomial's values, in the Chebyshev basis over a range.

    A whole factor takes the range to [-1, 1] by additions. Any other takes a level, and so does
    masking garbage, which a polynomial would take to numbers beyond all bounds; both together
    take one.
    """
    low, high = ends
    factor, shift = 2 / (high - low), -(high + low) / (high - low)
    whole = round(factor)
    is_free = abs(factor - whole) <= _WHOLE * factor and whole <= MOST_ADDED
    is_free = is_free and not placed.layout.garbage
    require_levels(builder, placed, polynomial_depth(coefficients) + (not is_free))
    builder.stage = title
    layout = replace(placed.layout, garbage=False)
    values = list(placed.values)
    if is_free:
        values = [_multiple(builder, value, whole) for value in values]
    else:
        values = _scaled(builder, values, layout, factor)
    if shift:
        vectors = layout.pack(np.full(layout.shape, shift))
        values = [
            builder.append(Add(value, builder.constant(vector)), layout)
            for value, vector in zip(values, vectors, strict=True)
        ]
    made = [
        builder.append(Polynomial(value, coefficients, "chebyshev"), layout) for value in values
    ]
    return Placed(tuple(_without(builder, made, layout, coefficients)), layout)


def _without(
    builder: Builder, values: list[int], layout: Layout, coefficients: tuple[float, ...]
) -> list[int]:
    """The values with 0 in slots that hold no element, where a polynomial left its value at 0."""
    at_zero = float(chebval(0.0, coefficients))
    if not at_zero:
        return values
    return [
        builder.append(Add(value, builder.constant(at_zero * (filled - 1))), layout)
        if not filled.all()
        else value
        for value, filled in zip(values, layout.occupied(), strict=True)
    ]


def _multiple(builder: Builder, value: int, factor: int) -> int:
    """A whole multiple from 1 on, by additions."""
    made = value
    for bit in bin(factor)[3:]:
        made = builder.append(Add(made, made))
        if bit == "1":
            made = builder.append(Add(made, value))
    return made


def _scaled(builder: Builder, values: list[int], layout: Layout, factor: float) -> list[int]:
    """The values times a factor, and 0 in slots that hold no element."""
    vectors = layout.pack(np.full(layout.shape, factor))
    products = [
        builder.append(Mul(value, builder.constant(vector)))
        for value, vector in zip(values, vectors, strict=True)
    ]
    return [builder.append(Rescale(each), layout) for each in products]
