"""A module of one function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class Function(nn.Module):
    """A function as a module, with known numbers."""

    def __init__(self, function: Callable[..., Any], *known: Any) -> None:
        super().__init__()
        self.function = function
        for number, each in enumerate(known):
            self.register_buffer(f"known{number}", each)

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x, *self.buffers())
