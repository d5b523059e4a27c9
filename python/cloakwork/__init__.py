"""Cloakwork runs programs on data it cannot see.

What it offers is loaded when it is first used, for some of it is large.
"""

from __future__ import annotations

from cloakwork import errors
from cloakwork.explain import explain, plot

# That of typing, whose import takes longer than this module's own, and cannot be interrupted
# without a traceback.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from cloakwork import cluster
    from cloakwork.explain.estimate import estimate
    from cloakwork.frontends import boolean, models, nn
    from cloakwork.frontends.circuit.coded_inputs import bytestring, date, text
    from cloakwork.frontends.circuit.compile_function import circuit
    from cloakwork.frontends.circuit.inputs import fixed, matrix, scalar, vector
    from cloakwork.frontends.circuit.rounding import rounded
    from cloakwork.frontends.circuit.selection import select
    from cloakwork.frontends.circuit.tables import table
    from cloakwork.frontends.exact.exactly import exactly
    from cloakwork.frontends.search.database import ClearDatabase, Database
    from cloakwork.frontends.search.index import Index
    from cloakwork.frontends.search.plan import index
    from cloakwork.frontends.tensors.compile import compile
    from cloakwork.frontends.tensors.einsum import einsum
    from cloakwork.frontends.tensors.functions import (
        gelu,
        greater,
        layer_norm,
        relu,
        sigmoid,
        softmax,
        within,
    )
    from cloakwork.frontends.tensors.matmul import matmul
    from cloakwork.frontends.tensors.repeat import repeat
    from cloakwork.frontends.tensors.result import result
    from cloakwork.frontends.tensors.session import Session, SessionEvaluator
    from cloakwork.frontends.tensors.state import state
    from cloakwork.frontends.tensors.tensor import Tensor
    from cloakwork.plan.cost.measure import measured as measured_costs
    from cloakwork.plan.parameters.together import in_a_row, together
    from cloakwork.programs.port import Port
    from cloakwork.programs.spec import Spec
    from cloakwork.runtime.client import Client, Encryptor
    from cloakwork.runtime.encrypted import Encrypted
    from cloakwork.runtime.evaluation_keys import EvaluationKeys
    from cloakwork.runtime.evaluator import Evaluator
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.load import load
    from cloakwork.runtime.profile import Profile
    from cloakwork.runtime.program import Program
    from cloakwork.runtime.rekeying import RekeyingKey
    from cloakwork.runtime.state import EncryptedState
    from cloakwork.service.client.connecting import aconnect, connect

    __version__: str

_PLACES = {
    "ClearDatabase": "frontends.search.database",
    "Client": "runtime.client",
    "Database": "frontends.search.database",
    "Encrypted": "runtime.encrypted",
    "EncryptedState": "runtime.state",
    "Encryptor": "runtime.client",
    "EvaluationKeys": "runtime.evaluation_keys",
    "Evaluator": "runtime.evaluator",
    "Index": "frontends.search.index",
    "Interface": "runtime.interface",
    "Port": "programs.port",
    "Profile": "runtime.profile",
    "Program": "runtime.program",
    "RekeyingKey": "runtime.rekeying",
    "Session": "frontends.tensors.session",
    "SessionEvaluator": "frontends.tensors.session",
    "Spec": "programs.spec",
    "Tensor": "frontends.tensors.tensor",
    "aconnect": "service.client.connecting",
    "boolean": "frontends",
    "bytestring": "frontends.circuit.coded_inputs",
    "circuit": "frontends.circuit.compile_function",
    "cluster": "cluster",
    "compile": "frontends.tensors.compile",
    "connect": "service.client.connecting",
    "date": "frontends.circuit.coded_inputs",
    "einsum": "frontends.tensors.einsum",
    "estimate": "explain.estimate",
    "exactly": "frontends.exact.exactly",
    "fixed": "frontends.circuit.inputs",
    "gelu": "frontends.tensors.functions",
    "greater": "frontends.tensors.functions",
    "in_a_row": "plan.parameters.together",
    "index": "frontends.search.plan",
    "layer_norm": "frontends.tensors.functions",
    "load": "runtime.load",
    "matmul": "frontends.tensors.matmul",
    "matrix": "frontends.circuit.inputs",
    "measured_costs": "plan.cost.measure:measured",
    "models": "frontends",
    "nn": "frontends",
    "relu": "frontends.tensors.functions",
    "repeat": "frontends.tensors.repeat",
    "result": "frontends.tensors.result",
    "rounded": "frontends.circuit.rounding",
    "scalar": "frontends.circuit.inputs",
    "select": "frontends.circuit.selection",
    "sigmoid": "frontends.tensors.functions",
    "softmax": "frontends.tensors.functions",
    "state": "frontends.tensors.state",
    "table": "frontends.circuit.tables",
    "text": "frontends.circuit.coded_inputs",
    "together": "plan.parameters.together",
    "vector": "frontends.circuit.inputs",
    "within": "frontends.tensors.functions",
}

__all__ = [
    "ClearDatabase",
    "Client",
    "Database",
    "Encrypted",
    "EncryptedState",
    "Encryptor",
    "EvaluationKeys",
    "Evaluator",
    "Index",
    "Interface",
    "Port",
    "Profile",
    "Program",
    "RekeyingKey",
    "Session",
    "SessionEvaluator",
    "Spec",
    "Tensor",
    "aconnect",
    "boolean",
    "bytestring",
    "circuit",
    "cluster",
    "compile",
    "connect",
    "date",
    "einsum",
    "errors",
    "estimate",
    "exactly",
    "explain",
    "fixed",
    "gelu",
    "greater",
    "in_a_row",
    "index",
    "layer_norm",
    "load",
    "matmul",
    "matrix",
    "measured_costs",
    "models",
    "nn",
    "plot",
    "relu",
    "repeat",
    "result",
    "rounded",
    "scalar",
    "select",
    "sigmoid",
    "softmax",
    "state",
    "table",
    "text",
    "together",
    "vector",
    "within",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name == "__version__":
            from importlib.metadata import version  # noqa: PLC0415

            return version("cloakwork")
        if name not in _PLACES:
            raise AttributeError(f"module 'cloakwork' has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415

        place, _, other = _PLACES[name].partition(":")
        if place == "frontends":
            found = import_module(f"cloakwork.frontends.{name}")
        elif place == name:
            found = import_module(f"cloakwork.{name}")
        else:
            found = getattr(import_module(f"cloakwork.{place}"), other or name)
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted(__all__)
