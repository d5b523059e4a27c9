"""From a module to the graph that packing reads: captured, folded, calibrated and fitted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cloakwork.frontends.nn import graph as g
from cloakwork.frontends.nn.calibration import Calibration, batches, bounded, calibrate
from cloakwork.frontends.nn.capture import capture
from cloakwork.frontends.nn.fit import Fit, fit
from cloakwork.frontends.nn.fold import fold, normalised

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A network of linear layers and polynomials.

    Args:
        graph: The network, its input bounded; Chebyshev polynomials take [-1, 1].
        clear: The network as it was captured, its activations exact.
        fits: How each activation was fitted.
        calibration: What the layers of `graph` see of the samples.
    """

    graph: g.Graph
    clear: g.Graph
    fits: tuple[Fit, ...]
    calibration: Calibration


def prepare(
    module: torch.nn.Module,
    sample: Any,
    calibration: Any,
    precision: float = 16.0,
    margin: float = 0.25,
    degrees: Mapping[str, int] | None = None,
) -> Prepared:
    """Make of a module what can be computed on encrypted inputs.

    Args:
        module: The network, in eval mode.
        sample: Inputs that it takes, the batch first.
        calibration: Inputs as it will see: an array, a tensor, or an iterable of batches such
            as torch's DataLoader.
        precision: Bits of the activations' polynomials, below their largest absolute value.
        margin: What ranges have beyond what calibration saw, as a part of half their width.
            The input's bound is the largest absolute value seen and this part of it more.
        degrees: Degrees of polynomials by the names of layers or functions, where precision
            shall not decide.

    Raises:
        CaptureError: As `capture` says; `UnsupportedLayerError` and `TrainingModeError` are two.
        ActivationFitError: No polynomial is as precise as asked.
        InvalidArgumentError: The sample or the calibration data are none.
        ShapeMismatchError: The calibration data are not inputs of the network's shape.
        NotFiniteError: Weights, data or what comes of them are NaN or infinite.
        MissingDependencyError: PyTorch is not installed.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> module = torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.SiLU()).eval()
    >>> prepared = prepare(module, torch.zeros(1, 4), torch.rand(20, 4), precision=8)
    >>> [type(node.operation).__name__ for node in prepared.graph.nodes]
    ['Input', 'Linear', 'Polynomial', 'Output']
    """
    clear = fold(capture(module, sample))
    # An iterator runs once, and the fitted network is run on the same samples again.
    samples = [*batches(clear.input.shape, calibration)]
    seen = calibrate(clear, samples)
    fitted, fits = fit(clear, seen, precision, margin, degrees)
    bound = (1 + margin) * seen.largest(0)
    graph = bounded(normalised(fitted), bound if bound else 1.0)
    return Prepared(graph, clear, fits, calibrate(graph, samples))
