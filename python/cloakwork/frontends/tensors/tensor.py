"""The encrypted tensor."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from cloakwork._native import Parameters
from cloakwork.base.arguments import file_path, shown
from cloakwork.base.record import record_of
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.methods import Runner
from cloakwork.frontends.tensors.numpy.protocol import NumpyMethods
from cloakwork.plan.functions.intervals import Interval, uniform
from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime import container
from cloakwork.runtime.ledger import require_no_key
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.storage import named_full_disk
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_real import ClearReal

TENSOR_KIND = "tensor file"


class TensorRunner(Runner, Protocol):
    """Whoever computes with tensors that there are: a session or its evaluator."""

    @property
    def device(self) -> str: ...
    def refreshed(self, tensor: Tensor) -> Tensor: ...


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Tensor(NumpyMethods, Unpicklable):
    """A tensor whose numbers are encrypted.

    Args:
        values: The ciphertexts, or their stand-ins on the clear backend.
        layout: Which element sits in which slot of which ciphertext.
        scheme: What it is encrypted by.
        key_id: What the secret key is known by.
        runner: Who computes with it.
        program: The program that made it; None where it was encrypted.
        profile: What running that program took.
        claimed: Whether bounds and precision are what a file claims, rather than followed here.
        interval: Between which ends its elements lie, and how far functions may be off; by default
            what the bounds of the ciphertexts say.
        truths: Whether its elements are 1 and 0 for true and false, as those of a comparison are.

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
    scheme: Ckks | ClearReal
    key_id: bytes
    runner: TensorRunner
    program: SlotProgram | None = None
    profile: Profile | None = None
    claimed: bool = False
    interval: Interval | None = None
    truths: bool = False
    source: Source = field(init=False)

    def __post_init__(self) -> None:
        if self.interval is None:
            bound = max(float(value.bound) for value in self.values) if self.encrypted else math.inf
            known = uniform(len(self.layout.shape), -bound, bound)
            object.__setattr__(self, "interval", known)
        source = Source("", self.layout.shape, self.layout, self.level, self)
        object.__setattr__(self, "source", source)

    def node(self) -> Node:
        """What stands for the tensor in a graph of operations."""
        return self.source

    @property
    def parameters(self) -> Parameters:
        """The parameter set that it was made under."""
        return self.scheme.parameters

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is not secret."""
        return self.layout.shape

    @property
    def device(self) -> str:
        """Where it is computed: "cpu", or "cuda" of a GPU."""
        return self.runner.device

    @property
    def level(self) -> int:
        """Levels left for further work."""
        return int(self.values[0].level)

    @property
    def precision(self) -> float:
        """Bits after the binary point that are right, even with every input at its bound.

        A comparison may be as far off as its values between 0 and 1 are; see `cloakwork.greater`.
        """
        noise = float(min(value.precision for value in self.values))
        error = self.known.largest_error_in_gaps
        return noise if not error else -math.log2(2.0**-noise + error)

    @property
    def known(self) -> Interval:
        """Between which ends its elements lie, and how far functions may be off."""
        assert self.interval is not None
        return self.interval

    @property
    def nbytes(self) -> int:
        """Bytes of the ciphertexts."""
        return sum(int(value.nbytes) for value in self.values)

    @property
    def encrypted(self) -> bool:
        """Whether the numbers are encrypted, which on the clear backend they are not."""
        return self.scheme.encrypts

    @property
    def warning(self) -> str:
        """Why the numbers are not safe; empty where they are."""
        if not self.encrypted:
            return "clear backend: hides nothing"
        return "INSECURE" if self.scheme.insecure else ""

    def bootstrap(self) -> Tensor:
        """The same numbers with fresh levels, on the evaluator's side: `Session(bootstrap=True)`.

        It takes seconds for each ciphertext at 128-bit security; operations do so by themselves
        where too few levels are left.

        Raises:
            InvalidParametersError: The parameters have no levels for bootstrapping.
            KeyBudgetError: Its keys take more than the session's `key_budget`.
            MemoryBudgetError: Keys and what it works in take more than `memory_limit`.
            LevelExhaustedError: Fewer levels are left than bootstrapping itself takes.
            ValueOutOfRangeError: By its bound the tensor may hold larger numbers than the
                bootstrapping is made for, which would become wrong ones.
            MissingKeyError: The evaluator has no keys for it.

        Example:
            >>> import cloakwork as cw
            >>> session = cw.Session(
            ...     bootstrap=True, precision=16, bound=1.0, insecure=True, log_n=8)
            >>> x = session.encrypt([0.5, 0.25]) * [1.0, 0.5]
            >>> x.level, x.bootstrap().level
            (12, 13)
            >>> session.decrypt(x.bootstrap()).round(4).tolist()
            [0.5, 0.125]
        """
        return self.runner.refreshed(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the ciphertexts and their layout to a file, for `load` of a session.

        Raises:
            InvalidArgumentError: The tensor is on the clear backend, or the path is invalid.
            NotReplaceableError: The file of a client or session is there, or a device.
            StorageFullError: There is no space left for it.
            FileMissingError: There is no folder for it.
            FileAccessError: It cannot be made there.

        Example:
            >>> import tempfile
            >>> import cloakwork as cw
            >>> session = cw.Session(depth=1, insecure=True, log_n=11)
            >>> path = f"{tempfile.mkdtemp()}/x"
            >>> session.encrypt([1.0, 2.0]).save(path)
            >>> session.evaluator().load(path)
            Tensor(shape=(2,), level=1, slots=1024, INSECURE)
        """
        if not self.encrypted:
            raise InvalidArgumentError("cannot save the tensor: on the clear backend it is clear")
        record = {
            "scheme": self.scheme.name,
            "parameters": self.parameters.fingerprint,
            "key_id": self.key_id,
            "layout": record_of(self.layout),
            "values": [self.scheme.dump(value) for value in self.values],
        }
        require_no_key(file_path(path, "write"))
        with named_full_disk(f"{path}", "give another path"):
            container.write(path, TENSOR_KIND, record)

    def __repr__(self) -> str:
        count = len(self.values)
        facts = [f"shape={self.shape}", f"level={self.level}", f"slots={self.layout.slots}"]
        facts += [f"ciphertexts={count}"] if count > 1 else []
        facts += [self.warning] if self.warning else []
        return f"Tensor({', '.join(facts)})"


def require_tensor(value: object, action: str) -> None:
    """Refuse what is no encrypted tensor.

    Raises:
        InvalidArgumentError: It is something else.
    """
    if not isinstance(value, Tensor):
        raise InvalidArgumentError(
            f"cannot {action}: expected an encrypted tensor, got {shown(value)}"
        )
