"""The encrypted tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from cloakwork._native import Ciphertext, Parameters
from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.methods import Runner, TensorMethods
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import Program
from cloakwork.runtime import security_label as secrecy
from cloakwork.runtime.profile import Profile


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tensor(TensorMethods):
    """A tensor whose numbers are encrypted.

    Args:
        values: The ciphertexts, or their stand-ins on the clear backend.
        layout: Which element sits in which slot of which ciphertext.
        parameters: The parameter set that it was made under.
        runner: Who computes with it; None on the client's side.
        program: The program that made it; None where it was encrypted.
        profile: What running that program took.

    Example:
        >>> import cloakwork as cw
        >>> x = cw.Session(depth=1, backend="clear").encrypt([[1.0, 2.0]])
        >>> x
        Tensor(shape=(1, 2), level=1, slots=4096, clear backend: hides nothing)
        >>> (x + x).shape, (x * 3.5).level
        ((1, 2), 0)
    """

    values: Sequence[Any]
    layout: Layout
    parameters: Parameters
    runner: Runner | None = None
    program: Program | None = None
    profile: Profile | None = None
    source: Source = field(init=False)

    def __post_init__(self) -> None:
        source = Source("", self.layout.shape, self.layout, self.level, self)
        object.__setattr__(self, "source", source)

    def node(self) -> Node:
        """What stands for the tensor in a graph of operations."""
        return self.source

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is not secret."""
        return self.layout.shape

    @property
    def level(self) -> int:
        """Levels left for further work."""
        return int(self.values[0].level)

    @property
    def precision(self) -> float:
        """Bits after the binary point that are right, even with every input at its bound."""
        return float(min(value.precision for value in self.values))

    @property
    def nbytes(self) -> int:
        """Bytes of the ciphertexts."""
        return sum(int(value.nbytes) for value in self.values)

    @property
    def hidden(self) -> bool:
        """Whether the numbers are encrypted, which on the clear backend they are not."""
        return isinstance(self.values[0], Ciphertext)

    def __repr__(self) -> str:
        warning = secrecy.warning(self.parameters, hidden=self.hidden)
        count = len(self.values)
        facts = [f"shape={self.shape}", f"level={self.level}", f"slots={self.layout.slots}"]
        facts += [f"ciphertexts={count}"] if count > 1 else []
        facts += [warning] if warning else []
        return f"Tensor({', '.join(facts)})"


def require_tensor(value: object, action: str) -> None:
    """Refuse what is no encrypted tensor.

    Raises:
        InvalidArgumentError: It is none.
    """
    if not isinstance(value, Tensor):
        raise InvalidArgumentError(
            f"cannot {action}: expected an encrypted tensor, got {shown(value)}"
        )
