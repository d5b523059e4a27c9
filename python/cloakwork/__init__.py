"""Cloakwork runs programs on data it cannot see."""

from cloakwork import errors
from cloakwork.explain import explain, plot
from cloakwork.explain.estimate import Estimate, estimate
from cloakwork.frontends import boolean, nn
from cloakwork.frontends.circuit.compile_function import circuit
from cloakwork.frontends.circuit.inputs import matrix, scalar, vector
from cloakwork.frontends.circuit.selection import select
from cloakwork.frontends.tensors.compile import Spec, compile
from cloakwork.frontends.tensors.einsum import einsum
from cloakwork.frontends.tensors.session import Session, SessionEvaluator
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.plan.cost.measure import measured as measured_costs
from cloakwork.programs.port import Port
from cloakwork.runtime.client import Client, Encryptor
from cloakwork.runtime.encrypted import Encrypted
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.load import load
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program

__all__ = [
    "Client",
    "Encrypted",
    "Encryptor",
    "Estimate",
    "Evaluator",
    "Port",
    "Profile",
    "Program",
    "Session",
    "SessionEvaluator",
    "Spec",
    "Tensor",
    "boolean",
    "circuit",
    "compile",
    "einsum",
    "errors",
    "estimate",
    "explain",
    "load",
    "matrix",
    "measured_costs",
    "nn",
    "plot",
    "scalar",
    "select",
    "vector",
]
