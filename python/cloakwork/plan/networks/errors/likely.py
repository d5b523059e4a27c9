"""How far a network of fitted polynomials is likely to be from the exact one.

A bound for every input (`plan.networks.errors.fitted`) adds up the largest errors of all elements
in the direction in which the weights have them add up, layer after layer, and so exceeds what
occurs by a factor for each layer. Here errors are random numbers that are followed along given
inputs, as rounding errors are in a statistical analysis (Higham, Mary, "A new approach to
probabilistic rounding error analysis", SIAM Journal on Scientific Computing 41, 2019). What is
assumed:

- The error of a fit has a deviation of its largest error over the range, which is more than it has.
- Errors of the elements that a layer sums are independent, so that their squares add up. Those that
  a pooling averages, which are of neighbours, may be one and the same.
- An activation multiplies an error by its slope at the number that the input brings there, as far
  as errors are small.
- Inputs are such as the given ones, along which errors grow at most half as much as along any.

No error of a fit exceeds its largest, so that a few of them add up to less than Gaussian tails
allow for. So bounds are followed beside deviations, and after layers whose bounds exceed the tails,
these are the bounds. What a softmax at the end of a deep network adds to errors is bounded so, and
does not have tails of its own. Where numbers are divided by their sum, the error of one is an error
of the sum, too, and what it does to both nearly cancels where the number is most of the sum. Where
they are divided by a norm of theirs, as in transformers, what it does to both is not of one sign.

Polynomials are off by the same amount for the same number, so that errors may be more alike than
that: what is seen on the given inputs counts as well.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from cloakwork.plan.networks.errors.fitted import errors_after, fit_errors
from cloakwork.plan.networks.fit import Fitted
from cloakwork.programs.functions import FUNCTIONS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import by_parts, layer_value, results, values

# How likely any result of an input has an error that exceeds the largest to expect.
_EXCESS = 2.0**-20
# How much more errors may grow along other inputs.
_UNSEEN = 2.0
# And how much more where they are known by what is seen alone, of so many results at least.
_UNFOLLOWED, _ENOUGH_SEEN = 4.0, 1 << 8
# Slopes are those between two points that are no nearer than this part of the numbers.
_NEAREST = 1e-6
# Where within its bounds a function is looked at.
_PARTS = (-1.0, -0.5, 0.5, 1.0)


def likely_difference(
    graph: g.Graph,
    fitted: Fitted,
    rows: g.Array,
    of_inputs: Mapping[str, float] = MappingProxyType({}),
    deviations: Mapping[str, float] = MappingProxyType({}),
) -> float:
    """The largest difference of any result to expect, for inputs such as the given ones.

    Errors are followed as if they were small. Where they are said to be larger than results are,
    they are not, and what is seen of many results tells more.

    Args:
        graph: The network.
        fitted: The network of polynomials.
        rows: The inputs.
        of_inputs: How far inputs may be off, by their names.
        deviations: The deviations of their errors, where these are less.

    Example:
        >>> from cloakwork.plan.networks.calibration import calibrate
        >>> from cloakwork.plan.networks.fit import fit
        >>> nodes = [g.node("x", g.InputLayer((64,), bound=1.0), (), [])]
        >>> total = g.LinearLayer(np.ones((1, 64)), np.zeros(1))
        >>> for name, layer in [("act", g.Activation("tanh")), ("sum", total),
        ...                     ("y", g.OutputLayer())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> graph, inputs = g.build(nodes), np.linspace(-1, 1, 64)[np.newaxis]
        >>> fitted = fit(graph, calibrate(graph, [inputs]), precision=8)
        >>> found = likely_difference(graph, fitted, inputs) / fitted.fits[0].error
        >>> round(float(found / np.sqrt(64)), 1)
        10.8
    """
    exact = results(graph, rows)
    seen = seen_differences(fitted, rows, exact)
    found = likely_differences(graph, fitted, rows, seen, of_inputs, deviations)
    expected = max(each for each, _ in found.values())
    # What inputs are off by is not seen.
    tells = seen.size >= _ENOUGH_SEEN and not any(of_inputs.values())
    if tells and not expected <= np.abs(exact).max(initial=1.0):
        return _UNFOLLOWED * float(seen.max())
    return _UNSEEN * expected


def seen_differences(fitted: Fitted, rows: g.Array, exact: g.Array) -> g.Array:
    """How far results of the network of polynomials are off from the exact ones of inputs."""
    return np.asarray(np.abs(results(fitted.graph, rows) - exact))


def likely_differences(
    graph: g.Graph,
    fitted: Fitted,
    rows: g.Array,
    seen: g.Array,
    of_inputs: Mapping[str, float],
    deviations: Mapping[str, float],
) -> dict[str, tuple[float, float]]:
    """The largest difference of each result to expect on inputs, by its name, and its deviation.

    See `likely_difference`, which allows for other inputs. What is seen on these is given.
    """
    names = [node.name for node in graph.outputs]
    if not any(each.error for each in fitted.fits) and not any(of_inputs.values()):
        return dict.fromkeys(names, (0.0, 0.0))
    tail, largest = _largest_errors(graph, fitted, rows, of_inputs, deviations)
    ends = np.cumsum([math.prod(node.shape) for node in graph.outputs])[:-1]
    parts = np.split(np.maximum(largest, seen), ends, axis=1)
    farthest = {name: float(part.max()) for name, part in zip(names, parts, strict=True)}
    return {name: (each, each / tail) for name, each in farthest.items()}


def _largest_errors(
    graph: g.Graph,
    fitted: Fitted,
    rows: g.Array,
    of_inputs: Mapping[str, float],
    deviations: Mapping[str, float],
) -> tuple[float, g.Array]:
    """The deviations that results are expected to be off by, and their largest errors."""
    activations = (node for node in graph.nodes if isinstance(node.operation, g.Activation))
    fits = (each.error for each in fitted.fits if each.function != "polynomial")
    errors = dict(zip(activations, fits, strict=True))
    tail = _tail(math.prod(node.shape) for node in graph.nodes)
    follow = _Errors(graph, errors, tail).after
    ends = _tail(math.prod(node.shape) for node in graph.outputs)

    def of_part(part: g.Array) -> g.Array:
        # A batch of three times as many: numbers, the variances of their errors, and their bounds.
        wrong = _of_elements(graph, of_inputs, part)
        amiss = _of_elements(graph, {**of_inputs, **deviations}, part)
        made = enumerate(values(graph, np.concatenate([part, amiss**2, wrong]), compute=follow))
        found = [np.split(value, 3) for number, value in made if number in graph.output_numbers]
        largest = [np.minimum(ends * np.sqrt(each), most) for _, each, most in found]
        return np.concatenate([each.reshape(len(part), -1) for each in largest], axis=1)

    return ends, np.concatenate(by_parts(graph, of_part, rows))


def _of_elements(graph: g.Graph, of_inputs: Mapping[str, float], rows: g.Array) -> g.Array:
    """What is known of inputs by their names, for each of their elements."""
    counts = [math.prod(each.shape) for each in graph.inputs]
    known = np.repeat([of_inputs.get(each.name, 0.0) for each in graph.inputs], counts)
    return np.tile(known, len(rows)).reshape(rows.shape)


def _tail(counts: Iterable[int]) -> float:
    """The deviations that none of so many Gaussian numbers exceeds, but for a chance."""
    # The tail of a Gaussian is below exp(-x^2 / 2) on either side.
    return math.sqrt(2 * math.log(2 * sum(counts) / _EXCESS))


@dataclass(frozen=True, slots=True)
class _Errors:
    """The errors of a network, followed along inputs.

    Args:
        graph: The network.
        fits: The largest error of each activation, by its node.
        tail: The deviations that no error is expected to exceed.
    """

    graph: g.Graph
    fits: Mapping[g.Node, float]
    tail: float

    def after(self, node: g.Node, operands: Sequence[g.Array]) -> g.Array:
        """The numbers that a node makes, the variances of their errors, and their bounds."""
        thirds = [np.split(each, 3) for each in operands]
        numbers, variances, bounds = zip(*thirds, strict=True)
        # Errors that outgrow doubles are infinite, of which nothing is known behind.
        with np.errstate(over="ignore", invalid="ignore"):
            variance, bound = self._errors_after(node, numbers, variances, bounds)
            bound = np.minimum(bound, self.tail * np.sqrt(variance))
            variance = np.minimum(variance, bound**2)
        value = layer_value(node.operation, numbers)
        own = fit_errors(node.operation, self.fits.get(node, 0.0), value)
        return np.concatenate([value, variance + own**2, bound + own])

    def _errors_after(
        self,
        node: g.Node,
        numbers: Sequence[g.Array],
        variances: Sequence[g.Array],
        bounds: Sequence[g.Array],
    ) -> tuple[g.Array, g.Array]:
        """Variances and bounds of what a node makes, without its own: infinite if not known."""
        variance = _variances_after(node.operation, numbers, variances)
        bound = _bounds_after(node.operation, numbers, bounds)
        if self._is_divided_by_own_squares(node):
            variance = np.fmin(variance, _variances_of_divided(numbers, variances))
        sums = self._sums_divided_by(node)
        if sums is not None:
            divisor = self.graph.nodes[node.inputs[1]]
            own = fit_errors(divisor.operation, self.fits[divisor], numbers[1])
            of_shares = _errors_of_shares(sums, own, numbers[0], variances[0], bounds[0])
            variance, bound = np.fmin(variance, of_shares[0]), np.fmin(bound, of_shares[1])
        # The smaller of a number and none is the number.
        return np.fmin(variance, np.inf), np.fmin(bound, np.inf)

    def _is_divided_by_own_squares(self, node: g.Node) -> bool:
        """Whether the second factor of a product falls where squares of the first grow."""
        return isinstance(node.operation, g.Multiply) and self._falls(
            node.inputs[1], node.inputs[0]
        )

    def _falls(self, number: int, squared: int) -> bool:
        """Whether elements of one node fall where squares of another's grow."""
        node = self.graph.nodes[number]
        match node.operation:
            case g.Activation(function="rsqrt" | "reciprocal"):
                return self._grows(node.inputs[0], squared)
            case operation if _keeps_order(operation):
                return self._falls(node.inputs[0], squared)
            case _:
                return False

    def _grows(self, number: int, squared: int) -> bool:
        """Whether elements of one node grow where squares of another's do."""
        node = self.graph.nodes[number]
        match node.operation:
            case g.PolynomialLayer(coefficients=(_, 0.0, square), basis="monomial"):
                return square >= 0 and node.inputs == (squared,)
            case g.Multiply():
                return node.inputs == (squared, squared)
            case operation if _keeps_order(operation):
                return self._grows(node.inputs[0], squared)
            case _:
                return False

    def _sums_divided_by(self, node: g.Node) -> g.LinearLayer | None:
        """What sums up the first factor of a product where it is divided by that, as in softmax."""
        if not isinstance(node.operation, g.Multiply):
            return None
        left, right = node.inputs
        divisor = self.graph.nodes[right].operation
        if not isinstance(divisor, g.Activation) or divisor.function != "reciprocal":
            return None
        sums = self.graph.nodes[self.graph.nodes[right].inputs[0]]
        if not isinstance(sums.operation, g.LinearLayer) or sums.inputs != (left,):
            return None
        weight = sums.operation.weight
        has_each = weight.shape[0] == weight.shape[1] and bool((np.diagonal(weight) == 1).all())
        return sums.operation if has_each else None


def _keeps_order(operation: g.Operation) -> bool:
    """Whether the result of a layer of one operand falls nowhere where its operand grows."""
    match operation:
        case g.LinearLayer(weight=factors) | g.Affine(scale=factors):
            return bool(np.all(factors >= 0))
        case g.Rearrange():
            return True
        case _:
            return False


def _variances_of_divided(numbers: Sequence[g.Array], variances: Sequence[g.Array]) -> g.Array:
    """The variances of numbers that are divided by what grows with their squares.

    Where the error of a number makes it larger, it makes what it is multiplied by smaller: with
    errors a and w of l and r, the mean of 2 l w r a is at most 0.
    """
    (left, right), (wrong, amiss) = numbers, variances
    return np.asarray(left**2 * amiss + right**2 * wrong + wrong * amiss)


def _errors_of_shares(
    sums: g.LinearLayer, own: g.Array, numbers: g.Array, variances: g.Array, bounds: g.Array
) -> tuple[g.Array, g.Array]:
    """Variances and bounds of the errors of numbers that are divided by sums of all of them.

    What is wrong with a number is wrong with its sum, too. With e_i + d_i for e_i and S + D for S,
    e_i / S becomes larger by (d_i - e_i / S * D) / (S + D), and D has d_i in it.
    """
    whole, wrong = layer_value(sums, [numbers]), errors_after(sums, [np.abs(numbers)], [bounds])
    least = np.maximum(np.abs(whole) - wrong, 0.0)
    others = np.maximum(_variances_after(sums, [numbers], [variances]) - variances, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares, rest = np.abs(numbers / whole), np.abs(1.0 - numbers / whole)
        variance = (rest**2 * variances + shares**2 * others) / whole**2
        bound = (rest * bounds + shares * (wrong - bounds)) / least
    variance += (numbers**2 + variances) * own**2
    bound += (np.abs(numbers) + bounds) * own
    # A sum that may be 0 says nothing.
    return np.where(least > 0.0, variance, np.inf), np.where(least > 0.0, bound, np.inf)


def _bounds_after(
    operation: g.Operation, numbers: Sequence[g.Array], bounds: Sequence[g.Array]
) -> g.Array:
    match operation:
        case g.Activation() | g.PolynomialLayer():
            return _changes(operation, numbers[0], bounds[0])
        case _:
            return errors_after(operation, list(map(np.abs, numbers)), bounds)


def _variances_after(
    operation: g.Operation, numbers: Sequence[g.Array], variances: Sequence[g.Array]
) -> g.Array:
    match operation:
        case g.LinearLayer(weight=weight, bias=bias) | g.ConvolutionLayer(weight=weight, bias=bias):
            squared = replace(operation, weight=weight**2, bias=np.zeros_like(bias))
            return layer_value(squared, variances)
        case g.Affine(scale=scale, shift=shift):
            return layer_value(g.Affine(scale**2, np.zeros_like(shift)), variances)
        case g.Multiply():
            (left, right), (wrong, amiss) = numbers, np.sqrt(variances)
            # The factors may be one and the same, and so may their errors.
            return np.asarray((np.abs(left) * amiss + np.abs(right) * wrong + wrong * amiss) ** 2)
        case g.Contraction():
            return _variances_of_sums(operation, numbers, variances)
        case g.Activation() | g.PolynomialLayer():
            return np.asarray(_slopes(operation, numbers[0], variances[0]) ** 2 * variances[0])
        case _:
            # Sums add variances. The variance of an average is at most the average of variances.
            return layer_value(operation, variances)


def _variances_of_sums(
    operation: g.Contraction, numbers: Sequence[g.Array], variances: Sequence[g.Array]
) -> g.Array:
    """The variances of sums of products, each of which has that of a product of elements.

    The square of |l| a + |r| w + w a is multiplied out: (l a)^2 + w^2 (r + a)^2 + 2 l w a (r + a).
    """
    (left, right), (wrong, amiss) = map(np.abs, numbers), map(np.sqrt, variances)
    of_left = left**2, wrong**2, 2 * left * wrong
    of_right = amiss**2, (right + amiss) ** 2, amiss * (right + amiss)
    first, *others = (layer_value(operation, pair) for pair in zip(of_left, of_right, strict=True))
    return sum(others, first)


def _slopes(operation: g.Operation, numbers: g.Array, variances: g.Array) -> g.Array:
    """The slopes of a function about numbers that have errors."""
    step = np.maximum(np.sqrt(variances), _NEAREST * np.maximum(np.abs(numbers), 1.0))
    if _is_of_positive(operation):
        step = np.minimum(step, np.abs(numbers) / 2)
    there = layer_value(operation, [numbers])
    # One by one, as at the middle of a square both are alike and would cancel.
    sides = (np.abs(layer_value(operation, [numbers + each]) - there) for each in (step, -step))
    return np.asarray(np.maximum(*sides) / step)


def _changes(operation: g.Operation, numbers: g.Array, bounds: g.Array) -> g.Array:
    """What a function changes by within bounds; infinite where it is not defined all over them.

    It is seen at the ends and halfway, beyond which those of activations do not rise by much.
    """
    undefined = np.abs(numbers) <= bounds if _is_of_positive(operation) else np.array(False)
    there, reach = layer_value(operation, [numbers]), np.where(undefined, 0.0, bounds)
    farthest = np.zeros_like(there)
    for part in _PARTS:
        change = np.abs(layer_value(operation, [numbers + part * reach]) - there)
        np.maximum(farthest, change, out=farthest)
    return np.where(undefined, np.inf, farthest)


def _is_of_positive(operation: g.Operation) -> bool:
    return isinstance(operation, g.Activation) and FUNCTIONS[operation.function].of_positive
