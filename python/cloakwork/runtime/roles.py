"""The two parties of a computation: the client, who has the secret, and the evaluator.

Neither knows which backend it works with; it is handed a key or a backend.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._native import Parameters
from cloakwork.errors import (
    InvalidArgumentError,
    MissingKeyError,
    ParametersMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.plan.layout import Layout, default_layout
from cloakwork.programs.slots import Program, State, Vector
from cloakwork.runtime import secrecy
from cloakwork.runtime.arguments import integer, shown
from cloakwork.runtime.arrays import real_array, require_bound, require_precision
from cloakwork.runtime.executor import Backend, run
from cloakwork.runtime.memory import (
    ciphertext_bytes,
    physical_bytes,
    predicted_peak_bytes,
    require_memory,
)
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.tensor import Tensor, require_tensor
from cloakwork.runtime.unpicklable import Unpicklable

# The peak of a run on several threads is below this many times that in program order.
_SPREAD = 2
# Statistical bits of flooding, and decryptions for others, at most: the engine refuses far less.
MAX_STATISTICAL_BITS = 2**31 - 1
MAX_DECRYPTIONS = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Flooding:
    """How well decryptions for others hide the key, and how many of them there may be.

    Args:
        statistical_bits: s: no adversary's advantage exceeds 2^-(s/2 + 1.7).
        decryptions: Ciphertexts under one key whose results others see, at most.
    """

    statistical_bits: int
    decryptions: int

    @classmethod
    def of(cls, statistical_bits: int | None, decryptions: int) -> Flooding | None:
        """The flooding that was asked for, if any.

        Raises:
            InvalidArgumentError: A number is none from 1 up.
        """
        count = integer(decryptions, "decryptions", "decrypt", least=1, most=MAX_DECRYPTIONS)
        if statistical_bits is None:
            return None
        most = MAX_STATISTICAL_BITS
        bits = integer(statistical_bits, "statistical_bits", "decrypt", least=1, most=most)
        return cls(bits, count)


class Key(Protocol):
    """What a client needs of a secret key."""

    def encrypt(self, vector: Vector, *, bound: float, level: int) -> Any: ...
    def decrypt(self, value: Any, *, flooding: Flooding | None) -> Vector: ...
    def precision(self, value: Any, *, flooding: Flooding | None) -> float: ...


class Client(Unpicklable):
    """Holds the secret key: encrypts and decrypts.

    Args:
        parameters: The parameter set.
        key: The secret key.
        bound: The largest absolute value that any encrypted number may take. It is public.
        hidden: Whether the key encrypts; that of the clear backend does not.
        memory: Bytes that the ciphertexts of one tensor may take; by default all that the
            machine has.

    Example:
        >>> import cloakwork as cw
        >>> client = cw.Session(depth=1, backend="clear").client
        >>> client.decrypt(client.encrypt([1.0, 2.0])).tolist()
        [1.0, 2.0]
    """

    saved_by = "cw.save_client"

    def __init__(
        self,
        parameters: Parameters,
        key: Key,
        *,
        bound: float,
        hidden: bool = True,
        memory: int | None = None,
    ) -> None:
        self.parameters = parameters
        self.memory = physical_bytes() if memory is None else memory
        self.bound = bound
        self.hidden = hidden
        self.key = key

    def encrypt(
        self,
        data: ArrayLike,
        *,
        bound: float | None = None,
        layout: Layout | None = None,
        level: int | None = None,
    ) -> Tensor:
        """Encrypt an array of any shape.

        What fits one ciphertext lies in C order from slot 0; a larger array is cut into
        tiles, one ciphertext each.

        Args:
            data: Real numbers: a numpy array, a torch tensor, nested lists, a number.
            bound: The largest absolute value that the data may have, where that is less than
                the client's bound. It is public; estimates of precision are as sharp as it is.
            layout: Where the elements lie, by default as above.
            level: By default the top one.

        Raises:
            NotRealError: The data are complex, text or objects.
            NotFiniteError: The data have a NaN or an infinity.
            ValueOutOfRangeError: A number exceeds the bound, or the bound the client's.
            ShapeMismatchError: A dimension has size 0, or rows differ in length.
            MemoryBudgetError: The ciphertexts would take more memory than they may.
            InvalidArgumentError: The bound is no number.
        """
        array = real_array(data, "encrypt")
        bound = self._tighter(bound)
        require_bound(array, bound, "encrypt")
        if layout is None:
            layout = default_layout(array.shape, self.parameters.slots)
        top = self.parameters.levels
        level = top if level is None else integer(level, "level", "encrypt", least=0, most=top)
        needed = layout.ciphertexts * ciphertext_bytes(self.parameters, level)
        require_memory(needed, self.memory, f"encrypt shape {array.shape}")
        packed = layout.pack(array)
        values = [self.key.encrypt(vector, bound=bound, level=level) for vector in packed]
        return Tensor(values, layout, self.parameters)

    def _tighter(self, bound: float | None) -> float:
        if bound is None:
            return self.bound
        if isinstance(bound, bool | np.bool_) or not isinstance(bound, Real):
            raise InvalidArgumentError(
                f"cannot encrypt: expected bound to be a number, got {shown(bound)}"
            )
        if not 0 < bound <= self.bound:
            raise ValueOutOfRangeError(
                f"cannot encrypt: expected a bound above 0 and up to the session's "
                f"{self.bound:g}, got {shown(bound)}"
            )
        return float(bound)

    def decrypt(
        self, tensor: Tensor, *, statistical_bits: int | None = None, decryptions: int = 1
    ) -> NDArray[np.float64]:
        """Decrypt a tensor to an array of its shape.

        The result shows a trace of the ciphertext's noise. Flood it before it goes to
        anybody who knows the ciphertext; see docs/security.md.

        Args:
            tensor: What to decrypt.
            statistical_bits: s: others may see the result, and no adversary's advantage exceeds
                2^-(s/2 + 1.7); None adds no noise.
            decryptions: Ciphertexts under this key whose results others see, at most.

        Raises:
            ValueOutOfRangeError: A result exceeds the bound by more than its error, so it may have
                overflowed.
            BoundOverflowError: By the bounds of the inputs a result may have overflowed, unseen.
            DecryptionOverflowError: A result has overflowed.
            PrecisionLostError: Fewer than 8 bits of the largest result, or of 1, are right.
            NotFiniteError: On the clear backend a result has outgrown its double.
            KeyMismatchError: The tensor belongs to another secret key.
            ParametersMismatchError: The tensor is of the other backend, or of other parameters.
            InvalidArgumentError: It is no tensor, or there are no bits or decryptions, or too many.
        """
        require_tensor(tensor, "decrypt")
        self._require_own_kind(tensor)
        flooding = Flooding.of(statistical_bits, decryptions)
        vectors = [self.key.decrypt(value, flooding=flooding) for value in tensor.values]
        array = tensor.layout.unpack(vectors)
        precision = min(self.key.precision(value, flooding=flooding) for value in tensor.values)
        require_precision(array, precision, "decrypt")
        require_bound(array, self.bound, "decrypt", error=2.0**-precision)
        return array

    def _require_own_kind(self, tensor: Tensor) -> None:
        if tensor.hidden != self.hidden:
            kinds = {True: "encrypts", False: "works in the clear"}
            raise ParametersMismatchError(
                f"cannot decrypt: the client {kinds[self.hidden]}, and the tensor is of a session "
                f"that {kinds[tensor.hidden]}; decrypt it with the client of that session"
            )
        if tensor.parameters.fingerprint != self.parameters.fingerprint:
            raise ParametersMismatchError(
                f"cannot decrypt: expected a tensor made under {self.parameters}, "
                f"got one made under {tensor.parameters}"
            )

    def __repr__(self) -> str:
        described = secrecy.describe(self.parameters, hidden=self.hidden)
        return f"Client({described}, bound={self.bound:g})"


class Evaluator(Unpicklable):
    """Runs programs on encrypted tensors; holds evaluation keys and no secret.

    Args:
        parameters: The parameter set.
        backend: What the programs run on.
        hidden: Whether the backend computes on ciphertexts; the clear one does not.
        memory: Bytes that the ciphertexts of one run may take; by default all that the
            machine has.

    Example:
        >>> import cloakwork as cw
        >>> hasattr(cw.Session(depth=1, backend="clear").evaluator, "decrypt")
        False
    """

    saved_by = "cw.save_evaluator"

    def __init__(
        self,
        parameters: Parameters,
        backend: Backend[Any],
        *,
        hidden: bool = True,
        memory: int | None = None,
    ) -> None:
        self.parameters = parameters
        self.memory = physical_bytes() if memory is None else memory
        self.hidden = hidden
        self.backend = backend
        self._peaks: WeakKeyDictionary[Program, int] = WeakKeyDictionary()

    def run(
        self,
        program: Program,
        inputs: Sequence[Any],
        *,
        threads: int | None = None,
        profile: Profile | None = None,
        cancel: threading.Event | None = None,
        bounds: Sequence[float | None] | None = None,
    ) -> list[Any]:
        """Run a program on values of this evaluator's backend; see `runtime.executor.run`.

        Raises:
            MissingKeyError: The program needs an evaluation key that is not here.
            ParametersMismatchError: The program has another number of slots.
            MemoryBudgetError: By prediction the run takes more memory than it may.
            InvalidArgumentError: The inputs do not fit the program.
            RunCancelledError: The run was cancelled.
        """
        if program.slots != self.parameters.slots:
            raise ParametersMismatchError(
                f"cannot run {program.title}: it has {program.slots} slots, the parameters "
                f"{self.parameters.slots}"
            )
        peak = self._peak_bytes(program)
        require_memory(peak, self.memory, f"run {program.title}")
        if peak * _SPREAD > self.memory:
            # In program order a run takes what was predicted; ahead of it, somewhat more.
            threads = 1
        try:
            return run(
                program,
                self.backend,
                inputs,
                threads=threads,
                profile=profile,
                cancel=cancel,
                bounds=bounds,
            )
        except MissingKeyError as error:
            refusal = MissingKeyError(
                f"{error}; the client makes it by running {program.title} once in its session "
                "before it saves the evaluator"
            )
            for note in error.__notes__:
                refusal.add_note(note)
            raise refusal from error

    def _peak_bytes(self, program: Program) -> int:
        peak = self._peaks.get(program)
        if peak is None:
            peak = self._peaks[program] = predicted_peak_bytes(program, self._bytes_at)
        return peak

    def _bytes_at(self, state: State) -> int:
        level = min(state.level or 0, self.parameters.levels)
        return ciphertext_bytes(self.parameters, level)

    def __repr__(self) -> str:
        return f"Evaluator({secrecy.describe(self.parameters, hidden=self.hidden)})"


class Parametrised(Protocol):
    """A program that is compiled for parameters."""

    @property
    def title(self) -> str: ...
    @property
    def parameters(self) -> Parameters: ...


def require_role(
    program: Parametrised, holder: object, role: type[Client | Evaluator], name: str
) -> None:
    """Refuse who cannot serve a compiled program.

    Args:
        program: The program.
        holder: Who is to serve it.
        role: What that has to be.
        name: The role in a word.

    Raises:
        InvalidArgumentError: It has another role.
        ParametersMismatchError: Its keys are for other parameters.
    """
    if not isinstance(holder, role):
        raise InvalidArgumentError(
            f"cannot use {program.title}: expected its {name}, got {shown(holder)}"
        )
    if program.parameters.fingerprint != holder.parameters.fingerprint:
        raise ParametersMismatchError(
            f"cannot use {program.title}: it was compiled for {program.parameters}, "
            f"the keys are for {holder.parameters}"
        )
