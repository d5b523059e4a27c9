"""Small networks of every supported layer, drawn at random."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from hypothesis import strategies as st
from torch import nn

Layer: TypeAlias = Callable[[], nn.Module]
Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]
Shape: TypeAlias = tuple[int, ...]
_Kinds: TypeAlias = dict[str, list[Callable[[], nn.Module | None]]]

_MAX_ELEMENTS = 400


class Square(nn.Module):
    """x * x."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x


class Cubic(nn.Module):
    """A polynomial written out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.1 * x**3 - x**2 / 4 + 0.5 * x - 1


class InPlace(nn.Module):
    """Changes half of the channels where they stand."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[:, : x.shape[1] // 2] *= 0.5
        x += 0.25
        return x


class Shuffle(nn.Module):
    """Brings the channels to the end, turns them around and brings them back."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.transpose(1, -1).flip(-1).transpose(-1, 1)


class Scale(nn.Module):
    """A known number per channel."""

    def __init__(self, channels: int, axes: int) -> None:
        super().__init__()
        self.register_buffer("scale", torch.randn(channels, *(1 for _ in range(axes - 1))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.get_buffer("scale") + 1.5


class Gate(nn.Module):
    """Each channel times its mean."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x.flatten(2).mean(-1).reshape(*x.shape[:2], *(1 for _ in x.shape[2:]))


class Join(nn.Module):
    """x and what a layer makes of it, joined."""

    def __init__(self, inner: nn.Module, kind: str) -> None:
        super().__init__()
        self.inner = inner
        self.kind = kind

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner(x)
        if self.kind == "concatenate":
            return torch.cat([x, y], dim=1)
        joined: torch.Tensor = {"add": x + y, "subtract": x - y, "multiply": x * y}[self.kind]
        return joined


ACTIVATIONS: Sequence[Layer] = (
    Square,
    Cubic,
    nn.SiLU,
    nn.GELU,
    lambda: nn.GELU(approximate="tanh"),
    nn.Sigmoid,
    nn.Tanh,
    nn.Softplus,
    nn.ReLU,
    lambda: nn.ReLU(inplace=True),
    lambda: nn.LeakyReLU(0.2),
    nn.Mish,
    nn.SELU,
    lambda: nn.Hardtanh(-1.5, 1.0),
)
POLYNOMIALS: Sequence[Layer] = (Square, Cubic)


@dataclass(frozen=True)
class RandomNetwork:
    """A network in float64 and eval mode, and a batch that it takes."""

    module: nn.Module
    sample: torch.Tensor


@st.composite
def random_networks(draw: Draw, activations: Sequence[Layer] = ACTIVATIONS) -> RandomNetwork:
    """A network of an image, a signal or a vector, with random weights and statistics."""
    torch.manual_seed(draw(st.integers(0, 2**31)))
    axes = draw(st.sampled_from([0, 1, 2, 2]))
    shape = (draw(st.integers(1, 4)), *(draw(st.integers(3, 8)) for _ in range(axes)))
    batch = draw(st.integers(1, 3))
    sample = torch.randn(batch, *shape, dtype=torch.float64)
    layers: list[nn.Module] = []
    for _ in range(draw(st.integers(2, 6))):
        layer = _layer(draw, shape, activations)
        if layer is not None:
            grown = _shape_after(layer, shape)
            if _elements(grown) <= _MAX_ELEMENTS:
                layers.append(layer)
                shape = grown
    layers += [nn.Flatten(), nn.Linear(_elements(shape), draw(st.integers(1, 5)))]
    module = nn.Sequential(*layers).double().eval()
    _randomise_statistics(module)
    return RandomNetwork(module, sample)


def _layer(draw: Draw, shape: Shape, activations: Sequence[Layer]) -> nn.Module | None:
    """A layer, its kind drawn first, so that those with most variety are not rare."""
    axes = len(shape) - 1
    common: _Kinds = {
        "activation": [draw(st.sampled_from(activations))],
        "join": [lambda: _join(draw, shape, activations)],
        "other": [
            lambda: _batch_norm(shape),
            lambda: Scale(shape[0], len(shape)),
            InPlace,
            nn.Dropout,
        ],
    }
    images: _Kinds = {
        "convolution": [lambda: _convolution(draw, shape)],
        "pool": [lambda: _average_pool(draw, shape), lambda: _adaptive_pool(draw, shape)],
        "channels": [Gate, Shuffle],
    }
    vectors: _Kinds = {
        "linear": [lambda: nn.Linear(shape[-1], draw(st.integers(1, 6)), bias=draw(st.booleans()))],
    }
    kinds = {**common, **(images if axes else vectors)}
    kind = draw(st.sampled_from(sorted(kinds)))
    made: nn.Module | None = draw(st.sampled_from(kinds[kind]))()
    return made


