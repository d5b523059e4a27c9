"""Cloakwork runs programs on data it cannot see."""

from cloakwork import boolean, errors, nn
from cloakwork.compiled import Compiled, Spec, compile
from cloakwork.explain.plot import plot
from cloakwork.explain.text import explain
from cloakwork.frontends.einsum import einsum
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
    "compile",
    "einsum",
    "errors",
    "explain",
    "load_client",
    "load_evaluator",
    "load_program",
    "load_tensor",
    "measured_costs",
    "nn",
    "plot",
    "save_client",
    "save_evaluator",
    "save_program",
    "save_tensor",
]
