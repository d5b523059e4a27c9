"""The deep networks that are measured, and how each is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from examples.nn import image_networks as networks
from examples.nn import training
from examples.nn.coloured import coloured_digits
from examples.nn.training import Trained, train_on_images, train_resnet

_GB = 10**9


@dataclass(frozen=True, slots=True)
class Job:
    """A network, and what is asked of its program.

    Args:
        name: What it is called in the table.
        train: Trains it.
        batch: Inputs of a run.
        runs: How many there are; the first, which encodes the layers, is the one that is timed.
        precision: Bits after the binary point of the scores.
        margin: How far ranges go beyond those of the calibration inputs.
        calibrating: Inputs that ranges are taken from.
        memory_limit: Bytes that a run may take.
    """

    name: str
    train: Callable[[], Trained]
    batch: int = 1
    runs: int = 1
    precision: int = 3
    margin: float = 0.1
    calibrating: int = 256
    memory_limit: int = 12 * _GB


def _on_images(network: Callable[[], nn.Sequential], epochs: int) -> Callable[[], Trained]:
    return lambda: train_on_images(network, coloured_digits(), epochs)


def _resnet_20(activation: networks.Activation) -> Callable[[], Trained]:
    """As the example trains it."""
    return lambda: train_resnet(20, activation, coloured_digits())


def _deeper_resnet(depth: int) -> Callable[[], Trained]:
    """For half as many epochs, of which each takes as much longer."""
    return _on_images(lambda: networks.resnet(depth, nn.SiLU), epochs=8)


def _transformer(name: str, train: Callable[[], Trained]) -> Job:
    return Job(
        name, train, batch=8, precision=8, margin=0.25, calibrating=1500, memory_limit=10 * _GB
    )


JOBS = (
    Job("ResNet-20, SiLU", _resnet_20(nn.SiLU)),
    Job("ResNet-20, ReLU", _resnet_20(nn.ReLU)),
    Job("ResNet-20, SiLU, 16 images", _resnet_20(nn.SiLU), batch=16, runs=2, memory_limit=20 * _GB),
    Job("ResNet-32, SiLU", _deeper_resnet(32)),
    Job("ResNet-44, SiLU", _deeper_resnet(44)),
    Job("ResNet-56, SiLU", _deeper_resnet(56)),
    Job("ResNet-110, SiLU", _deeper_resnet(110)),
    # Its keys alone take 7.3 GB.
    Job("VGG-16, SiLU", _on_images(networks.vgg_16, epochs=4), memory_limit=14 * _GB),
    Job("AlexNet, SiLU", _on_images(networks.alexnet, epochs=8)),
    Job("MobileNet, SiLU", _on_images(networks.mobilenet, epochs=8)),
    Job("YOLO, SiLU", training.train_yolo),
    _transformer("vision transformer", training.train_vision_transformer),
    _transformer("text transformer", training.train_text_transformer),
)
