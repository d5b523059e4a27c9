"""Cloakwork runs programs on data it cannot see."""

from cloakwork import boolean, errors, integers, nn
from cloakwork.compiled import Compiled, Spec, compile
from cloakwork.explain.plot import plot
from cloakwork.explain.text import explain
from cloakwork.frontends.circuit.declared import matrix, scalar, vector
from cloakwork.frontends.circuit.selection import select
from cloakwork.frontends.einsum import einsum
from cloakwork.integers import circuit
from cloakwork.plan.measured_cost import measured as measured_costs
from cloakwork.runtime.roles import Client, Evaluator
from cloakwork.runtime.tensor import Tensor
from cloakwork.session import Session
from cloakwork.store import (
    load_client,
    load_evaluator,
    load_program,
    load_tensor,
    save_client,
    save_evaluator,
    save_program,
    save_tensor,
)

__all__ = [
    "Client",
    "Compiled",
    "Evaluator",
    "Session",
    "Spec",
    "Tensor",
    "boolean",
    "circuit",
    "compile",
    "einsum",
    "errors",
    "explain",
    "integers",
    "load_client",
    "load_evaluator",
    "load_program",
    "load_tensor",
    "matrix",
    "measured_costs",
    "nn",
    "plot",
    "save_client",
    "save_evaluator",
    "save_program",
    "save_tensor",
    "scalar",
    "select",
    "vector",
]
