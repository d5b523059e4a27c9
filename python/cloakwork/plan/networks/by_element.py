"""From the stages of a network to a slot program in which every element has its own ciphertext.

Each slot is that of one input, so that there are no rotations: a product with a matrix is weighted
sums of ciphertexts (`programs.operations.weighted`). It is how most inputs a second go through,
once there are as many as slots (CryptoNets: Gilad-Bachrach et al., ICML 2016).

Elements are computed when the next stage asks for them, so that of a convolution only the rows
that the next one reads are held at once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from scipy import sparse

from cloakwork.plan.networks.lower import LoweredNetwork, stage_title
from cloakwork.plan.networks.matrix import Matrix
from cloakwork.plan.networks.staged import StagedNetwork, depth_of_stage, operands_of_stage
from cloakwork.plan.networks.stages import (
    ActivationStage,
    CiphertextProduct,
    DistanceProduct,
    EncryptedInput,
    MatrixProduct,
    Stage,
)
from cloakwork.plan.networks.writer import (
    append_activation,
    append_product_of_values,
    append_signed_sum,
)
from cloakwork.programs.activation_range import ActivationRange
from cloakwork.programs.ir import layers as g
from cloakwork.programs.places import Places
from cloakwork.programs.slots import (
    Add,
    Builder,
    DropLevel,
    Input,
    Output,
    TakeSum,
    WeightedSums,
)

# Sums that are made at once, at most: they are all held until the last is taken.
_MOST_SUMS = 256
_NAME = "a ciphertext each"


def places_of(stage: Stage) -> Places:
    """How the elements of a stage lie: each in the slots of a ciphertext of its own."""
    return Places(1, np.arange(prod(stage.shape)), _NAME)


def lowered_by_element(title: str, network: StagedNetwork, slots: int) -> LoweredNetwork:
    """The slot program of a network, every level at its lowest."""
    builder = Builder(title, slots)
    writer = _ElementWriter(network, builder)
    outputs = [
        [writer.at_level(number, element, 0) for element in range(_size(network.stages[number]))]
        for number in network.outputs
    ]
    for number, values in zip(network.outputs, outputs, strict=True):
        builder.stage = stage_title(network.stages[number], places_of(network.stages[number]))
        for value in values:
            builder.append(Output(value))
    inputs = [each for each in network.stages if isinstance(each, EncryptedInput)]
    return LoweredNetwork(
        builder.finish(),
        tuple(places_of(stage) for stage in inputs),
        tuple(places_of(network.stages[number]) for number in network.outputs),
        writer.ranges(),
    )


def _size(stage: Stage) -> int:
    return prod(stage.shape)


@dataclass(frozen=True, slots=True, eq=False)
class _SumsOfElements:
    """Elements of a product that are sums of the same elements of its operands.

    Args:
        rows: The elements.
        terms: The operands' stages and elements.
        weights: By row and term.
    """

    rows: g.Array
    terms: Sequence[tuple[int, int]]
    weights: g.Array


def sums_of(terms: Mapping[int, Matrix]) -> list[_SumsOfElements]:
    """The rows of matrices side by side, those together that have the same columns.

    Example:
        >>> matrix = Matrix.of(np.array([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0], [4.0, 5.0, 0.0]]))
        >>> [(each.rows.tolist(), each.terms) for each in sums_of({7: matrix})]
        [([0, 2], [(7, 0), (7, 1)]), ([1], [(7, 2)])]
    """
    stages = np.repeat([*terms], [matrix.shape[1] for matrix in terms.values()])
    elements = np.concatenate([np.arange(matrix.shape[1]) for matrix in terms.values()])
    joined = sparse.csr_array(
        sparse.hstack([each.sparse() for each in terms.values()], format="csr")
    )
    joined.eliminate_zeros()
    joined.sort_indices()
    alike: dict[bytes, list[int]] = {}
    for row in range(joined.shape[0]):
        columns = joined.indices[joined.indptr[row] : joined.indptr[row + 1]]
        alike.setdefault(columns.tobytes(), []).append(row)
    found: list[_SumsOfElements] = []
    for rows in alike.values():
        first = rows[0]
        columns = joined.indices[joined.indptr[first] : joined.indptr[first + 1]]
        # An element that is a bias and nothing else is a sum of one element's zeroth part.
        used = columns if len(columns) else np.zeros(1, dtype=np.int64)
        pairs = [(int(stages[column]), int(elements[column])) for column in used]
        for start in range(0, len(rows), _MOST_SUMS):
            some = np.asarray(rows[start : start + _MOST_SUMS])
            weights = np.zeros((len(some), len(used)))
            if len(columns):
                weights[:] = joined[some][:, columns].toarray()
            found.append(_SumsOfElements(some, pairs, weights))
    return found


class _ElementWriter:
    """Appends the operations of an element, and those before that it is made of."""

    def __init__(self, network: StagedNetwork, builder: Builder) -> None:
        self._network = network
        self._builder = builder
        self._values: dict[tuple[int, int], int] = {}
        self._dropped: dict[tuple[int, int], int] = {}
        self._sums: dict[int, list[_SumsOfElements]] = {}
        self._sum_of: dict[tuple[int, int], int] = {}
        self._titles = [stage_title(stage, places_of(stage)) for stage in network.stages]
        for number, stage in enumerate(network.stages):
            if isinstance(stage, EncryptedInput):
                self._append_input(number, stage)
            elif isinstance(stage, MatrixProduct) and stage.signs is None:
                self._sums[number] = sums_of(stage.terms)
                for place, each in enumerate(self._sums[number]):
                    for row in each.rows.tolist():
                        self._sum_of[number, row] = place

    def _append_input(self, number: int, stage: EncryptedInput) -> None:
        self._builder.stage = self._titles[number]
        for element in range(_size(stage)):
            made = Input(f"{stage.name}{element}", self._network.levels[number])
            self._values[number, element] = self._builder.append(made)

    def ranges(self) -> tuple[ActivationRange, ...]:
        """What every polynomial expects of its operand."""
        return tuple(
            ActivationRange(
                stage.name,
                tuple(
                    self._values[stage.operand, element]
                    for element in range(_size(self._network.stages[stage.operand]))
                ),
                places_of(self._network.stages[stage.operand]),
                stage.low,
                stage.high,
                stage.scale,
                stage.shift,
            )
            for number, stage in enumerate(self._network.stages)
            if isinstance(stage, ActivationStage) and (number, 0) in self._values
        )

    def at_level(self, number: int, element: int, level: int) -> int:
        """An element of a stage's result at a level."""
        value = self._element(number, element)
        if self._builder.level(value) == level:
            return value
        if (value, level) not in self._dropped:
            self._dropped[value, level] = self._builder.append(DropLevel(value, level))
        return self._dropped[value, level]

    def _element(self, number: int, element: int) -> int:
        if (number, element) not in self._values:
            stage = self._network.stages[number]
            level = self._network.levels[number] + depth_of_stage(stage)
            if (number, element) in self._sum_of:
                self._append_sums(number, self._sums[number][self._sum_of[number, element]], level)
            else:
                operands = [
                    self.at_level(each, element, level) for each in operands_of_stage(stage)
                ]
                self._builder.stage = self._titles[number]
                self._values[number, element] = self._made(stage, operands, element)
        return self._values[number, element]

    def _append_sums(self, number: int, sums: _SumsOfElements, level: int) -> None:
        stage = self._network.stages[number]
        assert isinstance(stage, MatrixProduct)
        operands = tuple(self.at_level(*term, level) for term in sums.terms)
        self._builder.stage = self._titles[number]
        made = self._builder.append(WeightedSums(operands, sums.weights, stage.bias[sums.rows]))
        for place, row in enumerate(sums.rows.tolist()):
            self._values[number, row] = self._builder.append(TakeSum(made, place))

    def _made(self, stage: Stage, operands: Sequence[int], element: int) -> int:
        match stage:
            case ActivationStage():
                return append_activation(self._builder, stage, operands[0])
            case CiphertextProduct():
                return append_product_of_values(self._builder, *operands)
            case MatrixProduct():
                return self._signed_sum(stage, operands, element)
            case EncryptedInput():
                raise AssertionError("inputs are appended before anything else")
            case DistanceProduct():
                raise AssertionError("tokens that share no ciphertext have no distance there")

    def _signed_sum(self, stage: MatrixProduct, operands: Sequence[int], element: int) -> int:
        builder = self._builder
        assert stage.signs is not None
        total = append_signed_sum(builder, operands, stage.signs)
        if stage.bias[element]:
            bias = builder.constant(np.full(builder.slots, stage.bias[element]))
            total = builder.append(Add(total, bias))
        return total
