"""Whoever computes: holds a program and evaluation keys, and no secret."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from cloakwork.base.arguments import integer, optional, shown
from cloakwork.base.machine import physical_bytes
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    KeyMismatchError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime import container
from cloakwork.runtime.client import read_key_holder, require_own
from cloakwork.runtime.encrypted import Encrypted, joined
from cloakwork.runtime.executor import run
from cloakwork.runtime.memory import predicted_peak_bytes, require_memory
from cloakwork.runtime.profile import Measurement, Profile
from cloakwork.runtime.program import Program
from cloakwork.schemes.base import BitRun, ReadLimits
from cloakwork.schemes.transform_cache import default_cache_bytes

KIND = "evaluator file"
_MAX_BYTES = 2**63 - 1
_MAX_THREADS = 1024
# The peak of a run on several threads is below this many times that in program order.
_SPREAD = 2


class Evaluator(Unpicklable):
    """Runs a program on encrypted inputs; holds evaluation keys and no secret.

    Args:
        program: The program.
        keys: The evaluation keys.
        key_id: What the secret key is known by.

    Example:
        >>> import cloakwork as cw
        >>> client, evaluator = cw.compile(lambda x: (x * x, x.sum()), (3,)).keygen()
        >>> evaluator.run(client.encrypt([0.5, 0.25, 0.0])).ports
        ('result 1', 'result 2')
        >>> hasattr(evaluator, "decrypt")
        False
    """

    saved_by = "its method save"

    def __init__(self, program: Program, keys: Any, key_id: bytes) -> None:
        self.program = program
        self._keys = keys
        self._key_id = key_id
        self._cache_bytes = default_cache_bytes()
        self._memory_limit = physical_bytes()

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys."""
        return int(self._keys.nbytes)

    @property
    def memory_limit(self) -> int:
        """Bytes that the ciphertexts of one run may take; by default all that the machine has.

        Setting it raises InvalidArgumentError where it is no integer from 0 up.
        """
        return self._memory_limit

    @memory_limit.setter
    def memory_limit(self, value: int) -> None:
        self._memory_limit = _bytes(value, "memory_limit")

    @property
    def cache_bytes(self) -> int:
        """Bytes that encoded linear transforms and constants may take, to be used in later runs.

        By default a quarter of the machine's memory. What does not fit is encoded again in every
        run. Setting it raises InvalidArgumentError where it is no integer from 0 up.
        """
        return self._cache_bytes

    @cache_bytes.setter
    def cache_bytes(self, value: int) -> None:
        self._cache_bytes = _bytes(value, "cache_bytes")
        self.__dict__.pop("_backend", None)

    @cached_property
    def _backend(self) -> Any:
        return self.program.scheme.backend(self._keys, cache_bytes=self._cache_bytes)

    def run(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | None = None,
        *,
        threads: int | None = None,
        profile: Profile | None = None,
        cancel: threading.Event | None = None,
    ) -> Encrypted:
        """Run the program; on a terminal a bar shows how far it is.

        Args:
            inputs: What a client has encrypted, or several have for one key: each input once.
            clear: For a program over bits, by name the inputs that are not encrypted.
            threads: How many operations may run at once; by default as many as the engine has
                threads.
            profile: Filled with what the run took.
            cancel: Set from another thread, it stops the run between operations.

        Raises:
            InvalidArgumentError: They are no encrypted inputs, or an argument is invalid.
            InputNameError: An input is missing, given twice, or none of the program's.
            ShapeMismatchError: The numbers of evaluations differ.
            ProgramMismatchError: They were encrypted for another program.
            KeyMismatchError: They were encrypted for another key.
            ValueOutOfRangeError: A ciphertext may hold larger numbers than the program was
                compiled for.
            NoiseExhaustedError: Noise would destroy an exact result.
            MemoryBudgetError: By prediction the run takes more memory than it may.
            RunCancelledError: The run was cancelled.
            MalformedBytesError: The ciphertexts are damaged.

        Example:
            >>> import cloakwork as cw
            >>> client, evaluator = cw.compile(lambda x: x * x, (3,)).keygen()
            >>> profile = cw.Profile()
            >>> result = evaluator.run(client.encrypt([0.5, 0.25, 0]), threads=1, profile=profile)
            >>> result.role, profile.peak_bytes > 0
            ('outputs', True)
        """
        program = self.program
        action = f"run {program.name}"
        several = joined(inputs, action)
        for each in several:
            require_own(each, program, self._key_id, "inputs", action)
        if threads is not None:
            threads = integer(threads, "threads", action, least=1, most=_MAX_THREADS)
        profile = optional(profile, Profile, "profile", action)
        cancel = optional(cancel, threading.Event, "cancel", action)
        known = self._clear_inputs(clear, action)
        if profile is not None:
            profile.clear()
        runs, count = _together(several, program, action)
        self._require_complete(runs, known, action)
        made: list[dict[int, Any]] = []
        for values in runs:
            own = Profile()
            try:
                if isinstance(program.body, SlotProgram):
                    found = self._run_slots(values, threads, own, cancel)
                else:
                    found = self._run_bits(values, known, threads, own, cancel)
                made.append(dict(enumerate(found)))
            finally:
                # Of a run that fails, too, what was measured until then is told.
                if profile is not None:
                    profile.append(own)
        return Encrypted(
            program.fingerprint,
            "outputs",
            [port.name for port in program.outputs],
            made,
            count,
            self._key_id,
            program.warning,
            program.scheme.dump,
        )

    def _clear_inputs(self, clear: Mapping[str, Any] | None, action: str) -> dict[int, Any]:
        """The bits of inputs that are given in the clear, by the numbers of their ports."""
        if clear is None or (isinstance(clear, Mapping) and not clear):
            return {}
        if not isinstance(clear, Mapping):
            raise InvalidArgumentError(
                f"cannot {action}: expected the inputs in the clear as values by name, got "
                f"{shown(clear)}"
            )
        if isinstance(self.program.body, SlotProgram):
            raise InvalidArgumentError(
                f"cannot {action}: programs over bits alone take inputs in the clear; encrypt "
                f"{', '.join(map(str, clear))} with the public key"
            )
        names = {port.name for port in self.program.inputs}
        for name in clear:
            if name not in names:
                raise InputNameError(
                    f"cannot {action}: there is no input {name!r}; expected "
                    f"{', '.join(sorted(names))}"
                )
        packed = self.program.packing.pack(clear, action)
        if packed.count is not None:
            raise ShapeMismatchError(
                f"cannot {action}: expected clear inputs that serve all evaluations, got "
                f"{packed.count} evaluations of them"
            )
        return dict(packed.runs[0])

    def _require_complete(
        self, runs: Sequence[Mapping[int, Any]], known: Mapping[int, Any], action: str
    ) -> None:
        wanted = set(range(self.program.packing.vector_counts[0]))
        given = [*runs[0], *known]
        if set(given) != wanted or len(given) != len(wanted):
            names = ", ".join(port.name for port in self.program.inputs)
            raise InputNameError(
                f"cannot {action}: expected each of the inputs {names or 'none'} once, encrypted "
                f"or in the clear"
            )

    def _run_bits(
        self,
        values: Mapping[int, Any],
        known: Mapping[int, Any],
        threads: int | None,
        profile: Profile,
        cancel: threading.Event | None,
    ) -> Sequence[Any]:
        body = self.program.body
        assert isinstance(body, BootstrapProgram)
        start = perf_counter()
        try:
            made: BitRun = self.program.scheme.run(
                self._keys, body, values, known, threads=threads, cancel=cancel
            )
        finally:
            profile.seconds = perf_counter() - start
        sizes = np.diff(body.output_starts)[made.nodes] * self.program.scheme.value_bytes
        columns = (made.nodes, made.starts, made.seconds, made.threads, sizes)
        profile.operations += [
            Measurement(node, "bootstrap", begun, seconds, thread, nbytes)
            for node, begun, seconds, thread, nbytes in zip(
                *(column.tolist() for column in columns), strict=True
            )
        ]
        return made.outputs

    def _run_slots(
        self,
        values: Mapping[int, Any],
        threads: int | None,
        profile: Profile,
        cancel: threading.Event | None,
    ) -> Sequence[Any]:
        program, body = self.program, self.program.body
        assert isinstance(body, SlotProgram)
        ordered = [values[number] for number in sorted(values)]
        if program.scheme.encrypts and program.input_bounds is not None:
            _require_bounds(program, ordered)
        require_memory(self._peak_bytes, self._memory_limit, f"run {program.name}")
        if not program.scheme.encrypts or self._peak_bytes * _SPREAD > self._memory_limit:
            # In program order a run takes what was predicted, ahead of it somewhat more; and
            # modelled errors are the same in every run.
            threads = 1
        try:
            return run(
                body,
                self._backend,
                ordered,
                threads=threads,
                profile=profile,
                cancel=cancel,
                bounds=program.value_bounds if program.scheme.encrypts else None,
            )
        except KeyMismatchError as error:
            raise KeyMismatchError(
                f"cannot run {program.name}: the inputs were encrypted by another client than the "
                "one that this evaluator was made with; keygen makes the two as a pair"
            ) from error

    @cached_property
    def _peak_bytes(self) -> int:
        assert isinstance(self.program.body, SlotProgram)
        return predicted_peak_bytes(self.program.body, self.program.scheme.bytes_at)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write program and evaluation keys to a file; `cloakwork.load(path, Evaluator)` reads it.

        Args:
            path: The file; one that exists is replaced.

        Raises:
            InvalidArgumentError: The path is invalid.
            OSError: The file cannot be written.
        """
        record = {
            "program": self.program.to_record(),
            "evaluation_keys": self.program.scheme.dump(self._keys),
            "key_id": self._key_id,
        }
        container.write(path, KIND, record)

    @classmethod
    def _load(cls, path: str | os.PathLike[str], limits: ReadLimits) -> Evaluator:
        return cls(*read_key_holder(path, KIND, "evaluation_keys", limits))

    def __repr__(self) -> str:
        return f"Evaluator({self.program!r})"


def _bytes(value: Any, name: str) -> int:
    return integer(value, name, "set up an evaluator", least=0, most=_MAX_BYTES)


def _together(
    several: Sequence[Encrypted], program: Program, action: str
) -> tuple[list[dict[int, Any]], int | None]:
    """The values of each run by number, of all that was given, and how many evaluations."""
    if len({(each.runs, each.count) for each in several}) > 1:
        counts = ", ".join(str(each.count) for each in several)
        raise ShapeMismatchError(
            f"cannot {action}: expected as many evaluations of every input, got {counts}"
        )
    parts = [each.values(program.scheme, program.body) for each in several]
    runs: list[dict[int, Any]] = []
    for of_run in zip(*parts, strict=True):
        together: dict[int, Any] = {}
        for values in of_run:
            twice = together.keys() & values.keys()
            if twice:
                raise InputNameError(f"cannot {action}: an input is given twice")
            together |= values
        runs.append(together)
    return runs, several[0].count


def _require_bounds(program: Program, values: Sequence[Any]) -> None:
    """Refuse what may be larger than the bounds that the whole program was planned by."""
    assert program.input_bounds is not None
    for number, (promised, value) in enumerate(zip(program.input_bounds, values, strict=True)):
        if value.bound > promised:
            raise ValueOutOfRangeError(
                f"cannot run {program.name}: expected ciphertext {number} to hold numbers of "
                f"absolute value up to {promised:g}, and it was encrypted with a bound of "
                f"{value.bound:g}; encrypt it with the client of this program"
            )
