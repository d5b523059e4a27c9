"""What is asked of a network's program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from cloakwork._native import Parameters
from cloakwork.base.arguments import positive, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.reals.options import RealOptions
from cloakwork.programs.layout import power_of_two
from cloakwork.runtime.costs import Costs

_MAX_BATCH = 1 << 15
_THROUGHPUT: Final = "throughput"
# Bits of a scale below which noise lies in a network of a few layers; simulation corrects it.
_NOISE_BITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkOptions(RealOptions):
    """What is asked of a network's program; see `cloakwork.nn.compile` for each option.

    Args:
        batch: Inputs of a run, or `throughput` for as many as cost least each.
        margin: By how much inputs and activations may exceed the calibration data.
        degrees: Degrees of activations, by the name of a layer or a function.

    Raises:
        InvalidArgumentError: An option has a value that it does not take.

    Example:
        >>> options = NetworkOptions(batch=3, log_n=13)
        >>> options.title, list(options.rings)
        ('network', [13])
    """

    action: ClassVar[str] = "compile a network"

    title: str = "network"
    precision: int = 16
    batch: int | Literal["throughput"] = 1
    margin: float = MARGIN
    degrees: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        # Classes with slots are made twice, and `super()` would be of the first.
        RealOptions.__post_init__(self)
        self._take("margin", positive(self.margin, "margin", self.action))
        if not isinstance(self.degrees, Mapping | None):
            raise InvalidArgumentError(
                f"cannot {self.action}: expected degrees by the names of layers or functions, got "
                f"{shown(self.degrees)}"
            )
        if not isinstance(self.batch, str):
            self._check_integer("batch", 1, _MAX_BATCH)
        elif self.batch != _THROUGHPUT:
            raise InvalidArgumentError(
                f"cannot {self.action}: expected batch to be an integer or {_THROUGHPUT!r}, got "
                f"{shown(self.batch)}"
            )

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
    def scale_bits(self) -> int:
        """Bits of the smallest scale that may do."""
        return max(SCALE_BITS.start, self.precision + _NOISE_BITS)

    def costs_of(self, parameters: Parameters) -> Costs:
        """What operations cost under parameters, where diagonals stay encoded between runs."""
        return RealOptions.costs_of(self, parameters).kept()
