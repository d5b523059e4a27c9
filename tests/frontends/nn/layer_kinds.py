"""Every kind of layer that a network may have, drawn at random for a shape."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, TypeAlias

import torch
from torch import nn
from torch.nn import functional

Shape: TypeAlias = tuple[int, ...]
# A layer for inputs of a shape, the batch left out; None where there is none.
Kind: TypeAlias = Callable[[Random, Shape], nn.Module | None]


class Apply(nn.Module):
    """A function of a value and known tensors."""

    def __init__(self, function: Callable[..., torch.Tensor], *known: torch.Tensor) -> None:
        super().__init__()
        self.function = function
        for number, each in enumerate(known):
            self.register_buffer(f"known{number}", each)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, *self.buffers())


class Join(nn.Module):
    """What a function makes of a value and of what a layer makes of it."""

    def __init__(
        self, function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor], inner: nn.Module
    ) -> None:
        super().__init__()
        self.function = function
        self.inner = inner

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.function(x, self.inner(x))


class Attention(nn.Module):
    """Scores of queries and keys, their softmax, and values, each written out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.projections = nn.Linear(width, 3 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.projections(x).chunk(3, dim=-1)
        scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        found: torch.Tensor = scores.softmax(-1) @ value
        return found


class Causal(Attention):
    """Attention to what came before, by torch's own function."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.projections(x).chunk(3, dim=-1)
        found: torch.Tensor = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True
        )
        return found


class Heads(nn.Module):
    """Torch's layer of several heads, of the input by itself."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(width, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.layer(x, x, x)[0]
        return found


def _convolution(chance: Random, shape: Shape) -> nn.Module | None:
    channels, *sizes = shape
    if len(sizes) not in (1, 2):
        return None
    groups = chance.choice([each for each in range(1, channels + 1) if channels % each == 0])
    kernel, dilation, stride = (_each(chance, sizes, 1, most) for most in (3, 2, 2))
    padding = _each(chance, sizes, 0, 2)
    reach = [spread * (width - 1) for spread, width in zip(dilation, kernel, strict=True)]
    if any(size + 2 * pad <= far for size, pad, far in zip(sizes, padding, reach, strict=True)):
        return None
    kind: Any = nn.Conv2d if len(sizes) == 2 else nn.Conv1d
    modes = ["zeros", "zeros", "replicate", "circular"]
    if all(pad < size for pad, size in zip(padding, sizes, strict=True)):
        modes.append("reflect")
    made: nn.Module = kind(
        channels,
        groups * chance.randint(1, max(1, 4 // groups)),
        kernel,
        stride,
        "same" if set(stride) == {1} and chance.random() < 0.3 else padding,
        dilation,
        groups,
        chance.random() < 0.7,
        chance.choice(modes),
    )
    return made


def _transposed(chance: Random, shape: Shape) -> nn.Module | None:
    channels, *sizes = shape
    if len(sizes) not in (1, 2):
        return None
    groups = chance.choice([each for each in range(1, channels + 1) if channels % each == 0])
    kernel, dilation, stride = (_each(chance, sizes, 1, most) for most in (3, 2, 2))
    longer = tuple(
        chance.randrange(max(step, spread)) for step, spread in zip(stride, dilation, strict=True)
    )
    kind: Any = nn.ConvTranspose2d if len(sizes) == 2 else nn.ConvTranspose1d
    made: nn.Module = kind(
        channels,
        groups * chance.randint(1, max(1, 4 // groups)),
        kernel,
        stride,
        _each(chance, sizes, 0, 1),
        longer,
        groups,
        chance.random() < 0.7,
        dilation,
    )
    return made


def _linear(chance: Random, shape: Shape) -> nn.Module | None:
    return nn.Linear(shape[-1], chance.randint(1, 6), bias=chance.random() < 0.7)


def _batch_norm(chance: Random, shape: Shape) -> nn.Module | None:
    kinds: dict[int, Any] = {1: nn.BatchNorm1d, 2: nn.BatchNorm1d, 3: nn.BatchNorm2d}
    if len(shape) not in kinds:
        return None
    made: nn.Module = kinds[len(shape)](shape[0], affine=chance.random() < 0.7)
    return made


def _layer_norm(chance: Random, shape: Shape) -> nn.Module | None:
    axes = chance.randint(1, len(shape))
    if math.prod(shape[-axes:]) < _FEWEST:
        return None
    return nn.LayerNorm(shape[-axes:], elementwise_affine=chance.random() < 0.7)


def _rms_norm(chance: Random, shape: Shape) -> nn.Module | None:
    axes = chance.randint(1, len(shape))
    if math.prod(shape[-axes:]) < _FEWEST:
        return None
    return nn.RMSNorm(shape[-axes:], eps=chance.choice([None, 1e-3]))


def _group_norm(chance: Random, shape: Shape) -> nn.Module | None:
    groups = [
        each
        for each in range(1, shape[0] + 1)
        if shape[0] % each == 0 and math.prod(shape) // each >= _FEWEST
    ]
    return nn.GroupNorm(chance.choice(groups), shape[0]) if groups and len(shape) > 1 else None


def _instance_norm(chance: Random, shape: Shape) -> nn.Module | None:
    kinds: dict[int, Any] = {2: nn.InstanceNorm1d, 3: nn.InstanceNorm2d}
    if len(shape) not in kinds or math.prod(shape[1:]) < _FEWEST:
        return None
    made: nn.Module = kinds[len(shape)](shape[0], affine=chance.random() < 0.5)
    return made


# The fewest numbers in a norm: the variance of fewer is often next to nothing.
_FEWEST = 6


def _activation(*makes: Callable[[], nn.Module]) -> Kind:
    return lambda chance, shape: chance.choice(makes)()


def _max_pool(chance: Random, shape: Shape) -> nn.Module | None:
    sizes = shape[1:]
    if len(sizes) not in (1, 2):
        return None
    kernel = tuple(chance.randint(1, min(2, size)) for size in sizes)
    padding = tuple(chance.randint(0, width // 2) for width in kernel)
    kind: Any = nn.MaxPool2d if len(sizes) == 2 else nn.MaxPool1d
    made: nn.Module = kind(
        kernel, _each(chance, sizes, 1, 2), padding, ceil_mode=chance.random() < 0.3
    )
    return made


def _average_pool(chance: Random, shape: Shape) -> nn.Module | None:
    sizes = shape[1:]
    if len(sizes) not in (1, 2):
        return None
    kernel = tuple(chance.randint(1, min(3, size)) for size in sizes)
    padding = tuple(chance.randint(0, width // 2) for width in kernel)
    kind: Any = nn.AvgPool2d if len(sizes) == 2 else nn.AvgPool1d
    made: nn.Module = kind(
        kernel, _each(chance, sizes, 1, 2), padding, chance.random() < 0.5, chance.random() < 0.5
    )
    return made


def _adaptive_average(chance: Random, shape: Shape) -> nn.Module | None:
    sizes = shape[1:]
    if len(sizes) not in (1, 2):
        return None
    wanted: Any = tuple(chance.randint(1, size) for size in sizes)
    return nn.AdaptiveAvgPool2d(wanted) if len(sizes) == 2 else nn.AdaptiveAvgPool1d(wanted)


def _adaptive_maximum(chance: Random, shape: Shape) -> nn.Module | None:
    sizes = shape[1:]
    if len(sizes) not in (1, 2):
        return None
    wanted: Any = tuple(chance.randint(max(1, size // 2), size) for size in sizes)
    return nn.AdaptiveMaxPool2d(wanted) if len(sizes) == 2 else nn.AdaptiveMaxPool1d(wanted)


def _softmax(chance: Random, shape: Shape) -> nn.Module | None:
    return nn.Softmax(chance.randint(1, len(shape)))


def _attention(chance: Random, shape: Shape) -> nn.Module | None:
    if len(shape) != 2:
        return None
    kinds: list[Any] = [Attention, Causal]
    if shape[1] % 2 == 0:
        kinds.append(Heads)
    made: nn.Module = chance.choice(kinds)(shape[1])
    return made


def _gated(chance: Random, shape: Shape) -> nn.Module | None:
    even = [axis for axis, size in enumerate(shape, start=1) if size % 2 == 0]
    return nn.GLU(chance.choice(even)) if even else None


def _residual(chance: Random, shape: Shape) -> nn.Module | None:
    return Join(chance.choice([torch.add, torch.sub]), _same_shape(chance, shape))


def _concatenation(chance: Random, shape: Shape) -> nn.Module | None:
    axis = chance.randint(1, len(shape))
    return Join(lambda x, y: torch.cat([x, y], axis), _same_shape(chance, shape))


def _product(chance: Random, shape: Shape) -> nn.Module | None:
    return Join(torch.mul, _same_shape(chance, shape))


def _same_shape(chance: Random, shape: Shape) -> nn.Module:
    """A layer of a few that keep a shape, and an activation or none."""
    inner: nn.Module = nn.Linear(shape[-1], shape[-1])
    if len(shape) == 3 and chance.random() < 0.5:
        inner = nn.Conv2d(shape[0], shape[0], (1, 3), padding=(0, 1))
    return nn.Sequential(inner, chance.choice([nn.Identity, nn.SiLU, nn.Tanh])())


def _einsum_with_weights(chance: Random, shape: Shape) -> nn.Module | None:
    letters = "xyzw"[: len(shape)]
    sizes = dict(zip(letters, shape, strict=True)) | {"k": chance.randint(1, 4)}
    taken = chance.sample(letters, chance.randint(1, len(letters)))
    of_weights = "".join([*taken, *chance.choice(["k", ""])])
    # Of the letters that the weights have, some remain.
    left = [each for each in letters if each not in taken or chance.random() < 0.3]
    result = [*left, *(["k"] if "k" in of_weights else [])]
    if not result:
        return None
    chance.shuffle(result)
    weights = torch.randn(*(sizes[each] for each in of_weights)) / math.prod(
        sizes[each] for each in taken
    )
    equation = f"b{letters},{of_weights}->b{''.join(result)}"
    return Apply(lambda x, known: torch.einsum(equation, x, known), weights)


def _einsum_of_values(chance: Random, shape: Shape) -> nn.Module | None:
    axes = len(shape)
    letters = "xyzw"[:axes]
    axis = chance.randrange(axes)
    other = letters.replace(letters[axis], "k")
    # Rows by rows, or the product of each with each, summed over some.
    result = [each for each in [*letters, "k"] if chance.random() < 0.6] or ["k"]
    chance.shuffle(result)
    factor = 1.0 / math.prod(shape)
    equation = f"b{letters},b{other}->b{''.join(result)}"
    return Join(lambda x, y: factor * torch.einsum(equation, x, y), _same_shape(chance, shape))


def _where(chance: Random, shape: Shape) -> nn.Module | None:
    mask = torch.rand(*shape) < 0.5
    function: Callable[..., torch.Tensor] = chance.choice(
        [
            lambda x, known: torch.where(known, x, 0.5),
            lambda x, known: torch.where(known, 1 - x, x),
            lambda x, known: torch.where(known, -0.25, 2 * x),
            lambda x, known: x.masked_fill(known, 0.75),
        ]
    )
    return Apply(function, mask)


def _pad(chance: Random, shape: Shape) -> nn.Module | None:
    axes = chance.randint(1, len(shape))
    sides = [chance.randint(0, 1) for _ in range(2 * axes)]
    value = chance.choice([0.0, 1.5, -0.5])
    return Apply(lambda x: functional.pad(x, sides, value=value))


def _running_total(chance: Random, shape: Shape) -> nn.Module | None:
    axis = chance.choice([*range(1, len(shape) + 1), *range(-len(shape), 0)])
    return Apply(lambda x: torch.cumsum(x, axis))


def _expand(chance: Random, shape: Shape) -> nn.Module | None:
    place = chance.randint(1, len(shape))
    count = chance.randint(2, 3)
    sizes = [-1] * (len(shape) + 2)
    sizes[place] = count
    if len(shape) == 3:
        return Apply(lambda x: x.mean(place, keepdim=True).expand(-1, *shape) + x)
    return Apply(lambda x: x.unsqueeze(place).expand(sizes))


def _permute(chance: Random, shape: Shape) -> nn.Module | None:
    axes = list(range(1, len(shape) + 1))
    chance.shuffle(axes)
    turned = chance.choice(axes)
    return Apply(lambda x: x.flip(turned).permute(0, *axes))


def _reshape(chance: Random, shape: Shape) -> nn.Module | None:
    elements = math.prod(shape)
    first = chance.choice([each for each in range(1, 9) if elements % each == 0])
    rest = elements // first
    second = chance.choice([each for each in range(1, 9) if rest % each == 0])
    sizes = chance.choice([(first, rest), (first, second, rest // second)])
    # Torch finds the size of the batch, or of the last axis, itself.
    asked = chance.choice([(-1, *sizes), (None, *sizes[:-1], -1)])
    return Apply(lambda x: x.reshape([len(x) if size is None else size for size in asked]))


def _flatten(chance: Random, shape: Shape) -> nn.Module | None:
    first = chance.randint(1, len(shape))
    return nn.Flatten(first, chance.randint(first, len(shape)))


def _part(chance: Random, shape: Shape) -> nn.Module | None:
    axis = chance.randint(1, len(shape))
    size = shape[axis - 1]
    begin = chance.randrange(size)
    return Apply(lambda x: x.narrow(axis, begin, size - begin))


def _reduced(chance: Random, shape: Shape) -> nn.Module | None:
    if len(shape) == 1:
        return None
    axis, keepdim = chance.randint(1, len(shape)), chance.random() < 0.5
    if chance.random() < 0.5:
        return Apply(lambda x: x.mean(axis, keepdim=keepdim))
    return Apply(lambda x: x.sum(axis, keepdim=keepdim))


def _in_place(chance: Random, shape: Shape) -> nn.Module | None:
    count = chance.randint(1, shape[0])

    def changed(x: torch.Tensor) -> torch.Tensor:
        x = x.clone()
        x[:, :count] *= 0.5
        x += 0.25
        return x

    return Apply(changed)


def _each(chance: Random, sizes: list[int] | Shape, least: int, most: int) -> tuple[int, ...]:
    return tuple(chance.randint(least, most) for _ in sizes)


class Square(nn.Module):
    """x * x."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * x


class Cubic(nn.Module):
    """A polynomial written out."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 0.1 * x**3 - x**2 / 4 + 0.5 * x - 1


KINDS: Mapping[str, Kind] = {
    "convolution": _convolution,
    "transposed convolution": _transposed,
    "linear": _linear,
    "batch norm": _batch_norm,
    "layer norm": _layer_norm,
    "group norm": _group_norm,
    "instance norm": _instance_norm,
    "RMS norm": _rms_norm,
    "ReLU": _activation(nn.ReLU, lambda: nn.ReLU(inplace=True), lambda: nn.LeakyReLU(0.2)),
    "SiLU": _activation(nn.SiLU),
    "GELU": _activation(nn.GELU, lambda: nn.GELU("tanh")),
    "hardswish": _activation(nn.Hardswish, nn.Hardsigmoid),
    "ELU": _activation(nn.ELU, lambda: nn.ELU(0.5), nn.CELU, nn.SELU),
    "sigmoid": _activation(nn.Sigmoid, nn.LogSigmoid),
    "tanh": _activation(nn.Tanh),
    "other activation": _activation(nn.Mish, nn.Softplus, lambda: nn.Hardtanh(-0.5, 0.75)),
    "square": _activation(Square, Cubic),
    "max pool": _max_pool,
    "average pool": _average_pool,
    "adaptive average pool": _adaptive_average,
    "adaptive max pool": _adaptive_maximum,
    "softmax": _softmax,
    "attention": _attention,
    "GLU": _gated,
    "residual sum": _residual,
    "concatenation": _concatenation,
    "product of values": _product,
    "einsum with weights": _einsum_with_weights,
    "einsum of values": _einsum_of_values,
    "where": _where,
    "pad": _pad,
    "cumsum": _running_total,
    "expand": _expand,
    "permute": _permute,
    "reshape": _reshape,
    "flatten": _flatten,
    "part": _part,
    "reduction": _reduced,
    "in place": _in_place,
}
# They are or contain polynomials of many levels.
DEEP = frozenset(
    {
        "layer norm",
        "group norm",
        "instance norm",
        "RMS norm",
        "ReLU",
        "hardswish",
        "ELU",
        "other activation",
        "max pool",
        "adaptive max pool",
        "softmax",
        "attention",
    }
)
