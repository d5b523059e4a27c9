"""PyTorch networks on encrypted inputs: `compile` makes a program of a trained module."""

from cloakwork.frontends.nn.compile_module import compile
from cloakwork.frontends.nn.embedded import lookup
from cloakwork.runtime.lookup import Lookup

__all__ = ["Lookup", "compile", "lookup"]
