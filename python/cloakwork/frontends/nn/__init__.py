"""PyTorch networks on encrypted inputs: `compile` makes a program of a trained module."""

from cloakwork.frontends.nn.compile_module import compile
from cloakwork.frontends.nn.embedded import lookup
from cloakwork.frontends.nn.generation import compile_generation
from cloakwork.runtime.lookup import Lookup
from cloakwork.runtime.vocabulary import Vocabulary

__all__ = ["Lookup", "Vocabulary", "compile", "compile_generation", "lookup"]
