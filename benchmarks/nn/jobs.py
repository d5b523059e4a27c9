"""The networks and single layers that are measured, and what Orion takes for some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from benchmarks.nn.cases import INPUTS, Case, random_case, trained_case
from benchmarks.nn.networks import Weights, network
from cloakwork.programs.ir import layers as g

PRECISION = 18
_FULL_RUNS = 2


@dataclass(frozen=True, slots=True)
class Job:
    """A network and how many inputs go in at once.

    Args:
        name: What it is called in the report.
        make: Makes it.
        runs: Runs; the first encodes the layers.
        batch: Inputs of a run, or `throughput` for as many as cost least each.
        orion_seconds: CPU seconds of Orion at 17 to 19 bits on a 2-core Zen 3.
        speed_up: How many times faster it is to be.
        most_gb: The most memory that the evaluator's process may take.
        one_by_one: The job that takes the same inputs one by one.
    """

    name: str
    make: Callable[[], Case]
    runs: int = 6
    batch: int | Literal["throughput"] = 1
    orion_seconds: float | None = None
    speed_up: float | None = None
    most_gb: float | None = None
    one_by_one: str | None = None


def _trained(
    name: str, training: str, orion_seconds: float, speed_up: float, most_gb: float
) -> Job:
    make = partial(trained_case, training)
    return Job(name, make, INPUTS, 1, orion_seconds, speed_up, most_gb)


def _full(job: Job) -> Job:
    """A network with as many inputs at once as cost least each."""
    return Job(f"{job.name}, full", job.make, _FULL_RUNS, batch="throughput", one_by_one=job.name)


def _one(shape: g.Shape, layer: g.Operation) -> Callable[[], Case]:
    return partial(random_case, network(shape, layer))


def _convolution(
    shape: g.Shape,
    outer: int,
    kernel: g.Pair,
    stride: g.Pair = (1, 1),
    padding: g.Pair = (0, 0),
) -> Callable[[], Case]:
    down, right = padding
    square = Weights().convolution(outer, shape[0], max(kernel))
    layer = g.ConvolutionLayer(
        square.weight[:, :, : kernel[0], : kernel[1]],
        square.bias,
        stride,
        ((down, down), (right, right)),
    )
    return _one(shape, layer)


_PADDED = _convolution((16, 32, 32), 16, (3, 3), padding=(1, 1))
_STRIDED = _convolution((16, 32, 32), 32, (3, 3), stride=(2, 2), padding=(1, 1))
_WIDE = _one((1024,), Weights().linear(1024, 1024))

_TRAINED = (
    _trained("MLP 784-128-128-10", "mlp", orion_seconds=1.2, speed_up=4, most_gb=1),
    _trained("LoLA", "lola", orion_seconds=0.9, speed_up=4, most_gb=1),
    _trained("LeNet", "lenet", orion_seconds=4.5, speed_up=5, most_gb=3),
)

JOBS = (
    *_TRAINED,
    *map(_full, _TRAINED),
    Job("padded convolution", _PADDED),
    Job("strided convolution", _STRIDED),
    Job("wide linear layer", _WIDE),
    Job("odd sizes", _convolution((3, 29, 23), 7, (3, 3), padding=(1, 1))),
    Job("kernel not square", _convolution((4, 28, 28), 8, (1, 5), padding=(0, 2))),
    Job("odd padding", _convolution((4, 28, 28), 8, (3, 3), stride=(2, 2), padding=(3, 1))),
    Job(
        "padded convolution, batched",
        _convolution((4, 16, 16), 4, (3, 3), padding=(1, 1)),
        batch=8,
    ),
    Job(
        "strided convolution, batched",
        _convolution((4, 16, 16), 8, (3, 3), stride=(2, 2), padding=(1, 1)),
        batch=8,
    ),
    Job("linear layer, batched", _one((256,), Weights().linear(128, 256)), batch=16),
)
