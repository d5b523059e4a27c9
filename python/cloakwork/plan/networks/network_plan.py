"""What the planner makes of a network: a program and its parameters."""

from __future__ import annotations

from dataclasses import dataclass

from cloakwork._native import Parameters
from cloakwork.plan.networks.lower import LoweredNetwork
from cloakwork.programs.refreshing import Refreshing
from cloakwork.schemes.ckks import Ckks


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """A network's program and its parameters.

    Args:
        lowered: The program.
        parameters: The parameters.
        bounds: For each operation the largest absolute value of its result, None for constants.
        error: The largest error to expect of an accepted input, simulated in the clear with
            modelled noise.
        price: What a run costs, in the unit of the costs.
        batch: Inputs of a run.
        width: Inputs that a ciphertext has slots for.
        refreshing: What bootstraps do; None where there are none.
    """

    lowered: LoweredNetwork
    parameters: Parameters
    bounds: tuple[float | None, ...]
    error: float
    price: float
    batch: int
    width: int
    refreshing: Refreshing | None = None

    @property
    def key_bytes(self) -> int:
        """Bytes of all evaluation keys, those of bootstraps among them."""
        return Ckks(self.parameters, self.refreshing).key_bytes(self.lowered.program)
