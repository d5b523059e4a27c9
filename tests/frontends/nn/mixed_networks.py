"""Small networks of every kind of layer, one for each seed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import nn

from tests.frontends.nn.layer_kinds import DEEP, KINDS, Shape

# How many inputs a network is calibrated on, and how many more there are.
SAMPLES = 128

OTHERS = 4

_MAX_ELEMENTS = 200
_MAX_DEEP = 2
# How far apart variances may lie: there is no polynomial near the root of more.
_MAX_SPREAD = 1000.0

EMBEDDING, INPUTS, RESULTS, BATCH = "embedding", "several inputs", "several results", "batch"
ALL_KINDS = (*KINDS, EMBEDDING, INPUTS, RESULTS, BATCH)


@dataclass(frozen=True)
class MixedNetwork:
    """A network in float64 and eval mode.

    Args:
        module: The network.
        samples: A batch of each input, to calibrate on.
        others: Fewer inputs, drawn as these are.
        batch: How many inputs go in at once.
        kinds: The kinds of its layers.
    """

    module: nn.Module
    samples: tuple[torch.Tensor, ...]
    others: tuple[torch.Tensor, ...]
    batch: int
    kinds: frozenset[str]

    def __call__(self, inputs: tuple[torch.Tensor, ...]) -> Any:
        """What torch computes."""
        with torch.no_grad():
            return self.module(*inputs)


class Embedded(nn.Module):
    """The rows of an embedding that inputs name by a one each."""

    def __init__(self, names: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(names, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.embedding.weight


class Sides(nn.Module):
    """Two inputs, each through layers of its own, and layers after what joins them."""

    def __init__(self, left: nn.Module, right: nn.Module, join: str, after: nn.Module) -> None:
        super().__init__()
        self.left, self.right, self.after = left, right, after
        self.join = join

    def forward(self, image: torch.Tensor, profile: torch.Tensor) -> torch.Tensor:
        x, y = self.left(image).flatten(1), self.right(profile).flatten(1)
        match self.join:
            case "sum":
                joined = x - 2 * y
            case "product":
                joined = x * y
            case "outer":
                joined = torch.einsum("bi,bj->bij", x, y)
            case _:
                joined = torch.cat([x, y], 1)
        made: torch.Tensor = self.after(joined)
        return made


class Scored(nn.Module):
    """A linear layer of all that a network makes."""

    def __init__(self, body: nn.Module, features: int, scores: int) -> None:
        super().__init__()
        self.body = body
        self.last = nn.Linear(features, scores)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        scores: torch.Tensor = self.last(self.body(*inputs).flatten(1))
        return scores


class Results(nn.Module):
    """Results of a network and of what is computed of them, in a form."""

    def __init__(self, body: nn.Module, form: str) -> None:
        super().__init__()
        self.body = body
        self.form = form

    def forward(self, *inputs: torch.Tensor) -> Any:
        x = self.body(*inputs)
        y = x.flatten(1).mean(1, keepdim=True)
        match self.form:
            case "tuple":
                return x, y
            case "list":
                return [y, 2 * x]
            case _:
                return {"features": x, "score": y}


class _Drawing:
    """A network while it is drawn: the kinds of its layers so far, one of which is wanted."""

    def __init__(self, chance: Random, wanted: str, depth: int) -> None:
        self.chance = chance
        self.wanted = wanted
        self.depth = depth
        self.kinds = {kind for kind in (INPUTS, RESULTS, BATCH) if self.takes(kind)}
        self.deep = 0

    def takes(self, kind: str) -> bool:
        """Whether a kind is taken that is no layer between others."""
        return kind == self.wanted or self.chance.random() < 0.15

    def layers(self, shape: Shape, depth: int) -> tuple[nn.Sequential, Shape]:
        """Layers for inputs of a shape, and the shape of what they make."""
        made: list[nn.Module] = []
        for left in range(depth, 0, -1):
            missing = self.wanted in KINDS and self.wanted not in self.kinds
            kinds = self.chance.sample(list(KINDS), len(KINDS))
            if missing and self.chance.random() < 1.0 / left:
                kinds.insert(0, self.wanted)
            layer, shape = self.fitting(shape, kinds)
            made.append(layer)
        return nn.Sequential(*made), shape

    def fitting(self, shape: Shape, kinds: list[str]) -> tuple[nn.Module, Shape]:
        """A layer of the first kind that fits a shape, and the shape of what it makes."""
        for kind in kinds:
            if kind in DEEP and self.deep == max(_MAX_DEEP, self.depth // 2):
                continue
            layer = KINDS[kind](self.chance, shape)
            grown = None if layer is None else _shape_after(layer, shape)
            if layer is not None and grown is not None:
                self.kinds.add(kind)
                self.deep += kind in DEEP
                return layer, grown
        raise AssertionError(shape)

    def side(self, depth: int) -> tuple[nn.Module, torch.Tensor, Shape]:
        """Layers, the inputs that they take, and the shape of what they make."""
        axes = self.chance.choice([0, 1, 1, 2, 2, 2])
        shape = (self.chance.randint(1, 4), *(self.chance.randint(4, 8) for _ in range(axes)))
        if axes == 1 and self.takes(EMBEDDING):
            self.kinds.add(EMBEDDING)
            length, names = shape
            inputs = nn.functional.one_hot(torch.randint(names, (SAMPLES + OTHERS, length)), names)
            width = self.chance.randint(2, 6)
            body, grown = self.layers((length, width), depth)
            return nn.Sequential(Embedded(names, width), body), inputs, grown
        body, grown = self.layers(shape, depth)
        return body, torch.rand(SAMPLES + OTHERS, *shape) * 2 - 1, grown

    def network(self) -> MixedNetwork | None:
        """The network; None where the wanted kind found no place, or inputs hardly vary."""
        chance, depth = self.chance, self.depth
        if INPUTS in self.kinds:
            sides = [self.side(depth // 2) for _ in range(2)]
            (left, *_), (right, *_) = sides
            module, shape = self.joined(left, right, [grown for *_, grown in sides], depth // 2)
            inputs = [each for _, each, _ in sides]
        else:
            module, made, shape = self.side(depth)
            inputs = [made]
        if chance.random() < 0.5:
            module = Scored(module, math.prod(shape), chance.randint(1, 5))
        if RESULTS in self.kinds:
            module = Results(module, chance.choice(["tuple", "list", "dict"]))
        if self.wanted not in self.kinds:
            return None
        module = module.double().eval()
        _randomise_statistics(module)
        samples = tuple(each[:SAMPLES].double() for each in inputs)
        if _spread_of_variances(module, samples) > _MAX_SPREAD:
            return None
        return MixedNetwork(
            module,
            samples,
            tuple(each[SAMPLES:].double() for each in inputs),
            chance.randint(2, OTHERS) if BATCH in self.kinds else 1,
            frozenset(self.kinds),
        )

    def joined(
        self, left: nn.Module, right: nn.Module, shapes: list[Shape], depth: int
    ) -> tuple[nn.Module, Shape]:
        """Two sides, brought to one size, and layers after what joins them."""
        width = self.chance.randint(2, 4)
        left, right = (
            nn.Sequential(side, nn.Flatten(), nn.Linear(math.prod(shape), width))
            for side, shape in zip((left, right), shapes, strict=True)
        )
        join = self.chance.choice(["sum", "product", "outer", "concatenation"])
        sizes = {"outer": (width, width), "concatenation": (2 * width,)}
        after, grown = self.layers(sizes.get(join, (width,)), depth)
        return Sides(left, right, join, after), grown


def mixed_network(seed: int, depth: int | None = None) -> MixedNetwork:
    """The network of a seed: each kind is in at least one of as many seeds in turn as kinds.

    Args:
        seed: What its layers and weights are drawn by.
        depth: How many layers there are; from two to six by default.
    """
    chance = Random(seed)
    torch.manual_seed(seed)
    wanted = ALL_KINDS[seed % len(ALL_KINDS)]
    found = None
    while found is None:
        found = _Drawing(chance, wanted, depth or chance.randint(2, 6)).network()
    return found


def _shape_after(layer: nn.Module, shape: Shape) -> Shape | None:
    """The shape of what a layer makes; None where it is too large, or torch refuses it."""
    inputs = torch.zeros(1, *shape, dtype=torch.float64)
    try:
        with torch.no_grad():
            grown = tuple(layer.double().eval()(inputs).shape[1:])
    except (RuntimeError, ValueError):
        return None
    return grown if grown and 0 < math.prod(grown) <= _MAX_ELEMENTS else None


def _randomise_statistics(module: nn.Module) -> None:
    """Bring norms to what training might have."""
    norms = (nn.modules.batchnorm._NormBase, nn.GroupNorm, nn.LayerNorm, nn.RMSNorm)
    for part in module.modules():
        if not isinstance(part, norms):
            continue
        for parameter in part.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
        if isinstance(part, nn.modules.batchnorm._NormBase) and part.running_var is not None:
            assert part.running_mean is not None
            part.running_mean.normal_()
            part.running_var.uniform_(0.5, 2.0)


def _spread_of_variances(module: nn.Module, samples: tuple[torch.Tensor, ...]) -> float:
    """The largest of the variances that a norm divides by, as a multiple of the smallest."""
    spreads = [1.0]

    def look(part: nn.Module, given: tuple[torch.Tensor], _: torch.Tensor) -> None:
        x = given[0]
        match part:
            case nn.LayerNorm() | nn.RMSNorm():
                groups = x.flatten(-len(part.normalized_shape))
            case nn.GroupNorm():
                groups = x.reshape(len(x), part.num_groups, -1)
            case _:
                groups = x.flatten(2)
        centre = 0.0 if isinstance(part, nn.RMSNorm) else groups.mean(-1, keepdim=True)
        eps: Any = torch.finfo(x.dtype).eps if part.eps is None else part.eps
        variances = (groups - centre).square().mean(-1) + eps
        spreads.append(float(variances.max() / variances.min()))

    kinds = (nn.LayerNorm, nn.RMSNorm, nn.GroupNorm, nn.modules.instancenorm._InstanceNorm)
    hooks = [
        part.register_forward_hook(look) for part in module.modules() if isinstance(part, kinds)
    ]
    with torch.no_grad():
        module(*samples)
    for hook in hooks:
        hook.remove()
    return max(spreads)
