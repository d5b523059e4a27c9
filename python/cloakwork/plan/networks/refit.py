"""Activations fitted again until their ranges and precision hold for the network they make up.

Calibration sees the exact activations. What later layers see of polynomials in their place
differs by the errors of these, which weights after them multiply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cloakwork.errors import ActivationFitError
from cloakwork.plan.networks.calibration import Calibration, calibrate
from cloakwork.plan.networks.fit import Fitted, fit
from cloakwork.plan.networks.samples import Samples, batches_of
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import applied, results

_ROUNDS = 12


def refitted(
    graph: g.Graph,
    samples: Samples,
    calibration: Calibration,
    precision: int,
    margin: float,
    degrees: Mapping[str, int] | None,
) -> tuple[Fitted, Calibration]:
    """Fit activations so that calibration inputs stay in range and results are as precise.

    Args:
        graph: A network whose input has a bound.
        samples: What it was calibrated on; where samples can be read only once, the inputs that
            the calibration retains stand for the rest.
        calibration: What the exact network's layers see.
        precision: Bits after the binary point of the results, on the inputs that the calibration
            retains; and of each activation below its largest absolute value.
        margin: As of `fit`.
        degrees: As of `fit`; where any are given, results are as precise as they come.

    Returns:
        The network with polynomials, and what its layers see, the exact network's included.
        Results are less precise where no polynomial is better; activations never are.

    Raises:
        ActivationFitError: No polynomial of an activation is as precise, or ranges do not settle.
        InvalidArgumentError: A degree is no integer from 1 to 255, or of no activation here.

    Example:
        >>> nodes = [g.node("x", g.Input((1,)), (), [])]
        >>> for name, layer in [("act", g.Activation("tanh")), ("y", g.Output())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> graph = g.build(nodes)
        >>> samples = Samples(graph, [[-2.0], [2.0]])
        >>> fitted, _ = refitted(graph, samples, calibrate(graph, samples), 8, 0.25, None)
        >>> fitted.fits[0].precision >= 8
        True
    """

    def fit_of(bits: int) -> Fitted:
        return fit(graph, calibration, bits, margin, degrees)

    fitted = fit_of(precision)
    if not any(each.error for each in fitted.fits):
        return fitted, calibration
    retained = calibration.retained
    seen = samples if samples.are_repeatable else list(batches_of(retained))
    exact = results(graph, retained)
    bits = wanted = precision
    held: Fitted | None = None
    for _ in range(_ROUNDS):
        reached = calibrate(fitted.graph, seen, _within_range)
        if _holds(fitted.graph, reached):
            held = fitted
            error = float(np.abs(results(fitted.graph, retained) - exact).max())
            if degrees or error <= 2.0**-precision or bits < wanted:
                break
            wanted = bits + math.ceil(math.log2(error) + precision)
        else:
            calibration = _joined(calibration, reached, fitted)
        bits, fitted = _closest(fit_of, wanted, precision)
    if held is not None:
        return held, calibration
    raise ActivationFitError(
        "cannot fit the activations: expected that calibration inputs stay in the ranges that they "
        "set, got others with every fit; ask for more precision, or a larger margin"
    )


def _closest(fit_of: Callable[[int], Fitted], wanted: int, least: int) -> tuple[int, Fitted]:
    """The most bits up to `wanted` that activations can be fitted with, and these fits."""
    fitted: Fitted | None = None
    bits, beyond = least - 1, wanted + 1
    tried = wanted
    while bits < tried < beyond:
        try:
            fitted = fit_of(tried)
            bits = tried
        except ActivationFitError:
            if tried == least:
                raise
            beyond = tried
        tried = (bits + beyond) // 2
    assert fitted is not None
    return bits, fitted


def _within_range(operation: g.Operation, operands: Sequence[g.Array]) -> g.Array:
    """An operation, polynomials held to their ranges, far outside of which nothing has meaning."""
    match operation:
        case g.Polynomial(low=low, high=high):
            return applied(operation, [np.clip(operands[0], low, high)])
        case _:
            return applied(operation, operands)


def _holds(graph: g.Graph, reached: Calibration) -> bool:
    """Whether no polynomial is taken out of its range."""
    lows, highs = np.array(g.operand_ranges(graph)).T
    return bool((lows <= reached.lows).all() and (reached.highs <= highs).all())


def _joined(calibration: Calibration, reached: Calibration, fitted: Fitted) -> Calibration:
    """What is seen of the exact network and of the fitted one."""
    numbers = np.array(fitted.numbers)
    return replace(
        calibration,
        lows=np.minimum(calibration.lows, reached.lows[numbers]),
        highs=np.maximum(calibration.highs, reached.highs[numbers]),
    )
