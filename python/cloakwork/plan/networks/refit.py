"""Activations fitted again until their ranges and precision hold for the whole network.

Calibration runs the exact activations. Polynomials in their place have errors, which the
weights after them multiply, so later layers receive other numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from cloakwork.errors import ActivationFitError
from cloakwork.plan.networks.calibration import Calibration, not_above_zero
from cloakwork.plan.networks.fit import ActivationFit, Fitted, fit
from cloakwork.plan.networks.samples import Samples
from cloakwork.plan.networks.trials import Trial, TriedInputs
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g

_ROUNDS = 12
# Rounds after which ranges that still widen do so by errors, of which more bits leave less.
_WIDENED = 4
# Of precision, where functions of positive numbers receive others, or any too large ones.
_MORE_BITS = 3
# Levels of a polynomial of degree 3.
_LEAST_DEPTH = 2
# What fits of polynomials that the network had are called.
_EXACT = "polynomial"


def refitted(
    graph: g.Graph,
    samples: Samples,
    calibration: Calibration,
    precision: int,
    margin: float,
    degrees: Mapping[str, int] | None,
) -> tuple[Fitted, Calibration]:
    """Fit activations so that calibration inputs stay in range and results are as precise.

    A polynomial has the least degree that is precise enough, or all of the degree that one level
    less allows where results are as precise with these: bits are asked of every activation alike,
    and those that matter little may have fewer.


    Example:
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> nodes = [g.node("x", g.InputLayer((1,)), (), [])]
        >>> for name, layer in [("act", g.Activation("tanh")), ("y", g.OutputLayer())]:
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
    others = samples if samples.are_repeatable and not calibration.has_all else ()
    inputs = TriedInputs.of(graph, calibration.retained, others)
    exact, bits, asked = calibration, precision, precision
    valid: tuple[Fitted, Calibration, int] | None = None
    for number in range(_ROUNDS):
        tried = inputs.trial(fitted.graph)
        is_within = tried.is_within(fitted.graph)
        valid = (fitted, calibration, bits) if is_within else valid
        may_be_better = not degrees and tried.error > 2.0**-precision and bits == asked
        if is_within and not may_be_better:
            break
        if may_be_better:
            # Ranges that rougher polynomials needed are wider than those of better ones.
            lacking = math.ceil(math.log2(tried.error) + precision)
            calibration, asked = exact, bits + lacking
        elif not_above_zero(graph, joined := _joined(calibration, tried, fitted)):
            # Polynomials before it are off by more than all of the number.
            asked = bits + _MORE_BITS
        else:
            calibration = joined
            asked += int(number >= _WIDENED)
        try:
            bits, fitted = _most_precise(fit_of, asked, precision)
        except ActivationFitError:
            if calibration is exact:
                raise
            # What rough polynomials make of numbers is beyond every other polynomial.
            calibration, asked = exact, asked + _MORE_BITS
            bits, fitted = _most_precise(fit_of, asked, precision)
    if valid is None:
        raise ActivationFitError(
            "cannot fit the activations: expected that calibration inputs stay in the ranges that "
            "they set, got others with every fit; ask for more precision, or a larger margin"
        )
    fitted, calibration, bits = valid
    if degrees:
        return fitted, calibration

    def fit_again(
        seen: Calibration, of_nodes: Mapping[int, int]
    ) -> tuple[Fitted, Calibration] | None:
        def fit_to(ranges: Calibration) -> Fitted | None:
            made = fit(graph, ranges, bits, margin, of_nodes=of_nodes)
            return made if min(each.precision for each in made.fits) >= precision else None

        # Whatever a few refuse is tried on no others.
        few = _settled(fit_to, graph, seen, inputs.few(), 2.0**-precision)
        return few and _settled(fit_to, graph, few[1], inputs, 2.0**-precision)

    return _shallower(graph, fitted, calibration, fit_again)


def _shallower(
    graph: g.Graph,
    fitted: Fitted,
    calibration: Calibration,
    fit_again: Callable[[Calibration, Mapping[int, int]], tuple[Fitted, Calibration] | None],
) -> tuple[Fitted, Calibration]:
    """Fits of the least depth with which results are precise, and the ranges that they set.

    All deepest activations take a level less together, as far as that goes, and then those of one
    function after another.
    """
    activations = {
        number: node.operation
        for number, node in enumerate(graph.nodes)
        if isinstance(node.operation, g.Activation)
    }
    functions = dict.fromkeys(each.function for each in activations.values())
    everywhere = {each for each in functions if not FUNCTIONS[each].of_positive}
    degrees: dict[int, int] = {}
    for together in (everywhere, *({each} for each in functions)):
        while True:
            fits = zip(
                activations, (each for each in fitted.fits if each.function != _EXACT), strict=True
            )
            depths = {
                number: each.depth
                for number, each in fits
                if each.function in together and _may_be_shallower(each)
            }
            limit = max(depths.values(), default=0) - 1
            if limit < _LEAST_DEPTH:
                break
            # A depth allows this degree, and fewer terms would save next to nothing.
            tried = {number: 2 ** min(depth, limit) - 1 for number, depth in depths.items()}
            found = fit_again(calibration, degrees | tried)
            if found is None:
                break
            degrees |= tried
            fitted, calibration = found
    return fitted, calibration


def _may_be_shallower(fit: ActivationFit) -> bool:
    """Whether an activation is one polynomial of some degree."""
    return len(fit.degrees) == 1 and fit.depth >= _LEAST_DEPTH


def _settled(
    fit_to: Callable[[Calibration], Fitted | None],
    graph: g.Graph,
    calibration: Calibration,
    inputs: TriedInputs,
    allowed: float,
) -> tuple[Fitted, Calibration] | None:
    """A fit within whose ranges inputs stay, and these ranges.

    None where none settles, or none is as precise.
    """
    error = math.inf
    for _ in range(_ROUNDS):
        try:
            fitted = fit_to(calibration)
        except ActivationFitError:
            # Its numbers outgrow the ranges that polynomials are near functions on.
            return None
        if fitted is None:
            return None
        tried = inputs.trial(fitted.graph)
        if tried.is_within(fitted.graph):
            return (fitted, calibration) if tried.error <= allowed else None
        if allowed < error <= tried.error:
            # Wider ranges do not mend what leaves them.
            return None
        error = tried.error
        calibration = _joined(calibration, tried, fitted)
        if not_above_zero(graph, calibration):
            return None
    return None


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


def _joined(calibration: Calibration, tried: Trial, fitted: Fitted) -> Calibration:
    """The ranges of the exact network's numbers and of the fitted one's."""
    numbers = np.array(fitted.numbers)
    return replace(
        calibration,
        lows=np.minimum(calibration.lows, tried.lows[numbers]),
        highs=np.maximum(calibration.highs, tried.highs[numbers]),
    )
