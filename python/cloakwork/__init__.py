"""Cloakwork runs programs on data it cannot see."""

from cloakwork import errors
from cloakwork.explain.plot.plot import plot
from cloakwork.explain.slots import explain
from cloakwork.frontends.boolean import circuit as boolean
from cloakwork.frontends.circuit import compile_function as integers
from cloakwork.frontends.circuit.compile_function import circuit
from cloakwork.frontends.circuit.inputs import matrix, scalar, vector
from cloakwork.frontends.circuit.selection import select
from cloakwork.frontends.nn import compile_module as nn
from cloakwork.frontends.tensors.einsum import einsum
from cloakwork.frontends.tensors.session import Session
from cloakwork.frontends.tensors.tensor import Tensor
from cloakwork.plan.cost.measure import measured as measured_costs
from cloakwork.runtime.compiled import Compiled, Spec, compile
from cloakwork.runtime.roles import Client, Evaluator
from cloakwork.runtime.store import (
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
