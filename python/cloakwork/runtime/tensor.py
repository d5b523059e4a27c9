"""The encrypted tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from cloakwork._native import Ciphertext, Parameters
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.layout import Layout
from cloakwork.programs.slots import Program
from cloakwork.runtime import secrecy
from cloakwork.runtime.arguments import shown


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
        parameters: The parameter set that it was made under.
        runner: Who runs programs on it; None on the client's side.
        program: The program that made it; None where it was encrypted.

    Example:
        >>> import cloakwork as cw
        >>> cw.Session(depth=1, backend="clear").encrypt([[1.0, 2.0]])
        Tensor(shape=(1, 2), level=1, slots=4096, clear backend: hides nothing)
    """

    value: Any
    layout: Layout
    parameters: Parameters
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

    @property
    def hidden(self) -> bool:
        """Whether the numbers are encrypted, which on the clear backend they are not."""
        return isinstance(self.value, Ciphertext)

    def __repr__(self) -> str:
        warning = secrecy.warning(self.parameters, hidden=self.hidden)
        facts = f"shape={self.shape}, level={self.level}, slots={self.layout.slots}"
        return f"Tensor({facts}{', ' if warning else ''}{warning})"


def require_tensor(value: object, action: str) -> None:
    """Refuse what is no encrypted tensor.

    Raises:
        InvalidArgumentError: It is none.
    """
    if not isinstance(value, Tensor):
        raise InvalidArgumentError(
            f"cannot {action}: expected an encrypted tensor, got {shown(value)}"
        )
