"""Activations fitted again until their ranges and precision hold for the whole network.

Calibration runs the exact activations. Polynomials in their place have errors, which the
weights after them multiply, so later layers receive other numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from cloakwork.errors import ActivationFitError
from cloakwork.plan.networks.calibration import Calibration, calibrate, not_above_zero
from cloakwork.plan.networks.fit import Fitted, fit
from cloakwork.plan.networks.samples import Samples, batches_of
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import applied, results

_ROUNDS = 12
# Of precision, where functions of positive numbers receive others.
_MORE_BITS = 3


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
        calibration: The ranges of the exact network's numbers.
        precision: Bits after the binary point of the results, on the inputs that the calibration
            retains; and of each activation below its largest absolute value.
        margin: As of `fit`.
        degrees: As of `fit`; where any are given, results are as precise as they come.

    Returns:
        The network with polynomials, and the ranges of its layers' numbers and the exact
        network's.
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
    batches = samples if samples.are_repeatable else list(batches_of(retained))
    exact = results(graph, retained)
    bits = asked = precision
    valid: Fitted | None = None
    for _ in range(_ROUNDS):
        received = calibrate(fitted.graph, batches, _within_range)
        if _is_within_ranges(fitted.graph, received):
            valid = fitted
            error = float(np.abs(results(fitted.graph, retained) - exact).max())
            if degrees or error <= 2.0**-precision or bits < asked:
                break
            asked = bits + math.ceil(math.log2(error) + precision)
        elif not_above_zero(graph, joined := _joined(calibration, received, fitted)):
            # Polynomials before it are off by more than all of the number.
            asked = bits + _MORE_BITS
        else:
            calibration = joined
        bits, fitted = _most_precise(fit_of, asked, precision)
    if valid is not None:
        return valid, calibration
    raise ActivationFitError(
        "cannot fit the activations: expected that calibration inputs stay in the ranges that they "
        "set, got others with every fit; ask for more precision, or a larger margin"
    )


def _most_precise(fit_of: Callable[[int], Fitted], asked: int, least: int) -> tuple[int, Fitted]:
    """The most bits up to those asked that activations can be fitted with, and the fits."""
    fitted: Fitted | None = None
    bits, beyond = least - 1, asked + 1
    tried = asked
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
    """An operation, its operands clipped to the ranges that it expects."""
    ranges = g.expected_ranges(operation)
    if ranges:
        operands = [np.clip(each, *ends) for each, ends in zip(operands, ranges, strict=True)]
    return applied(operation, operands)


def _is_within_ranges(graph: g.Graph, received: Calibration) -> bool:
    """Whether no layer receives numbers outside its range."""
    lows, highs = np.array(g.operand_ranges(graph)).T
    return bool((lows <= received.lows).all() and (received.highs <= highs).all())


def _joined(calibration: Calibration, received: Calibration, fitted: Fitted) -> Calibration:
    """The ranges of the exact network's numbers and of the fitted one's."""
    numbers = np.array(fitted.numbers)
    return replace(
        calibration,
        lows=np.minimum(calibration.lows, received.lows[numbers]),
        highs=np.maximum(calibration.highs, received.highs[numbers]),
    )
