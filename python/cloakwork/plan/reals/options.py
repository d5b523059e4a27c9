"""What is asked of a program over tensors: of any, and of reals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from cloakwork._native import Parameters
from cloakwork.base.arguments import bytes_limit, integer, shown, truth
from cloakwork.base.arrays import MIN_RIGHT_BITS
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.parameters.bootstrapping import USUAL_RINGS
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.programs.refreshing import Refreshing
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.schemes.ckks_noise import NoiseModel, noise_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramOptions:
    """What is asked of a program whatever its numbers are; see `cloakwork.compile` for each option.

    Args:
        title: What is computed, in the user's words.
        key_budget: Bytes for all evaluation keys; None for any.
        memory_limit: Bytes that the ciphertexts of a run may take; None for any.
        log_n: Base-2 logarithm of the ring degree; None for the cheapest.
        insecure: Whether parameters below 128-bit security are allowed.
        public_inputs: Whether inputs may be encrypted by a public key.

    Raises:
        InvalidArgumentError: An option has a value that it does not take.
    """

    # What is attempted, for errors.
    action: ClassVar[str] = "compile"

    title: str = "function"
    key_budget: int | None = None
    memory_limit: int | None = None
    log_n: int | None = None
    insecure: bool = False
    public_inputs: bool = False

    def __post_init__(self) -> None:
        if self.log_n is not None:
            self._check_integer("log_n", 5, 17)
        for name in ("key_budget", "memory_limit"):
            self._take(name, bytes_limit(getattr(self, name), name, self.action))
        for name in ("insecure", "public_inputs"):
            self._take(name, truth(getattr(self, name), name, self.action))

    def _check_integer(self, name: str, least: int, most: int) -> None:
        value = getattr(self, name)
        self._take(name, integer(value, name, self.action, least=least, most=most))

    def _take(self, name: str, checked: object) -> None:
        """An option as it was checked: a number of numpy's, say, as one of Python's."""
        object.__setattr__(self, name, checked)

    @property
    def asked_rings(self) -> range:
        """Base-2 logarithms of the ring degrees that the user allows, upwards."""
        return RINGS if self.log_n is None else range(self.log_n, self.log_n + 1)

    @property
    def rings(self) -> Sequence[int]:
        """Base-2 logarithms of the ring degrees that may be taken, upwards."""
        return self.asked_rings


@dataclass(frozen=True, slots=True, kw_only=True)
class RealOptions(ProgramOptions):
    """What is asked of a program of reals.

    Args:
        precision: Bits after the binary point that results should have.
        relative: Bits that are to be right of the largest number that a result may be; None where
            the precision says it.
        costs: What operations cost under given parameters, in one unit for all operations.
        bootstrap: Whether values may be refreshed on the way; None where no chain is long enough.

    Raises:
        InvalidArgumentError: An option has a value that it does not take.

    Example:
        >>> list(RealOptions(log_n=13).rings), list(RealOptions().refreshing_rings)
        ([13], [15, 16])
    """

    precision: int = 20
    relative: int | None = None
    costs: Callable[[Parameters], Costs] = comparable
    bootstrap: bool | None = None

    def __post_init__(self) -> None:
        # Classes with slots are made twice, and `super()` would be of the first.
        ProgramOptions.__post_init__(self)
        if not callable(self.costs):
            raise InvalidArgumentError(
                f"cannot {self.action}: expected costs to be a function of parameters such as "
                f"cloakwork.measured_costs, got {shown(self.costs)}"
            )
        self._check_integer("precision", 0, SCALE_BITS[-1])
        if self.relative is not None:
            self._check_integer("relative", MIN_RIGHT_BITS, SCALE_BITS[-1])
        if self.bootstrap is not None:
            self._take("bootstrap", truth(self.bootstrap, "bootstrap", self.action))

    @property
    def refreshing_rings(self) -> range:
        """Base-2 logarithms of the ring degrees in which values may be refreshed, upwards."""
        return USUAL_RINGS if self.log_n is None else self.asked_rings

    def noise(self, parameters: Parameters, refreshing: Refreshing | None = None) -> NoiseModel:
        """The noise under parameters, and of bootstraps if there are any."""
        return noise_of(parameters, refreshing=refreshing, public_inputs=self.public_inputs)

    def costs_of(self, parameters: Parameters) -> Costs:
        """What operations cost under parameters."""
        costs = self.costs(parameters)
        if not isinstance(costs, Costs):
            raise InvalidArgumentError(
                f"cannot compile {self.title}: expected costs to be a function that gives Costs, "
                f"got one that gives {shown(costs)}"
            )
        return costs
