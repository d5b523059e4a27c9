"""The levels that a network takes at the least, known before anything is fitted or planned.

A program of D levels computes polynomials of degree at most 2^D of its inputs. So an activation
that no polynomial of degree 2^D approximates takes more than D levels, whatever replaces it. How
near polynomials of a degree come is bounded from below by the error at the extremes of a
Chebyshev polynomial (de la Vallée Poussin; Trefethen, Approximation Theory and Approximation
Practice, chapter 10), which costs one sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cloakwork._native import Parameters
from cloakwork.errors import (
    InsecureParametersError,
    InvalidParametersError,
    LevelExhaustedError,
)
from cloakwork.plan.networks.calibration import Calibration
from cloakwork.plan.networks.fit import checked_degrees
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.parameters.ckks import LONGEST_WORD_BITS
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g

# Bits above the scale that every network's moduli have.
MIN_HEADROOM = 20

# Activations of more levels have so many that their exact number does not matter.
_MAX_DEPTH = 20
_SAMPLES = 1001


@dataclass(frozen=True, slots=True)
class Depth:
    """The levels below the inputs at which a layer's result stands, at the least.

    Args:
        layer: The name of the layer.
        levels: The levels.
    """

    layer: str
    levels: int


def least_depths(graph: g.Graph, activations: Mapping[int, int]) -> list[Depth]:
    """For each layer the levels below the inputs at which its result stands, at the least.

    Example:
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> for name, layer in [("dense", g.LinearLayer(np.ones((2, 2)), np.zeros(2))),
        ...                     ("act", g.Activation("relu")), ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> [depth.levels for depth in least_depths(g.build(nodes), {2: 14})]
        [0, 1, 15, 15]
    """
    # For each layer the levels of the last nonlinear layer before it, and whether a product with
    # a matrix follows: such products in sequence become one.
    found: list[tuple[int, bool]] = []
    for number, node in enumerate(graph.nodes):
        levels, has_product = max((found[each] for each in node.inputs), default=(0, False))
        match node.operation:
            case g.Activation():
                levels, has_product = levels + has_product + activations[number], False
            case g.PolynomialLayer(coefficients=coefficients):
                powers = (power for power, each in enumerate(coefficients) if each)
                depth = _degree_depth(max(powers, default=1))
                levels, has_product = levels + has_product + depth, False
            case g.Multiply():
                levels, has_product = levels + has_product + 1, False
            case g.Contraction():
                # What is summed is multiplied by a matrix after.
                levels, has_product = levels + has_product + 1, True
            case operation:
                has_product = has_product or _mixes(operation)
        found.append((levels, has_product))
    return [
        Depth(node.name, levels + has_product)
        for node, (levels, has_product) in zip(graph.nodes, found, strict=True)
    ]


def activation_depths(
    graph: g.Graph, calibration: Calibration, options: NetworkOptions, growth_bits: int
) -> dict[int, int]:
    """For the number of each activation the levels that it takes at the least.

    Example:
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> nodes = [g.node("x", g.InputLayer((2,)), (), [])]
        >>> for name, layer in [("act", g.Activation("relu")), ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> graph = g.build(nodes)
        >>> calibration = calibrate(graph, [np.array([[-2.0, 1.0], [2.0, 1.0]])])
        >>> activation_depths(graph, calibration, NetworkOptions(), growth_bits=0)
        {1: 8}
    """
    degrees = checked_degrees(graph, options.degrees)
    depths: dict[int, int] = {}
    for number, node in enumerate(graph.nodes):
        if isinstance(node.operation, g.Activation):
            degree = degrees.get(node.name, degrees.get(node.operation.function))
            [operand] = node.inputs
            if degree is not None:
                # A fit of an even or odd function may lack its highest power.
                depths[number] = _degree_depth(degree - 1)
            elif calibration.lows[operand] < calibration.highs[operand]:
                ends = calibration.widened_for(node, options.margin)
                bits = options.precision - growth_bits
                depths[number] = _activation_depth(node.operation, *ends, bits)
            else:
                depths[number] = 1
    return depths


def require_levels_of_layers(
    depths: Sequence[Depth], options: NetworkOptions, *, exact: bool
) -> None:
    """Refuse a network that takes more levels than its largest ring has."""
    deepest = max(each.levels for each in depths)
    log_n = options.rings[-1]
    try:
        parameters_of_levels(deepest, options.scale_bits, MIN_HEADROOM, log_n, options.insecure)
    except InvalidParametersError as refusal:
        available = _available_levels(deepest, options)
        if available is None:
            raise refusal_kind(refusal, options)(
                f"cannot compile {options.title} at a precision of {options.precision} bits: "
                f"{refusal}; ask for less precision, or another ring"
            ) from refusal
        layer = next(each for each in depths if each.levels > available)
        more = "" if exact else " or more"
        # Where the ring is asked for, it may have no bootstrapping.
        is_left_out = options.bootstrap is False and options.log_n is None
        advice = "allow it to bootstrap, or use" if is_left_out else "use"
        raise LevelExhaustedError(
            f"cannot compile {options.title}: layer {layer.layer!r} ends {layer.levels} levels"
            f"{more} below the inputs and the network takes {deepest}{more}, but at log_n={log_n} "
            f"and a precision of {options.precision} bits there are {available}; {advice} "
            "activations of lower degree, fewer layers, less precision, or a larger ring"
        ) from refusal


def refusal_kind(
    refusal: InvalidParametersError, options: NetworkOptions
) -> type[InvalidParametersError]:
    """What a network is refused with that has no parameters: insecure ones, where it asks for a
    ring that is too small.

    Where the ring is free, the largest was tried, and no secure one would do.
    """
    asked = options.log_n is not None
    insecure = asked and isinstance(refusal, InsecureParametersError)
    return InsecureParametersError if insecure else InvalidParametersError


@lru_cache(maxsize=256)
def parameters_of_levels(
    levels: int,
    scale_bits: int,
    headroom_bits: int,
    log_n: int,
    insecure: bool,
    word_bits: int = LONGEST_WORD_BITS,
) -> Parameters:
    """Parameters of so many levels, made once."""
    return Parameters(
        levels=levels,
        scale_bits=scale_bits,
        headroom_bits=headroom_bits,
        log_n=log_n,
        insecure=insecure,
        word_bits=word_bits,
    )


def _available_levels(too_many: int, options: NetworkOptions) -> int | None:
    """The most levels that the largest ring has; None where it has not even one."""

    def exist(levels: int) -> bool:
        try:
            parameters_of_levels(
                levels, options.scale_bits, MIN_HEADROOM, options.rings[-1], options.insecure
            )
        except InvalidParametersError:
            return False
        return True

    if too_many <= 1 or not exist(1):
        return None
    most = 1
    while too_many - most > 1:
        middle = (most + too_many) // 2
        most, too_many = (middle, too_many) if exist(middle) else (most, middle)
    return most


def _mixes(operation: g.Operation) -> bool:
    """Whether a layer is a sum of several elements, which takes a product with a matrix."""
    match operation:
        case g.LinearLayer(weight=weight) | g.ConvolutionLayer(weight=weight):
            taken = np.count_nonzero(weight.reshape(len(weight), -1), axis=1)
            return bool(taken.min() > 1)
        case g.AveragePool(kernel=kernel):
            return min(kernel) > 1
        case _:
            return False


def _degree_depth(degree: int) -> int:
    """The levels of one polynomial at the least: a square takes one."""
    return 1 if degree == 2 else max(1, degree.bit_length())


def _activation_depth(activation: g.Activation, low: float, high: float, bits: int) -> int:
    """The levels that a precision of so many bits takes at the least."""
    middle, half = (high + low) / 2, (high - low) / 2

    def value(t: g.Array) -> g.Array:
        return FUNCTIONS[activation.function].value(half * t + middle, *activation.parameters)

    largest = float(np.abs(value(np.linspace(-1.0, 1.0, _SAMPLES))).max())
    for depth in range(1, _MAX_DEPTH):
        # Smooth activations are one polynomial each, others may be a composition.
        degree = (1 << depth) - (depth > 1 and not FUNCTIONS[activation.function].corner)
        # Of an even or an odd function one of two degrees in sequence shows no error.
        if max(_least_error(value, degree + more) for more in (0, 1)) <= largest * 2.0**-bits:
            return depth
    return _MAX_DEPTH


def _least_error(function: Callable[[g.Array], g.Array], degree: int) -> float:
    """A bound from below on the largest error of any polynomial of a degree, over [-1, 1]."""
    points = np.cos(np.pi * np.arange(degree + 2) / (degree + 1))
    signed = function(points)
    signed[1::2] *= -1
    signed[[0, -1]] /= 2
    return abs(float(signed.sum())) / (degree + 1)
