"""PyTorch networks on encrypted inputs: `compile` makes a program of a trained module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork._native import Parameters
from cloakwork.base.arguments import integer, positive, shown, truth
from cloakwork.base.arrays import real_array
from cloakwork.errors import InvalidArgumentError, MissingDependencyError
from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.cost.measure import comparable
from cloakwork.plan.cost.table import Costs
from cloakwork.plan.networks.calibration import bounded, calibrate
from cloakwork.plan.networks.fitted_errors import largest_difference
from cloakwork.plan.networks.refit import refitted
from cloakwork.plan.networks.worst_case_inputs import reach
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.programs.ir import layers as g
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Output
from cloakwork.runtime.program import Program
from cloakwork.schemes.ckks import Ckks

if TYPE_CHECKING:
    import torch

_ACTION = "compile a network"
_MAX_BATCH = 1 << 15


def compile(
    module: torch.nn.Module,
    sample: Any,
    calibration: Any = None,
    *,
    precision: int = 16,
    batch: int = 1,
    margin: float = 0.25,
    degrees: Mapping[str, int] | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
) -> Program:
    """Make a program of a trained network that runs on encrypted inputs.

    Every two nonlinear layers have one product with a sparse clear matrix between them; its
    packings are chosen over the whole network by cost (Orion: Ebel, Garimella, Reagen, ASPLOS
    2025). The ring is the cheapest that is secure, the scale the least that keeps the precision
    on the calibration data.

    Args:
        module: The network, in eval mode.
        sample: A batch of inputs, the batch along the first axis.
        calibration: Inputs such as the network is to be run on: an array, a tensor or nested
            lists, or an iterable of batches such as a DataLoader, read to its end; by default the
            sample. Ranges of inputs and activations follow from all of them.
        precision: Bits after the binary point that results should have on the calibration data:
            noise stays below, and polynomials do where there are any as close to activations.
        batch: How many inputs go in at once, packed into the same ciphertexts.
        margin: By how much inputs and activations may exceed the calibration data, as a part of
            half the width of their range; above 0.
        degrees: Degrees of activations, by the name of a layer or a function, instead of those
            that the precision asks for.
        log_n: Base-2 logarithm of the ring degree; by default the cheapest.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        costs: What operations cost under given parameters, by default a model.

    Raises:
        MissingDependencyError: PyTorch or SciPy is not installed.
        UnsupportedLayerError: A layer cannot be computed on encrypted numbers.
        TrainingModeError: A layer is in training mode.
        CaptureError: The module is no network of one input and one result, or does not take the
            sample, or torch.export cannot follow it.
        NotFiniteError: Weights, samples or what comes of them are NaN or infinite.
        NotRealError: Weights or samples are no real numbers.
        ShapeMismatchError: The calibration data are not inputs of the network's shape.
        ActivationFitError: No polynomial of an activation is as precise.
        LevelExhaustedError: The network is too deep; the message names the layer.
        InvalidParametersError: No parameters have the precision that is needed, or room for numbers
            as large as a layer makes; the message names the layer.
        BoundOverflowError: Powers of a layer's numbers outgrow the moduli.
        InvalidArgumentError: An argument is none that it takes, or the batch does not fit a
            ciphertext.
    """
    graph = capture(module, sample)
    samples = real_array(sample, _ACTION) if calibration is None else calibration
    return compile_graph(
        graph,
        samples,
        title=type(module).__name__,
        precision=precision,
        batch=batch,
        margin=margin,
        degrees=degrees,
        log_n=log_n,
        insecure=insecure,
        costs=costs,
    )


def compile_graph(
    graph: g.Graph,
    samples: Any,
    *,
    title: str = "network",
    precision: int = 16,
    batch: int = 1,
    margin: float = 0.25,
    degrees: Mapping[str, int] | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
) -> Program:
    """Make a program of a network that is a graph of layers; see `compile`.

    Args:
        graph: The network.
        samples: Inputs such as the network is to be run on.
        title: What the network is called.
        precision: As of `compile`.
        batch: As of `compile`.
        margin: As of `compile`.
        degrees: As of `compile`.
        log_n: As of `compile`.
        insecure: As of `compile`.
        costs: As of `compile`.

    Example:
        >>> nodes = [g.node("x", g.Input((4,)), (), [])]
        >>> for name, layer in [("dense", g.Linear(np.ones((2, 4)), np.zeros(2))),
        ...                     ("square", g.Polynomial((0.0, 0.0, 1.0), "monomial", -9, 9)),
        ...                     ("y", g.Output())]:
        ...     nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
        >>> network = compile_graph(g.build(nodes), np.ones((1, 4)))
        >>> client, evaluator = network.keygen()
        >>> client.decrypt(evaluator.run(client.encrypt([0.5, 0.25, 0.0, 0.25]))).round(3).tolist()
        [1.0, 1.0]
    """
    _require_scipy()
    # Only to compile a network takes SciPy; to run one does not.
    from cloakwork.plan.networks.pipeline import Wish, planned  # noqa: PLC0415

    if not isinstance(graph, g.Graph):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a graph of layers, got {shown(graph)}; nn.compile takes a "
            "torch.nn.Module"
        )
    if not callable(costs):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected costs to be a function of parameters, got {shown(costs)}"
        )
    insecure = truth(insecure, "insecure", _ACTION)
    margin = positive(margin, "margin", _ACTION)
    precision = integer(precision, "precision", _ACTION, least=0, most=SCALE_BITS[-1])
    batch = integer(batch, "batch", _ACTION, least=1, most=_MAX_BATCH)
    rings = list(RINGS)
    if log_n is not None:
        rings = [integer(log_n, "log_n", _ACTION, least=5, most=17)]
    calibration = calibrate(graph, samples)
    if not np.isfinite(graph.input.bound):
        graph = bounded(graph, max(map(abs, calibration.widened(0, margin))))
    fitted, calibration = refitted(graph, samples, calibration, precision, margin, degrees)
    reached = reach(fitted.graph, calibration)
    wish = Wish(title, precision, batch, insecure, costs)
    plan = planned(fitted.graph, calibration, reached.furthest, wish, rings)
    lowered = plan.lowered
    largest = max(
        bound
        for operation, bound in zip(lowered.program.operations, plan.bounds, strict=True)
        if isinstance(operation, Output) and bound is not None
    )
    bound = graph.input.bound
    packing = BatchPacking(
        (Port("input", "real", 0, graph.input.shape, -bound, bound),),
        (Port("result", "real", 0, graph.output_shape, -largest, largest),),
        (lowered.input,),
        (lowered.output,),
        wish.width,
        batch,
    )
    return Program(
        Ckks(plan.parameters),
        lowered.program,
        packing,
        ranges=lowered.ranges,
        error=plan.error + largest_difference(graph, fitted),
    )


def _require_scipy() -> None:
    if find_spec("scipy") is None:
        raise MissingDependencyError(
            "cannot compile a network: it takes SciPy; install it by pip install 'cloakwork[torch]'"
        )
