"""What networks are compiled from and run on: trained ones on digits, random ones on noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate

_SAMPLES = 16
INPUTS = 100


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A network with inputs.

    Args:
        capture: Reads the network.
        samples: What it is calibrated on.
        inputs: What it is run on.
        expected: What it makes of these in the clear.
    """

    capture: Callable[[], g.Graph]
    samples: NDArray[np.float64]
    inputs: NDArray[np.float64]
    expected: NDArray[np.float64]


def random_case(graph: g.Graph) -> Case:
    """A network of random weights on uniform noise."""
    samples = np.random.default_rng(0).uniform(0, 1, (_SAMPLES, *graph.inputs[0].shape))
    inputs = np.random.default_rng(1).uniform(0, 1, (INPUTS, *graph.inputs[0].shape))
    return Case(lambda: graph, samples, inputs, evaluate(graph, inputs))


def trained_case(name: str) -> Case:
    """A network of the examples, trained as `name` says, on digits that it has not seen."""
    # The other networks are measured without PyTorch, too.
    import torch  # noqa: PLC0415

    from examples.nn import training  # noqa: PLC0415

    trained = getattr(training, f"train_{name}")()
    module, images = trained.module.double(), trained.data.test[:INPUTS].double()
    with torch.no_grad():
        expected = module(images).numpy()
    samples = trained.data.train.double().numpy()
    return Case(lambda: capture(module, images[:1]), samples, images.numpy(), expected)
