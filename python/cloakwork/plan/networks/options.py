"""What is asked of a network's program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from cloakwork._native import Parameters
from cloakwork.base.arguments import integer, positive, shown, truth
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.parameters.bootstrapping import USUAL_RINGS
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.programs.layout import power_of_two
from cloakwork.programs.refreshing import Refreshing
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.schemes.ckks_noise import NoiseModel, noise_of

_ACTION = "compile a network"
_MAX_BATCH = 1 << 15
_THROUGHPUT: Final = "throughput"
_MAX_BYTES = (1 << 63) - 1
# Bits of a scale below which noise lies in a network of a few layers; simulation corrects it.
_NOISE_BITS = 16


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """What is asked of a network's program; see `cloakwork.nn.compile` for each option.

    Args:
        title: The program's name.
        precision: Bits after the binary point of the results.
        batch: Inputs of a run, or `throughput` for as many as cost least each.
        margin: By how much inputs and activations may exceed the calibration data.
        degrees: Degrees of activations, by the name of a layer or a function.
        key_budget: Bytes for all evaluation keys; None for no limit.
        log_n: Base-2 logarithm of the ring degree; None for the cheapest.
        insecure: Whether parameters below 128-bit security are allowed.
        public_inputs: Whether inputs may be encrypted by a public key.
        costs: What operations cost under given parameters, in one unit for all operations.
        bootstrap: Whether values may be refreshed on the way; None where no chain is long enough.

    Raises:
        InvalidArgumentError: An option has a value that it does not take.

    Example:
        >>> options = NetworkOptions(batch=3, log_n=13)
        >>> list(options.rings)
        [13]
    """

    title: str = "network"
    precision: int = 16
    batch: int | Literal["throughput"] = 1
    margin: float = 0.25
    degrees: Mapping[str, int] | None = None
    key_budget: int | None = None
    log_n: int | None = None
    insecure: bool = False
    public_inputs: bool = False
    costs: Callable[[Parameters], Costs] = comparable
    bootstrap: bool | None = None

    def __post_init__(self) -> None:
        if not callable(self.costs):
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected costs to be a function of parameters, got "
                f"{shown(self.costs)}"
            )
        checked = {
            "insecure": truth(self.insecure, "insecure", _ACTION),
            "public_inputs": truth(self.public_inputs, "public_inputs", _ACTION),
            "margin": positive(self.margin, "margin", _ACTION),
            "precision": self._integer("precision", 0, SCALE_BITS[-1]),
            "batch": self._checked_batch(),
        }
        if self.log_n is not None:
            checked["log_n"] = self._integer("log_n", 5, 17)
        if self.key_budget is not None:
            checked["key_budget"] = self._integer("key_budget", 0, _MAX_BYTES)
        if self.bootstrap is not None:
            checked["bootstrap"] = truth(self.bootstrap, "bootstrap", _ACTION)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    def _integer(self, name: str, least: int, most: int) -> int:
        return integer(getattr(self, name), name, _ACTION, least=least, most=most)

    def _checked_batch(self) -> int | Literal["throughput"]:
        if isinstance(self.batch, str):
            if self.batch != _THROUGHPUT:
                raise InvalidArgumentError(
                    f"cannot {_ACTION}: expected batch to be an integer or {_THROUGHPUT!r}, got "
                    f"{shown(self.batch)}"
                )
            return self.batch
        return self._integer("batch", 1, _MAX_BATCH)

    @property
    def pairings(self) -> tuple[bool, ...]:
        """Whether two inputs share their slots: the ways that may be taken.

        Example:
            >>> NetworkOptions().pairings, NetworkOptions(batch=2).pairings
            ((False,), (False, True))
        """
        return (False,) if self.batch == 1 else (False, True)

    def batches(self, log_n: int, elements: int, sharing: int = 1) -> tuple[int, ...]:
        """The inputs of a run that are tried in a ring: what was asked, or all that may do.

        Args:
            log_n: Base-2 logarithm of the ring degree.
            elements: Of the largest tensor.
            sharing: Inputs that share their slots.

        Example:
            >>> NetworkOptions(batch=3).batches(10, 100)
            (3,)
            >>> NetworkOptions(batch="throughput").batches(10, 100)
            (512, 4)
        """
        if self.batch != _THROUGHPUT:
            return (self.batch,)
        slots = 1 << (log_n - 1)
        most, few = slots, max(1, slots // power_of_two(elements))
        return tuple(dict.fromkeys((sharing * most, sharing * few)))

    @property
    def rings(self) -> range:
        """Base-2 logarithms of the ring degrees that may be taken, upwards."""
        return RINGS if self.log_n is None else range(self.log_n, self.log_n + 1)

    @property
    def refreshing_rings(self) -> range:
        """Base-2 logarithms of the ring degrees in which values may be refreshed, upwards."""
        return USUAL_RINGS if self.log_n is None else self.rings

    @property
    def scale_bits(self) -> int:
        """Bits of the smallest scale that may do."""
        return max(SCALE_BITS.start, self.precision + _NOISE_BITS)

    def noise(self, parameters: Parameters, refreshing: Refreshing | None = None) -> NoiseModel:
        """The noise under parameters, and of bootstraps if there are any."""
        return noise_of(parameters, refreshing=refreshing, public_inputs=self.public_inputs)

    def costs_of(self, parameters: Parameters) -> Costs:
        """What operations cost under parameters.

        Raises:
            InvalidArgumentError: `costs` gives something else.
        """
        costs = self.costs(parameters)
        if not isinstance(costs, Costs):
            raise InvalidArgumentError(
                f"cannot compile {self.title}: expected costs to be a function that gives Costs, "
                f"got one that gives {shown(costs)}"
            )
        return costs.kept()
