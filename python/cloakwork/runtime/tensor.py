"""The encrypted tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cloakwork._native import Parameters
from cloakwork.plan.layout import Layout
from cloakwork.programs.slots import Program


class Value(Protocol):
    """What a backend computes on: one vector of slots."""

    @property
    def level(self) -> int: ...
    @property
    def precision(self) -> float: ...
    @property
    def nbytes(self) -> int: ...


class Runner(Protocol):
    """Whoever runs programs on tensors: a session or an evaluator."""

    @property
    def parameters(self) -> Parameters: ...
    def run(self, program: Program, inputs: Sequence[Any]) -> list[Any]: ...


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor whose numbers are encrypted in one ciphertext.

    Args:
        value: The ciphertext, or its stand-in on the clear backend.
        layout: Which element sits in which slot.
        runner: Who runs programs on it; None on the client's side.
        program: The program that made it; None where it was encrypted.

    Example:
        >>> import cloakwork as cw
        >>> cw.Session(depth=1, backend="clear").encrypt([[1.0, 2.0]])
        Tensor(shape=(1, 2), level=1, slots=4096)
    """

    value: Any
    layout: Layout
    runner: Runner | None = None
    program: Program | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is not secret."""
        return self.layout.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.layout.axes)

    @property
    def level(self) -> int:
        """Levels left for further work."""
        return int(self.value.level)

    def __repr__(self) -> str:
        return f"Tensor(shape={self.shape}, level={self.level}, slots={self.layout.slots})"