def _convolution(draw: Draw, shape: Shape) -> nn.Module | None:
    channels, *sizes = shape
    groups = draw(
        st.sampled_from([each for each in range(1, channels + 1) if channels % each == 0])
    )
    kernel = tuple(draw(st.integers(1, 3)) for _ in sizes)
    dilation = tuple(draw(st.integers(1, 2)) for _ in sizes)
    stride = tuple(draw(st.integers(1, 3)) for _ in sizes)
    padding: Any = tuple(draw(st.integers(0, 2)) for _ in sizes)
    if set(stride) == {1} and draw(st.booleans()):
        padding = draw(st.sampled_from(["same", "valid"]))
    fits = padding == "same" or all(
        size + 2 * (0 if padding == "valid" else padding[axis]) > spread * (width - 1)
        for axis, (size, width, spread) in enumerate(zip(sizes, kernel, dilation, strict=True))
    )
    if not fits:
        return None
    kind: Any = nn.Conv2d if len(sizes) == 2 else nn.Conv1d
    # Torch pads in the other modes by numbers alone.
    modes = ["zeros"] if isinstance(padding, str) else ["zeros", "zeros", "replicate"]
    module: nn.Module = kind(
        channels,
        groups * draw(st.integers(1, 3)),
        kernel,
        stride,
        padding,
        dilation,
        groups,
        draw(st.booleans()),
        draw(st.sampled_from(modes)),
    )
    return module


def _average_pool(draw: Draw, shape: Shape) -> nn.Module:
    _, *sizes = shape
    kernel = tuple(draw(st.integers(1, min(3, size))) for size in sizes)
    stride = tuple(draw(st.integers(1, 3)) for _ in sizes)
    padding = tuple(draw(st.integers(0, width // 2)) for width in kernel)
    kind: Any = nn.AvgPool2d if len(sizes) == 2 else nn.AvgPool1d
    module: nn.Module = kind(kernel, stride, padding, draw(st.booleans()), draw(st.booleans()))
    return module


def _adaptive_pool(draw: Draw, shape: Shape) -> nn.Module:
    _, *sizes = shape
    wanted = tuple(draw(st.integers(1, size)) for size in sizes)
    return nn.AdaptiveAvgPool2d(wanted) if len(sizes) == 2 else nn.AdaptiveAvgPool1d(wanted[0])


def _batch_norm(shape: Shape) -> nn.Module:
    return nn.BatchNorm2d(shape[0]) if len(shape) == 3 else nn.BatchNorm1d(shape[0])


def _join(draw: Draw, shape: Shape, activations: Sequence[Layer]) -> nn.Module:
    kind = draw(st.sampled_from(["add", "subtract", "multiply", "concatenate"]))
    match len(shape):
        case 1:
            inner: nn.Module = nn.Linear(shape[0], shape[0])
        case 2:
            inner = nn.Conv1d(shape[0], shape[0], 3, padding=1)
        case _:
            inner = nn.Conv2d(shape[0], shape[0], (1, 3), padding=(0, 1))
    if draw(st.booleans()):
        inner = nn.Sequential(inner, draw(st.sampled_from(activations))())
    return Join(inner, kind)


def _elements(shape: Shape) -> int:
    return torch.Size(shape).numel()


def _shape_after(layer: nn.Module, shape: Shape) -> Shape:
    with torch.no_grad():
        return tuple(layer.double().eval()(torch.zeros(1, *shape, dtype=torch.float64)).shape[1:])


def _randomise_statistics(module: nn.Module) -> None:
    for part in module.modules():
        if isinstance(part, nn.modules.batchnorm._BatchNorm):
            assert part.running_mean is not None
            assert part.running_var is not None
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2.0)
            nn.init.normal_(part.weight)
            nn.init.normal_(part.bias)
