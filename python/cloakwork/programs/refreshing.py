"""What bootstraps under a parameter set take and give: levels, keys, transforms, errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Literal, TypeAlias

from cloakwork._native import (
    Bootstrapping,
    BootstrappingParameters,
    CkksEstimate,
    Parameters,
)
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.operations.bootstrapping import Bootstrap, BootstrapOfCoefficients

# What is refreshed: real numbers in slots, or coefficients, which come out in slots.
RefreshedPacking: TypeAlias = Literal["real", "coefficients"]


class Refreshing:
    """The bootstrapping of full vectors of real numbers under a parameter set, or of coefficients.

    Args:
        parameters: The parameter set, whose chain has the levels of the bootstrapping.
        packing: What is refreshed.

    Example:
        >>> refreshing = Refreshing(BootstrappingParameters(8, levels=2, insecure=True))
        >>> refreshing.input_level, refreshing.output_level
        (3, 5)
    """

    def __init__(
        self, parameters: BootstrappingParameters, packing: RefreshedPacking = "real"
    ) -> None:
        self.parameters = parameters
        self.packing = packing

    @property
    def chain(self) -> Parameters:
        """The parameters of keys and ciphertexts."""
        return self.parameters.parameters

    @property
    def input_level(self) -> int:
        """The least level of a value that is refreshed."""
        return 0 if self.packing == "coefficients" else self.parameters.input_level

    @property
    def output_level(self) -> int:
        """The level of a refreshed value."""
        return self.parameters.output_level

    def operation(self, operand: int) -> Bootstrap:
        """What refreshes a value of a program."""
        kind = BootstrapOfCoefficients if self.packing == "coefficients" else Bootstrap
        return kind(operand, self.input_level, self.output_level)

    @property
    def bound(self) -> float:
        """The largest absolute value that a refreshed vector may have."""
        return self.parameters.bound

    @cached_property
    def circuit(self) -> Bootstrapping:
        """The circuit with its diagonals not encoded: for keys, estimates and counts."""
        return Bootstrapping.streamed(self.parameters, slots=self.chain.slots, packing=self.packing)

    def encoded_circuit(self) -> Bootstrapping:
        """The circuit with its diagonals encoded, which take `encoded_bytes`."""
        return Bootstrapping(self.parameters, slots=self.chain.slots, packing=self.packing)

    @property
    def encoded_bytes(self) -> int:
        """Bytes of the encoded diagonals: a word for each prime that they are encoded over."""
        return self.circuit.encoded_nbytes

    @cached_property
    def keys(self) -> KeyRequirements:
        """The evaluation keys of a bootstrap."""
        circuit, slots = self.circuit, self.chain.slots
        rotations: dict[int, int] = {}
        for steps, level in circuit.rotations().items():
            rotations[steps % slots] = max(level, rotations.get(steps % slots, 0))
        return KeyRequirements(
            circuit.reduction_level,
            rotations,
            conjugation_level=circuit.reduction_level,
            encapsulation_weight=self.parameters.sparse_weight,
        )

    @property
    def key_bytes(self) -> int:
        """Bytes of these keys."""
        switching = self.keys.nbytes(self.chain.evaluation_key_bytes)
        return switching + self.chain.encapsulation_key_bytes

    @cached_property
    def transforms(self) -> Sequence[tuple[int, int, int]]:
        """Level, diagonals and rotations of each linear transform, in order."""
        return self.circuit.transforms()

    @property
    def reduction_level(self) -> int:
        """The level that the modular reduction begins at."""
        return self.circuit.reduction_level

    @property
    def reduction_products(self) -> int:
        """The products that the modular reduction relinearises."""
        return self.parameters.reduction_products

    @cached_property
    def _estimate(self) -> CkksEstimate:
        """Of a refreshed vector that was encrypted as low as may be."""
        chain, bound = self.chain, self.bound
        if self.packing == "coefficients":
            bound *= math.sqrt(chain.n)
        fresh = chain.estimate(chain.slots, level=self.input_level, bound=bound).encrypted()
        return fresh.bootstrap(self.circuit)

    @property
    def deviation(self) -> float:
        """The error deviation of a slot of such a vector."""
        return self._estimate.deviation

    @cached_property
    def paired_deviation(self) -> float:
        """The error deviation of a slot of one of two such vectors that are refreshed at once.

        It is infinite where they are not, as of coefficients.
        """
        if self.packing == "coefficients":
            return math.inf
        chain = self.chain
        spent = chain.estimate(chain.slots, level=self.input_level, bound=self.bound)
        return spent.encrypted().bootstrap_pair(spent.encrypted(), self.circuit)[0].deviation

    @property
    def precision(self) -> float:
        """The bits after the binary point that are right in every slot of such a vector."""
        return self._estimate.precision
