"""The session: client and evaluator of eager tensors in one process; and the evaluator alone."""

from __future__ import annotations

import contextlib
import math
import os
import secrets
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork import _native
from cloakwork._native import Parameters
from cloakwork.base.arguments import apart, bytes_limit, choice, integer, positive, truth
from cloakwork.base.arrays import MIN_RIGHT_BITS, real_array, require_bound, require_precision
from cloakwork.base.progress import progress_bar
from cloakwork.base.record import Fields, Record, digest_of
from cloakwork.base.system_memory import names_memory
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
    KeyMismatchError,
    MalformedBytesError,
    MissingKeyError,
    ParametersMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.tensors.eager import computed, interval_of, refreshed
from cloakwork.frontends.tensors.tensor import TENSOR_KIND, Tensor, require_tensor
from cloakwork.plan.functions.intervals import Interval, uniform
from cloakwork.plan.parameters.bootstrapping import session_refreshing
from cloakwork.plan.parameters.ckks import SCALE_BITS, parameters_for
from cloakwork.plan.passes.key_budget import powers_of_two_only, with_keys, within_key_budget
from cloakwork.programs.ir.tensors import Node
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.layout import MAX_SLOTS, Layout, default_layout
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import SlotProgram, State
from cloakwork.programs.spec import ends
from cloakwork.runtime import container
from cloakwork.runtime.encrypted import KEY_ID_BYTES, read_key_id
from cloakwork.runtime.held_memory import bootstrap_memory
from cloakwork.runtime.ledger import Given, Ledger
from cloakwork.runtime.memory import predicted_peak_bytes, require_memory
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.saved import Saved
from cloakwork.runtime.slot_runner import RunMemory, SlotRunner
from cloakwork.schemes import read_scheme
from cloakwork.schemes.base import (
    Flooding,
    ReadLimits,
    SlotScheme,
    advice_on_precision,
    flooding,
)
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_real import ClearReal
from cloakwork.schemes.device.devices import CPU, OpenDevice, device_name, open_device
from cloakwork.schemes.device.staying import StayingCiphertext, on_host

SESSION_KIND = "session file"
EVALUATOR_KIND = "session evaluator file"
# The engine's largest modulus has 4096 bits, and every level takes a scale of it.
_MAX_DEPTH = 4096 // SCALE_BITS.start
# The rings that the engine has.
_LOG_N = range(5, 18)
_PRECISION = 20
_ACTION = "make a session"
_ADVICE = "make the session's bound, cw.Session(bound={}), as large"
_OWN_ADVICE = "encrypt with a bound as large, bound={}"
_PRECISION_ADVICE = (
    "make the session with more precision, encrypt with tighter bounds, or scale small data up"
)
# Between calls the bar moves, and an interrupt from the keyboard is heard.
_KEYS_PER_CALL = 8
# Of a device's memory, what encoded constants may take there: each is held on the host, too.
_KEPT_SHARE = 16
_MAX_CIPHERTEXTS = 1 << 20


