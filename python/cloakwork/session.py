"""The session: client and evaluator in one process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _native
from cloakwork._native import SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey
from cloakwork.backends.clear import ClearBackend, ClearKey
from cloakwork.backends.noise import noise_of
from cloakwork.eager import compute
from cloakwork.errors import InvalidArgumentError, KeyBudgetError, ParametersMismatchError
from cloakwork.plan.key_budget import powers_of_two_only, within_key_budget
from cloakwork.plan.keys import KeyDemand, demand_of
from cloakwork.plan.layout import MAX_SLOTS
from cloakwork.plan.parameter_choice import SCALE_BITS, parameters_for
from cloakwork.programs.slots import Program
from cloakwork.programs.tensors import Node
from cloakwork.runtime import secrecy
from cloakwork.runtime.arguments import integer, positive, shown
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.progress import progress_bar
from cloakwork.runtime.roles import Client, Evaluator
from cloakwork.runtime.tensor import Tensor, require_tensor

# The engine's largest modulus has 4096 bits, and every level takes a scale of it.
_MAX_DEPTH = 4096 // SCALE_BITS.start
# The rings that the engine has.
_LOG_N = range(5, 18)
_MAX_BYTES = 2**63 - 1
_ACTION = "make a session"
# Between calls the bar moves, and an interrupt from the keyboard is heard.
_KEYS_PER_CALL = 8


class Session:
    """A client and an evaluator in one process, the keys made as programs need them.

    Args:
        depth: Multiplications in a row that a value can go through.
        precision: Bits after the binary point that a result should have.
        slots: Numbers that one ciphertext must hold at least; by default what is
            secure for the depth and precision.
        bound: The largest absolute value that any encrypted number may take. Public.
        backend: "ckks" encrypts; "clear" runs the same programs in float64 and hides
            nothing.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        log_n: Base-2 logarithm of the ring degree; by default the smallest that is secure.
        noise: Whether the clear backend adds the errors that CKKS would have at these
            parameters, of typical size and the same in every run.
        memory: Bytes that the ciphertexts of one tensor or one run may take; by default all
            that the machine has.
        key_budget: Bytes that the evaluation keys may take in all; where a program would
            exceed them it makes rotations of others. By default there is no limit.

    Raises:
        InvalidParametersError: No parameter set serves what is asked.
        InsecureParametersError: The ring asked for is too small for 128-bit security.
        InvalidArgumentError: There is no such backend, or a number is out of range.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, precision=20)
        >>> x = session.encrypt([1.0, 2.0, 3.0])
        >>> bool(abs(session.decrypt(cw.einsum("i,i->", x, [1.0, 1.0, 2.0])) - 9) < 1e-5)
        True
    """

    def __init__(
        self,
        *,
        depth: int = 3,
        precision: int = 20,
        slots: int | None = None,
        bound: float = 64.0,
        backend: Literal["ckks", "clear"] = "ckks",
        insecure: bool = False,
        log_n: int | None = None,
        noise: bool = False,
        memory: int | None = None,
        key_budget: int | None = None,
    ) -> None:
        depth = integer(depth, "depth", _ACTION, least=0, most=_MAX_DEPTH)
        precision = integer(precision, "precision", _ACTION, least=0, most=SCALE_BITS[-1])
        if slots is not None:
            slots = integer(slots, "slots", _ACTION, least=1, most=MAX_SLOTS)
        bound = positive(bound, "bound", _ACTION)
        if not (isinstance(backend, str) and backend in ("ckks", "clear")):
            raise InvalidArgumentError(
                f"cannot make a session: expected backend 'ckks' or 'clear', got {shown(backend)}"
            )
        for name, value in (("insecure", insecure), ("noise", noise)):
            if not isinstance(value, bool | np.bool_):
                raise InvalidArgumentError(
                    f"cannot make a session: expected {name} to be True or False, "
                    f"got {shown(value)}"
                )
        insecure = bool(insecure)
        if noise and backend != "clear":
            raise InvalidArgumentError(
                "cannot make a session: noise is modelled on the clear backend, and ciphertexts "
                "have their own; leave noise out, or take backend='clear'"
            )
        if log_n is not None:
            log_n = integer(log_n, "log_n", _ACTION, least=_LOG_N.start, most=_LOG_N[-1])
        self.parameters = parameters_for(
            depth, precision, slots=slots, bound=bound, insecure=insecure, log_n=log_n
        )
        if memory is not None:
            memory = integer(memory, "memory", _ACTION, least=0, most=_MAX_BYTES)
        if key_budget is not None:
            key_budget = integer(key_budget, "key_budget", _ACTION, least=0, most=_MAX_BYTES)
        self.key_budget = key_budget
        self._held = KeyDemand()
        self._ckks: tuple[CkksKey, CkksBackend] | None = None
        if backend == "ckks":
            key = CkksKey(self.parameters, SecretKey.generate(self.parameters))
            ckks = CkksBackend(self.parameters, key.evaluation_keys(None, {}))
            self._ckks = (key, ckks)
            self.client = Client(self.parameters, key, bound=bound, memory=memory)
            self.evaluator = Evaluator(self.parameters, ckks, memory=memory)
        else:
            model = noise_of(self.parameters) if noise else None
            clear_key, clear = ClearKey(model), ClearBackend(model)
            self.client = Client(
                self.parameters, clear_key, bound=bound, hidden=False, memory=memory
            )
            self.evaluator = Evaluator(self.parameters, clear, hidden=False, memory=memory)

    def encrypt(self, data: ArrayLike, *, bound: float | None = None) -> Tensor:
        """Encrypt an array; see `Client.encrypt`, whose errors it raises."""
        return replace(self.client.encrypt(data, bound=bound), runner=self)

    def decrypt(
        self, tensor: Tensor, *, statistical_bits: int | None = None, decryptions: int = 1
    ) -> NDArray[np.float64]:
        """Decrypt a tensor; see `Client.decrypt`, whose errors it raises.

        Raises:
            InvalidArgumentError: It is no tensor.
            ParametersMismatchError: The tensor is not one of this session.
        """
        require_tensor(tensor, "decrypt")
        if tensor.runner is not self:
            raise ParametersMismatchError("cannot decrypt: the tensor is not of this session")
        return self.client.decrypt(
            tensor, statistical_bits=statistical_bits, decryptions=decryptions
        )

    def compute(self, node: Node, title: str) -> Tensor:
        """Plan one result and run the plan; see `eager.compute`."""
        return compute(self, self, node, title)

    def fitted(self, program: Program) -> Program:
        """The program, with rotations made of others where its keys would break the budget.

        Raises:
            KeyBudgetError: Even so they would.
        """
        if self.key_budget is None or self._bytes_with(program) <= self.key_budget:
            return program
        key_bytes_at = self.parameters.evaluation_key_bytes
        room = max(0, self.key_budget - self._held.nbytes(key_bytes_at))
        fewer = [powers_of_two_only(program)]
        with contextlib.suppress(KeyBudgetError):
            fewer.insert(0, within_key_budget(program, key_bytes_at, room))
        for each in fewer:
            if self._bytes_with(each) <= self.key_budget:
                return each
        needed = min(map(self._bytes_with, fewer))
        raise KeyBudgetError(
            f"cannot run {program.title} within {self.key_budget} bytes of evaluation keys: "
            f"with those made so far it takes {needed} at least; allow key_budget={needed}"
        )

    def _bytes_with(self, program: Program) -> int:
        demand = self._held.joined(demand_of(program))
        return demand.nbytes(self.parameters.evaluation_key_bytes)

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
        """Run a program, making the evaluation keys that it lacks first.

        See `Evaluator.run`, whose errors it raises.
        """
        if self._ckks is not None:
            self._make_keys(demand_of(program), *self._ckks)
        return self.evaluator.run(
            program, inputs, threads=threads, profile=profile, cancel=cancel, bounds=bounds
        )

    def _make_keys(self, demand: KeyDemand, key: CkksKey, backend: CkksBackend) -> None:
        lacking = demand.beyond(self._held)
        with progress_bar("making evaluation keys", total=len(lacking), unit="key") as bar:
            for part in lacking.parts(max(_KEYS_PER_CALL, _native.threads())):
                backend.extend_keys(key.evaluation_keys(part.relinearisation_level, part.rotations))
                self._held = self._held.joined(part)
                bar.update(len(part))

    @property
    def memory(self) -> int:
        """Bytes that the ciphertexts of one run may take."""
        return self.evaluator.memory

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys made so far."""
        return 0 if self._ckks is None else self._ckks[1].keys.nbytes

    def __repr__(self) -> str:
        described = secrecy.describe(self.parameters, hidden=self.client.hidden)
        return f"Session({described}, bound={self.client.bound:g})"
