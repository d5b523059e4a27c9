"""What was planned and what it took, as text; no number inside is shown."""

from __future__ import annotations

from cloakwork.base.arguments import optional, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.bits import explain_bootstraps, explain_gates
from cloakwork.explain.layers import explain_layers
from cloakwork.explain.slots import explain_circuit, explain_slots, explain_tensor
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program


def explained(x: Program | Circuit | Tensor | Encrypted, profile: Profile | None) -> str:
    """The text of `explain.explain`."""
    profile = optional(profile, Profile, "profile", "explain")
    match x:
        case Tensor():
            return explain_tensor(x)
        case Circuit(gates=gates):
            return explain_gates(gates)
        case Encrypted():
            return repr(x)
        case Program(body=BootstrapProgram() as body):
            return explain_bootstraps(body, x.scheme, x.threads, x.warning, profile)
        case Program(body=SlotProgram() as body, packing=ScalarPacking() as packing):
            return explain_circuit(body, packing, x.scheme, x.warning, profile)
        case Program(body=SlotProgram() as body, packing=BatchPacking()):
            return explain_layers(body, x, profile)
        case Program(body=SlotProgram() as body, estimated_results=estimates):
            precision = min(each.precision for each in estimates) if estimates else None
            return explain_slots(
                body, x.scheme, warning=x.warning, profile=profile, precision=precision
            )
        case _:
            raise InvalidArgumentError(
                f"cannot explain: expected a program, a circuit or an encrypted tensor, got "
                f"{shown(x)}"
            )