class _KeyHolder(Unpicklable, Saved):
    """What session and evaluator share: tensors are computed with and loaded.

    Args:
        runner: What programs run by.
        key_id: What the secret key is known by.
        precision: Bits after the binary point that functions are to have right.
    """

    def __init__(self, runner: SlotRunner, key_id: bytes, precision: int) -> None:
        self._runner = runner
        self._scheme: Ckks | ClearReal = runner.scheme
        self._key_id = key_id
        self.precision = precision
        # Memory and threads of programs for which both, and keys, are known to be there.
        self._ready: WeakKeyDictionary[SlotProgram, tuple[RunMemory, int | None]]
        self._ready = WeakKeyDictionary()

    @property
    def parameters(self) -> Parameters:
        """The parameter set."""
        return self._scheme.parameters

    @property
    def scheme(self) -> SlotScheme:
        """What tensors are encrypted by."""
        return self._scheme

    @property
    def device(self) -> str:
        """Where programs run: "cpu", or the name of a device."""
        return self._runner.device

    @property
    def _backend(self) -> Any:
        return self._runner.backend()

    @property
    def memory_limit(self) -> int:
        """Bytes that the ciphertexts of one tensor or one run may take.

        Of a run that bootstraps, all keys and what it works in count, too. Setting it to None
        restores the default, all that the machine has; what is no integer from 0 up raises
        InvalidArgumentError.
        """
        return self._runner.memory_limit

    @memory_limit.setter
    def memory_limit(self, value: int | None) -> None:
        self._ready.clear()
        self._runner.own_limit = bytes_limit(value, "memory_limit", "set a limit")

    def compute(self, node: Node, title: str) -> Tensor:
        """Plan one result and run the plan; see `frontends.tensors.eager.computed`."""
        return computed(self, node, title)

    def interval_of(self, node: Node) -> Interval:
        """Between which ends the elements of a node lie."""
        return interval_of(node)

    def refreshed(self, tensor: Tensor) -> Tensor:
        """Bootstrap a tensor; see `Tensor.bootstrap`."""
        return refreshed(self, tensor)

    def fitted(self, program: SlotProgram) -> SlotProgram:
        """The program as the keys at hand serve it."""
        return program

    @names_memory("run the program")
    def run(
        self,
        program: SlotProgram,
        inputs: Sequence[Any],
        *,
        profile: Profile | None = None,
        bounds: Sequence[float | None] | None = None,
    ) -> list[Any]:
        """Run a program on values of the backend; see `runtime.executor.run`.

        Raises:
            MissingKeyError: The program needs an evaluation key that is not here.
            MemoryBudgetError: By prediction the run takes more memory than it may.
        """
        ready = self._ready.get(program)
        if ready is None:
            memory = self._memory_of(program)
            ready = memory, self._runner.threads(memory, None, f"run {program.title}")
            self._prepare(program)
            # The more keys there are, the less memory is left to one that bootstraps.
            if not memory.held.least:
                self._ready[program] = ready
        memory, threads = ready
        return self._runner.run(
            program, inputs, memory, threads=threads, profile=profile, bounds=bounds
        )

    def _prepare(self, program: SlotProgram) -> None:
        """What is done before a program runs, once its memory is known to be there."""

    def _memory_of(self, program: SlotProgram) -> RunMemory:
        """What a run takes by prediction: of one that bootstraps all keys that are here, too."""
        peak = predicted_peak_bytes(program, self._scheme.bytes_at)
        if not self._scheme.encrypts:
            return RunMemory(peak)
        held = bootstrap_memory(program, self._scheme.refreshing)
        if not held.least:
            return RunMemory(peak)
        keys, cached = self._key_bytes_with(program), self.memory_limit
        return RunMemory(peak, replace(held, keys=keys, encoded=0, uniform=0, cached=cached))

    def _key_bytes_with(self, _program: SlotProgram) -> int:
        """Bytes of the evaluation keys that are here while a program runs."""
        return self.key_bytes

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys that are here."""
        return int(self._runner.key.nbytes)

    def load(self, path: str | os.PathLike[str]) -> Tensor:
        """Load a tensor that `Tensor.save` wrote, to compute with it.

        Raises:
            MalformedBytesError: The file is damaged or no tensor's.
            ParametersMismatchError: The tensor was made under other parameters.
            KeyMismatchError: It was encrypted with another key.
            InvalidArgumentError: The path is invalid.
            FileMissingError: There is no such file.
            FileAccessError: It cannot be opened.
        """
        fields = container.read(path, TENSOR_KIND)
        fields.require_no_arrays()
        if fields.word("parameters") != self.parameters.fingerprint:
            raise ParametersMismatchError(f"cannot read {path}: it was made under other parameters")
        if fields.word("scheme") != self._scheme.name:
            raise ParametersMismatchError(
                f"cannot read {path}: it was made under {fields.word('scheme')}, not under "
                f"{self._scheme.name}"
            )
        if fields.data("key_id") != self._key_id:
            raise KeyMismatchError(f"cannot read {path}: it was encrypted with another key")
        layout = fields.value("layout", Layout)
        values = [
            self._scheme.read_ciphertext(each)
            for each in fields.several("values", most=_MAX_CIPHERTEXTS)
        ]
        if layout.slots != self.parameters.slots or layout.ciphertexts != len(values):
            raise MalformedBytesError(
                f"cannot read {path}: its layout has {layout.ciphertexts} ciphertext(s) of "
                f"{layout.slots} slots, the file {len(values)} of {self.parameters.slots}"
            )
        if len({value.level for value in values}) > 1:
            raise MalformedBytesError(
                f"cannot read {path}: its ciphertexts stand at several levels"
            )
        return Tensor(
            self._near_programs(values), layout, self._scheme, self._key_id, self, claimed=True
        )

    def _near_programs(self, values: Sequence[Any]) -> list[Any]:
        """Values that stay on the device that programs run on, once one has used them."""
        if self.device != CPU:
            return [StayingCiphertext.sent_when_used(each) for each in values]
        return list(values)

    def _key_record(self, kind: str, key: Any) -> Record:
        return {
            "scheme": self._scheme.to_record(),
            kind: self._scheme.dump(key),
            "key_id": self._key_id,
            "precision": self.precision,
        }


class Session(_KeyHolder):
    """A client and an evaluator in one process, the keys made as programs need them.

    Args:
        depth: Multiplications in a row that a value can go through.
        precision: Bits after the binary point that a result should have; by default 20, or where
            tensors are bootstrapped what that leaves of numbers up to the bound.
        slots: Numbers that one ciphertext must hold at least; by default what is
            secure for the depth and precision.
        bound: The largest absolute value that any encrypted number may take. Public.
        backend: "ckks" encrypts; "clear" runs the same programs in float64 and hides
            nothing. "cuda" encrypts, too, and runs programs on a GPU, "cuda:1" on the second one,
            with the same results; "software" runs a GPU's kernels on the CPU, for tests.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        log_n: Base-2 logarithm of the ring degree; by default the smallest that is secure.
        noise: Whether the clear backend adds the errors that CKKS would have at these
            parameters, of typical size and the same in every run.
        memory_limit: Bytes that the ciphertexts of one tensor or one run may take, and of a run
            that bootstraps all keys and what it works in, too; by default all that the machine has.
        key_budget: Bytes that the evaluation keys may take in all; where a program would
            exceed them it makes rotations of others. By default there is no limit.
        scale_bits: Bits of the scale, up to 60, where the precision takes fewer. Comparisons,
            functions with a corner and roots of numbers down to 0 enlarge noise; where too little
            would be right of their results, an error says how many bits they take.
        bootstrap: Whether tensors are refreshed where too few levels are left, so that depth has
            no end. Parameters are then those of the bootstrapping of a ring, 2^16 by default, and
            `depth` is how many levels it must leave.

    Raises:
        InvalidParametersError: No parameter set serves what is asked.
        InsecureParametersError: The ring asked for is too small for 128-bit security.
        InvalidArgumentError: There is no such backend, or a number is out of range.
        DeviceUnavailableError: The GPU, or what it takes, is missing.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, precision=20)
        >>> x = session.encrypt([1.0, 2.0, 3.0])
        >>> bool(abs(session.decrypt(cw.einsum("i,i->", x, [1.0, 1.0, 2.0])) - 9) < 1e-5)
        True
    """

    _kind = SESSION_KIND

    def __init__(
        self,
        *,
        depth: int = 3,
        precision: int | None = None,
        slots: int | None = None,
        bound: float = 64.0,
        backend: str = "ckks",
        insecure: bool = False,
        log_n: int | None = None,
        noise: bool = False,
        memory_limit: int | None = None,
        key_budget: int | None = None,
        scale_bits: int | None = None,
        bootstrap: bool = False,
    ) -> None:
        depth = integer(depth, "depth", _ACTION, least=0, most=_MAX_DEPTH)
        if precision is not None:
            precision = integer(precision, "precision", _ACTION, least=0, most=SCALE_BITS[-1])
        elif not truth(bootstrap, "bootstrap", _ACTION):
            precision = _PRECISION
        if slots is not None:
            slots = integer(slots, "slots", _ACTION, least=1, most=MAX_SLOTS)
        bound = positive(bound, "bound", _ACTION)
        device = _device_of(backend)
        insecure = truth(insecure, "insecure", _ACTION)
        noise = truth(noise, "noise", _ACTION)
        if noise and backend != "clear":
            raise InvalidArgumentError(
                "cannot make a session: noise is modelled on the clear backend, and ciphertexts "
                "have their own; leave noise out, or take backend='clear'"
            )
        if log_n is not None:
            log_n = integer(log_n, "log_n", _ACTION, least=_LOG_N.start, most=_LOG_N[-1])
        if precision is not None and bound * 2.0**precision < 2.0**MIN_RIGHT_BITS:
            needed = MIN_RIGHT_BITS - math.floor(math.log2(bound))
            raise InvalidParametersError(
                f"cannot make a session: with bound={bound:g} and errors of up to 2^-{precision} "
                f"all numbers are noise; ask for precision={needed} or more, or scale the data up"
            )
        if scale_bits is not None:
            least, most = SCALE_BITS.start, SCALE_BITS[-1]
            scale_bits = integer(scale_bits, "scale_bits", _ACTION, least=least, most=most)
        refreshing: Refreshing | None = None
        if truth(bootstrap, "bootstrap", _ACTION):
            if scale_bits is not None:
                raise InvalidArgumentError(
                    "cannot make a session: the scale of parameters with bootstraps is theirs; "
                    "leave out scale_bits, or bootstrap=True"
                )
            refreshing = session_refreshing(
                depth, precision, slots=slots, bound=bound, insecure=insecure, log_n=log_n
            )
            parameters = refreshing.chain
            precision = math.floor(refreshing.precision) if precision is None else precision
        else:
            assert precision is not None
            parameters = parameters_for(
                depth,
                precision,
                slots=slots,
                bound=bound,
                insecure=insecure,
                log_n=log_n,
                scale_bits=scale_bits,
            )
        clear = ClearReal(parameters, refreshing, 0 if noise else None)
        scheme = clear if backend == "clear" else Ckks(parameters, refreshing)
        limit = bytes_limit(memory_limit, "memory_limit", _ACTION)
        budget = bytes_limit(key_budget, "key_budget", _ACTION)
        key_id = secrets.token_bytes(KEY_ID_BYTES)
        secret = scheme.secret_key()
        self._begin(scheme, bound, secret, key_id, precision, limit, budget, device)

    def _begin(
        self,
        scheme: Ckks | ClearReal,
        bound: float,
        secret: Any,
        key_id: bytes,
        precision: int,
        memory_limit: int | None = None,
        key_budget: int | None = None,
        device: OpenDevice | None = None,
    ) -> None:
        key: Any = secret
        if isinstance(scheme, Ckks):
            key = scheme.keys_for(secret, KeyRequirements())
        name, kept = CPU, 0
        if device is not None:
            name, kept = device.name, device.native.budget // _KEPT_SHARE
        super().__init__(SlotRunner(scheme, key, name, kept, memory_limit), key_id, precision)
        self._secret = secret
        self.bound = bound
        self.key_budget = key_budget
        self._held = KeyRequirements()
        self._making = threading.Lock()
        self._ledger = Ledger(self._kind, Given(key_id.hex()))

    @names_memory("encrypt")
    def encrypt(
        self,
        data: ArrayLike,
        *,
        bound: float | None = None,
        low: float | None = None,
        high: float | None = None,
    ) -> Tensor:
        """Encrypt an array of any shape.

        What fits one ciphertext lies in C order from slot 0; a larger array is cut into
        tiles, one ciphertext each.

        Args:
            data: Real numbers: a numpy array, a torch tensor, nested lists, a number.
            bound: The largest absolute value that the data may have, where that is less than
                the session's bound. It is public; estimates of precision are as sharp as it is.
            low: The least value that the data may have, where more is known than the bound; public
                too. Functions are computed over the range of what they are given.
            high: The greatest.

        Raises:
            NotRealError: The data are complex, text or objects.
            NotFiniteError: The data have a NaN or an infinity.
            ValueOutOfRangeError: A number exceeds the bound, or the bound the session's.
            ShapeMismatchError: A dimension has size 0, or rows differ in length.
            MemoryBudgetError: The ciphertexts would take more memory than they may.
            InvalidArgumentError: The bound is not a number.

        Example:
            >>> import cloakwork as cw
            >>> cw.Session(depth=1, insecure=True, log_n=11).encrypt([[1.0, 2.0], [3.0, 4.0]])
            Tensor(shape=(2, 2), level=1, slots=1024, INSECURE)
        """
        array = real_array(data, "encrypt")
        bound = self.bound if bound is None else self._tighter(bound)
        # Where the session allows the numbers, it is the bound of this call that is too small.
        within = float(np.abs(array).max(initial=0.0)) <= self.bound
        require_bound(array, bound, "encrypt", _OWN_ADVICE if within else _ADVICE)
        least, greatest = ends(low, high, bound, "encrypt")
        if max(-least, greatest) > bound:
            raise ValueOutOfRangeError(
                f"cannot encrypt: expected low and high within the bound {bound:g}, got {least:g} "
                f"to {greatest:g}; give nearer ends, or make the session with a larger bound"
            )
        _require_range(array, least, greatest)
        bound = min(bound, max(abs(least), abs(greatest)))
        layout = default_layout(array.shape, self.parameters.slots)
        level = self._scheme.top_level
        needed = layout.ciphertexts * self._scheme.bytes_at(State(level))
        advice = f"make the session with memory_limit={needed}, or split the array"
        require_memory(needed, self.memory_limit, f"encrypt shape {array.shape}", advice)
        values = [
            self._scheme.encrypt_vector(self._secret, vector, level=level, bound=bound)
            for vector in layout.pack(array)
        ]
        known = uniform(array.ndim, least, greatest)
        return Tensor(
            self._near_programs(values), layout, self._scheme, self._key_id, self, interval=known
        )

    def _tighter(self, bound: float) -> float:
        bound = positive(bound, "bound", "encrypt")
        if bound > self.bound:
            limit, came = apart(self.bound, bound)
            raise ValueOutOfRangeError(
                f"cannot encrypt: expected a bound up to the session's {limit}, got {came}; make "
                f"the session with bound={came}"
            )
        return bound

    @names_memory("decrypt")
    def decrypt(self, tensor: Tensor) -> NDArray[np.float64]:
        """Decrypt a tensor to an array of its shape, for the holder of the secret key alone.

        The result shows a trace of the ciphertext's noise, which depends on the key: others see
        what `decrypt_for_others` returns.

        Args:
            tensor: A tensor of this session.

        Raises:
            ValueOutOfRangeError: A result exceeds the bound by more than its error, so it may have
                overflowed.
            BoundOverflowError: By the bounds of the inputs a result may have overflowed, unseen.
            DecryptionOverflowError: A result has overflowed.
            PrecisionLostError: Fewer than 8 bits of the largest result, or of 1, are right.
            NotFiniteError: On the clear backend a result has outgrown its double.
            InvalidArgumentError: It is no tensor.
            ParametersMismatchError: The tensor is not one of this session.
            DeviceLostError: It stayed on a GPU, which has failed.
        """
        return self._decrypt(tensor, None)

    @names_memory("decrypt for others")
    def decrypt_for_others(
        self, tensor: Tensor, *, statistical_bits: int, decryptions: int
    ) -> NDArray[np.float64]:
        """Decrypt a tensor that others are to see, so that it reveals nothing of the secret key.

        Args:
            tensor: What to decrypt. It must have been computed here: the noise to hide follows
                from the operations, which a file could misstate.
            statistical_bits: See `Client.decrypt_for_others`.
            decryptions: See `Client.decrypt_for_others`. A tensor may be several ciphertexts.

        Raises:
            DecryptionsSpentError: There were as many decryptions already as are allowed in all, or
                fewer statistical bits than now.
            FileMissingError, FileAccessError: The session's file cannot be kept up to date.
            InvalidArgumentError: There are no bits or decryptions, the tensor comes from a file, or
                its noise follows from a range that a user gave.
            PrecisionLostError: Too few bits are left.
            CloakworkError: What `decrypt` raises.

        Example:
            >>> import cloakwork as cw
            >>> session = cw.Session(depth=0, precision=30)
            >>> x = session.encrypt([0.5, 0.25], bound=1)
            >>> session.decrypt_for_others(x, statistical_bits=20, decryptions=100).round(2)
            array([0.5 , 0.25])
        """
        action = "decrypt for others"
        asked = flooding(statistical_bits, decryptions, action)
        require_tensor(tensor, action)
        if tensor.claimed:
            raise InvalidArgumentError(
                f"cannot {action}: the tensor comes from a file, which could misstate its noise; "
                "decrypt for others what this session computed, or a compiled program's results"
            )
        if tensor.known.claimed:
            raise InvalidArgumentError(
                f"cannot {action}: the tensor's noise follows from a range that cloakwork.within "
                "gives and nobody checks; leave it out, or decrypt a compiled program's results, "
                "whose client checks it"
            )
        array = self._decrypt(tensor, asked)
        digests = [digest_of(self._scheme.dump(value)) for value in tensor.values]
        self._ledger.release(digests, asked, action)
        return array

    def _decrypt(self, tensor: Tensor, asked: Flooding | None) -> NDArray[np.float64]:
        require_tensor(tensor, "decrypt")
        if tensor.runner is not self:
            raise ParametersMismatchError("cannot decrypt: the tensor is not of this session")
        claims = [value.estimate for value in tensor.values] if tensor.encrypted else None
        values: list[Any] = list(map(on_host, tensor.values))
        found = self._scheme.decrypt(self._secret, values, None, claims, asked)
        array = tensor.layout.unpack([np.real(vector) for vector in found.vectors])
        advice = advice_on_precision(_PRECISION_ADVICE, asked)
        require_precision(array, -math.log2(found.error), self.bound, "decrypt", advice)
        require_bound(array, self.bound, "decrypt", _ADVICE, error=found.error)
        return array

    @names_memory("make evaluation keys")
    def evaluator(self) -> SessionEvaluator:
        """What computes with this session's tensors in another process, and decrypts nothing.

        It has the evaluation keys made so far: run once here what it is to run there.

        Raises:
            InvalidArgumentError: The session works in the clear and has no keys.

        Example:
            >>> import cloakwork as cw
            >>> cw.Session(depth=1, insecure=True, log_n=11).evaluator().parameters.slots
            1024
        """
        scheme = self._scheme
        if not isinstance(scheme, Ckks):
            raise InvalidArgumentError(
                "cannot make an evaluator: the session works in the clear and has no keys"
            )
        keys = scheme.keys_for(self._secret, self._held)
        return SessionEvaluator(scheme, keys, self._key_id, self.precision)

    def _record(self) -> Record:
        if not self._scheme.encrypts:
            raise InvalidArgumentError(
                "cannot save the session: it works in the clear and has no key"
            )
        key = self._key_record("secret_key", self._secret)
        return {**key, "bound": self.bound, **self._ledger.record()}

    def _settle(self, path: Path) -> None:
        self._ledger.settle(path)

    def _saving(self, path: Path) -> contextlib.AbstractContextManager[None]:
        return self._ledger.saving(path)

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Session:
        made = cls.__new__(cls)
        scheme, secret, key_id, precision = _read_keys(fields, "secret_key", limits)
        made._begin(scheme, fields.positive("bound"), secret, key_id, precision)
        made._ledger = Ledger.of(cls._kind, fields)
        return made

    def fitted(self, program: SlotProgram) -> SlotProgram:
        """The program, with rotations made of others where its keys would break the budget.

        Raises:
            KeyBudgetError: Even so they would.
        """
        if self.key_budget is None or self._key_bytes_with(program) <= self.key_budget:
            return program
        key_bytes_at = self.parameters.evaluation_key_bytes
        left = max(0, self.key_budget - self._scheme.bytes_of(self._held))
        fewer = [powers_of_two_only(program)]
        with contextlib.suppress(KeyBudgetError):
            fewer.insert(0, within_key_budget(program, key_bytes_at, left))
        for each in fewer:
            if self._key_bytes_with(each) <= self.key_budget:
                return each
        needed = min(map(self._key_bytes_with, fewer))
        raise KeyBudgetError(
            f"cannot run {program.title} within {self.key_budget} bytes of evaluation keys: "
            f"with those made so far it takes {needed} at least; allow key_budget={needed}",
            needed,
        )

    def _key_bytes_with(self, program: SlotProgram) -> int:
        """Bytes of the evaluation keys made so far and of those that a program needs."""
        return self._scheme.bytes_of(self._held.joined(self._scheme.required_keys(program)))

    def _prepare(self, program: SlotProgram) -> None:
        """Make the evaluation keys that a program lacks."""
        scheme = self._scheme
        if not isinstance(scheme, Ckks):
            return
        needed = scheme.required_keys(program)
        with self._making:
            lacking = needed.beyond(self._held)
            with progress_bar("making evaluation keys", total=len(lacking), unit="key") as bar:
                for part in lacking.parts(max(_KEYS_PER_CALL, _native.threads())):
                    self._backend.extend_keys(scheme.keys_for(self._secret, part))
                    self._held = self._held.joined(part)
                    bar.update(len(part))

    def __repr__(self) -> str:
        return f"Session({self._scheme}, bound={self.bound:g})"


class SessionEvaluator(_KeyHolder):
    """Computes with the tensors of a session in another process; holds no secret.

    Args:
        scheme: What tensors are encrypted by.
        keys: The evaluation keys.
        key_id: What the secret key is known by.
        precision: Bits after the binary point that functions are to have right.

    Example:
        >>> import cloakwork as cw
        >>> hasattr(cw.Session(depth=1, insecure=True, log_n=11).evaluator(), "decrypt")
        False
    """

    _kind = EVALUATOR_KIND

    def __init__(self, scheme: Ckks, keys: Any, key_id: bytes, precision: int) -> None:
        super().__init__(SlotRunner(scheme, keys, own_cache=0), key_id, precision)

    def fitted(self, program: SlotProgram) -> SlotProgram:
        """The program, its rotations made of those that there are keys for."""
        (held,) = self._scheme.held_keys(self._runner.key)
        if not self._scheme.required_keys(program).beyond(held):
            return program
        # Where the keys do not reach, it is the program itself that names what is missing.
        return with_keys(program, held.rotations) or program

    def run(
        self,
        program: SlotProgram,
        inputs: Sequence[Any],
        *,
        profile: Profile | None = None,
        bounds: Sequence[float | None] | None = None,
    ) -> list[Any]:
        """Run a program with the evaluation keys that are here."""
        try:
            return super().run(program, inputs, profile=profile, bounds=bounds)
        except MissingKeyError as error:
            told = MissingKeyError(
                f"{error}; the session makes it by running {program.title} once before its "
                "evaluator is made"
            )
            for note in getattr(error, "__notes__", ()):
                told.add_note(note)
            raise told from error

    def _record(self) -> Record:
        return self._key_record("evaluation_keys", self._runner.key)

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> SessionEvaluator:
        return cls(*_read_keys(fields, "evaluation_keys", limits))

    def __repr__(self) -> str:
        return f"SessionEvaluator({self._scheme})"


def _device_of(backend: object) -> OpenDevice | None:
    """The device of a session's backend; None for those of the CPU."""
    if isinstance(backend, str) and backend in {"ckks", "clear"}:
        return None
    try:
        name = device_name(backend, _ACTION)
    except InvalidArgumentError:
        name = CPU
    if name == CPU:
        choice(backend, ("ckks", "clear", "cuda"), "backend", _ACTION)
    return open_device(name)


def _read_keys(fields: Fields, kind: str, limits: ReadLimits) -> tuple[Ckks, Any, bytes, int]:
    fields.require_no_arrays()
    scheme = read_scheme(fields.within("scheme"), limits)
    if not isinstance(scheme, Ckks):
        raise fields.wrong("scheme", "ckks")
    precision = fields.integer("precision", least=0, most=SCALE_BITS[-1])
    return scheme, scheme.read_key(kind, fields.within(kind)), read_key_id(fields), precision


def _require_range(array: NDArray[np.float64], low: float, high: float) -> None:
    """Refuse data outside the range that is said of them."""
    # An array without elements is refused for its shape.
    least = float(array.min(initial=math.inf))
    greatest = float(array.max(initial=-math.inf))
    if least < low or greatest > high:
        raise ValueOutOfRangeError(
            f"cannot encrypt: expected values from {low:g} to {high:g}, got {least:g} to "
            f"{greatest:g}; say low={least:g} and high={greatest:g}, or scale the data"
        )
