"""The stages of a network with what follows from them alone: levels, matrices, tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cloakwork.plan.networks.matrix import Matrix
from cloakwork.plan.networks.packings.convolution import Image, strides_of
from cloakwork.plan.networks.spread import with_products_spread
from cloakwork.plan.networks.stages import (
    ActivationStage,
    CiphertextProduct,
    DistanceProduct,
    EncryptedInput,
    MatrixProduct,
    Stage,
    Stages,
)
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.distances import Distances
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.slots import polynomial_depth

# Of an operand that is not linear: twice its real or its imaginary part is taken.
_PART_OF_PAIRS = 0.5


@dataclass(frozen=True, eq=False)
class StagedNetwork:
    """The stages of a network with their levels, matrices and tensors.

    Args:
        graph: The layers.
        stages: The stages.
        outputs: For each result the number of its stage.
        pairs: Whether two inputs share their slots, as real and imaginary part.
    """

    graph: g.Graph
    stages: tuple[Stage, ...]
    outputs: tuple[int, ...]
    pairs: bool = False

    @classmethod
    def of(
        cls, graph: g.Graph, stages_of: Callable[[g.Graph, float], Stages], *, pairs: bool
    ) -> StagedNetwork:
        """The stages of a network, for an input a slot or for two."""
        graph = with_products_spread(graph)
        stages = stages_of(graph, _PART_OF_PAIRS if pairs else 1.0)
        return cls(graph, stages.all, stages.outputs, pairs)

    def lanes(self, batch: int) -> int:
        """Numbers, real or complex, that a ciphertext has for every place with so many inputs."""
        return power_of_two(-(-batch // 2) if self.pairs else batch)

    def width(self, lanes: int) -> int:
        """Inputs that a ciphertext has slots for."""
        return 2 * lanes if self.pairs else lanes

    @cached_property
    def levels(self) -> tuple[int, ...]:
        """The level that each stage's result is needed at, 0 where no stage works on it."""
        levels = [0] * len(self.stages)
        for number in reversed(range(len(self.stages))):
            stage = self.stages[number]
            for operand in operands_of_stage(stage):
                levels[operand] = max(levels[operand], levels[number] + depth_of_stage(stage))
        return tuple(levels)

    @property
    def depth(self) -> int:
        """The levels that the network takes."""
        return max(self.levels)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """For each stage the first of the stages that have the same packing."""
        groups = list(range(len(self.stages)))

        def first(number: int) -> int:
            while groups[number] != number:
                number = groups[number]
            return number

        for number, stage in enumerate(self.stages):
            if isinstance(stage, DistanceProduct):
                continue
            if not isinstance(stage, MatrixProduct) or stage.signs is not None:
                for operand in operands_of_stage(stage):
                    one, other = sorted((first(number), first(operand)))
                    groups[other] = one
        return tuple(map(first, range(len(self.stages))))

    @cached_property
    def distances(self) -> tuple[Distances, ...]:
        """How tokens go by distance, in all ways that they do."""
        found = (
            stage.operation.distances for stage in self.stages if isinstance(stage, DistanceProduct)
        )
        return tuple(dict.fromkeys(found))

    @cached_property
    def places_of_groups(self) -> Mapping[int, NDArray[np.int64]]:
        """The places of each group of stages that has no others, as tokens go by distance."""
        found: dict[int, NDArray[np.int64]] = {}
        for number, stage in enumerate(self.stages):
            if isinstance(stage, DistanceProduct):
                distances = stage.operation.distances
                features, results = distances.places_of_features(), distances.places_of_results()
                is_summed = isinstance(stage.operation, g.SumsOverDistances)
                left, out = (results, features) if is_summed else (features, results)
                for each, places in ((stage.left, left), (stage.right, features), (number, out)):
                    found[self.groups[each]] = places
        return found

    @cached_property
    def products(self) -> tuple[tuple[int, int], ...]:
        """Every product with a matrix: its stage and the stage of its operand."""
        return tuple(
            (number, operand)
            for number, stage in enumerate(self.stages)
            if isinstance(stage, MatrixProduct) and stage.signs is None
            for operand in stage.terms
        )

    def matrix(self, number: int, operand: int) -> Matrix:
        """The matrix of a product."""
        stage = self.stages[number]
        assert isinstance(stage, MatrixProduct)
        return stage.terms[operand]

    @cached_property
    def images(self) -> tuple[Image, ...]:
        """The tensor of each stage."""
        strides = strides_of(self.graph)
        return tuple(Image(stage.shape, strides[stage.node]) for stage in self.stages)


def operands_of_stage(stage: Stage) -> tuple[int, ...]:
    """The stages whose results a stage works on."""
    match stage:
        case EncryptedInput():
            return ()
        case MatrixProduct(terms=terms):
            return tuple(terms)
        case ActivationStage(operand=operand):
            return (operand,)
        case CiphertextProduct(left=left, right=right) | DistanceProduct(left=left, right=right):
            return (left, right)


def depth_of_stage(stage: Stage) -> int:
    """Levels that a stage takes."""
    match stage:
        case EncryptedInput():
            return 0
        case MatrixProduct():
            return 0 if stage.signs is not None else 1
        case ActivationStage(coefficients=coefficients):
            return 1 if stage.squares else polynomial_depth(coefficients)
        case CiphertextProduct():
            return 1
        case DistanceProduct():
            return 2
