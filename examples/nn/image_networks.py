"""Networks for images of 3 x 32 x 32, untrained, as they are used for CIFAR-10."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import nn

Activation = Callable[[], nn.Module]
CLASSES = 10


class BasicBlock(nn.Module):
    """Two convolutions beside a shortcut, which is a projection where the shape changes."""

    def __init__(self, inputs: int, outputs: int, activation: Activation) -> None:
        super().__init__()
        stride = outputs // inputs
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.act1 = activation()
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.act2 = activation()
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The images that the next block takes."""
        made = self.bn2(self.conv2(self.act1(self.bn1(self.conv1(x)))))
        found: torch.Tensor = self.act2(made + self.shortcut(x))
        return found


def resnet(depth: int, activation: Activation = nn.SiLU) -> nn.Sequential:
    """ResNet-20, 32, 44, 56 or 110 (He, Zhang, Ren, Sun, CVPR 2016, section 4.2)."""
    blocks = (depth - 2) // 6
    widths = [16] * (1 + blocks) + [32] * blocks + [64] * blocks
    return nn.Sequential(
        *_convolution(3, 16, activation),
        *(BasicBlock(*pair, activation) for pair in pairwise(widths)),
        *_head(64),
    )


def vgg_16(
    activation: Activation = nn.SiLU, pool: Callable[[int], nn.Module] = nn.AvgPool2d
) -> nn.Sequential:
    """VGG-16 with batch norms (Simonyan, Zisserman, ICLR 2015)."""
    layers: list[nn.Module] = []
    inputs = 3
    for outputs, count in (64, 2), (128, 2), (256, 3), (512, 3), (512, 3):
        for _ in range(count):
            layers += _convolution(inputs, outputs, activation)
            inputs = outputs
        layers.append(pool(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, CLASSES))


def alexnet(
    activation: Activation = nn.SiLU, pool: Callable[[int], nn.Module] = nn.AvgPool2d
) -> nn.Sequential:
    """AlexNet (Krizhevsky, Sutskever, Hinton, NIPS 2012), narrowed to images of 32 x 32."""
    return nn.Sequential(
        *_convolution(3, 64, activation, stride=2),
        pool(2),
        *_convolution(64, 192, activation),
        pool(2),
        *_convolution(192, 384, activation),
        *_convolution(384, 256, activation),
        *_convolution(256, 256, activation),
        pool(2),
        nn.Flatten(),
        *_dense(1024, 1024, activation),
        *_dense(1024, 512, activation),
        nn.Linear(512, CLASSES),
    )


def mobilenet(activation: Activation = nn.SiLU) -> nn.Sequential:
    """MobileNet (Howard et al., 2017): convolutions by channel, then across channels."""
    layers = [*_convolution(3, 32, activation)]
    inputs = 32
    for outputs, stride in (
        *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
        *((512, 1),) * 5,
        *((1024, 2), (1024, 1)),
    ):
        layers += _convolution(inputs, inputs, activation, stride, groups=inputs)
        layers += _convolution(inputs, outputs, activation, kernel=1)
        inputs = outputs
    return nn.Sequential(*layers, *_head(inputs))


class Detections(nn.Module):
    """For each cell where something is, whether it is there, and what it is: the head of YOLO.

    Of the features, 0 and 1 are where in the cell its middle is, 2 and 3 its width and
    height, 4 how sure it is that something is there, the rest the chances of the classes.
    (YOLO9000: Redmon, Farhadi, CVPR 2017, section 2.)
    """

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        """What has the shape of the features."""
        middle, size, is_there = features[:, :2], features[:, 2:4], features[:, 4:5]
        parts = [middle.sigmoid(), size.exp(), is_there.sigmoid(), features[:, 5:].softmax(dim=1)]
        return torch.cat(parts, dim=1)


def yolo(activation: Activation = nn.SiLU) -> nn.Sequential:
    """A small YOLO: convolutions down to 4 x 4 cells, and a head that says what is in each."""
    layers: list[nn.Module] = []
    for inputs, outputs in (3, 16), (16, 32), (32, 64):
        layers += [*_convolution(inputs, outputs, activation), nn.AvgPool2d(2)]
    layers += _convolution(64, 128, activation)
    return nn.Sequential(*layers, nn.Conv2d(128, 5 + CLASSES, 1), Detections())


def _convolution(
    inputs: int,
    outputs: int,
    activation: Activation,
    stride: int = 1,
    groups: int = 1,
    kernel: int = 3,
) -> tuple[nn.Module, ...]:
    convolution = nn.Conv2d(
        inputs, outputs, kernel, stride, padding=kernel // 2, groups=groups, bias=False
    )
    return convolution, nn.BatchNorm2d(outputs), activation()


def _dense(inputs: int, outputs: int, activation: Activation) -> tuple[nn.Module, ...]:
    return nn.Linear(inputs, outputs), nn.BatchNorm1d(outputs), activation()


def _head(features: int) -> tuple[nn.Module, ...]:
    return nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, CLASSES)
