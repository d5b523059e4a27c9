"""PyTorch networks on encrypted inputs: `compile` makes a program of a trained module."""

from cloakwork.frontends.nn.compile_module import compile

__all__ = ["compile"]
