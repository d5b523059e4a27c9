"""What was planned and what it took, as text; no number inside is shown."""

from __future__ import annotations

from cloakwork.base.arguments import optional, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.bits import explain_bootstraps, explain_gates
from cloakwork.explain.circuits import explain_circuit
from cloakwork.explain.layers import explain_layers
from cloakwork.explain.slots import explain_slots, explain_tensor
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program


def explained(x: Program | Circuit | Tensor | Encrypted, profile: Profile | None) -> str:
    """The text of `explain.explain`."""
    profile = optional(profile, Profile, "profile", "explain")
    match x:
        case Program():
            return _program(x, profile)
        case Tensor():
            return explain_tensor(x)
        case Circuit(gates=gates):
            return explain_gates(gates)
        case Encrypted():
            return repr(x)
        case _:
            raise InvalidArgumentError(
                f"cannot explain: expected a program, a circuit or an encrypted tensor, got "
                f"{shown(x)}"
            )


def _program(x: Program, profile: Profile | None) -> str:
    match x.body, x.packing:
        case BootstrapProgram() as body, _:
            return explain_bootstraps(body, x.scheme, x.threads, warning=x.warning, profile=profile)
        case body, ScalarPacking() as packing:
            return explain_circuit(body, packing, x.scheme, warning=x.warning, profile=profile)
        case body, BatchPacking():
            parameters, error = x.scheme.parameters, x.error or 0.0
            return explain_layers(
                body, parameters, x.batch, error, warning=x.warning, profile=profile
            )
        case body, _:
            estimates = x.estimated_results
            precision = min(each.precision for each in estimates) if estimates else None
            return explain_slots(
                body, x.scheme, warning=x.warning, profile=profile, precision=precision
            )
