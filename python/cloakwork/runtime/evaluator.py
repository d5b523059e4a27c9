"""Whoever computes: holds a program and evaluation keys, and no secret."""

from __future__ import annotations

import threading
from collections import ChainMap, Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from time import perf_counter
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from cloakwork.base.arguments import bytes_limit, integer, optional, shown
from cloakwork.base.progress import in_turn, shows_bars
from cloakwork.base.record import Fields
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    MalformedBytesError,
    NoiseBudgetError,
    ProgramMismatchError,
    ShapeMismatchError,
    StepsSpentError,
    ValueOutOfRangeError,
)
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.repeated import Step
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.clear_inputs import clear_inputs
from cloakwork.runtime.costs import work_of
from cloakwork.runtime.encoded_inputs import EncodedInputs, KnownInputs
from cloakwork.runtime.encrypted import Encrypted, encrypted_inputs
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.executor import MAX_THREADS
from cloakwork.runtime.held_memory import held_memory
from cloakwork.runtime.key_holder import KeyHolder
from cloakwork.runtime.memory import predicted_peak_bytes
from cloakwork.runtime.on_device import require_device
from cloakwork.runtime.profile import Profile, bootstrap_measurements
from cloakwork.runtime.repeated import bounds_of_step, run_steps
from cloakwork.runtime.row import require_plain
from cloakwork.runtime.slot_runner import RunMemory, SlotRunner
from cloakwork.runtime.state import EncryptedState, next_run, require_state
from cloakwork.runtime.totals import summed
from cloakwork.schemes.base import BitRun
from cloakwork.schemes.device.devices import CPU, device_name
from cloakwork.schemes.device.staying import on_host

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program

KIND = "evaluator file"


@runtime_checkable
class Host(Protocol):
    """Where an evaluator's program may run; see `cloakwork.cluster`."""

    def run(
        self,
        evaluator: Evaluator,
        inputs: Sequence[Encrypted],
        profile: Profile,
        cancel: threading.Event | None,
        /,
    ) -> Encrypted:
        """Run a program that encrypts on its inputs, each there once, in memory or in folders."""


class Evaluator(KeyHolder):
    """Runs a program on encrypted inputs; holds evaluation keys and no secret.

    Args:
        program: The program.
        key: The evaluation keys.
        key_id: What the secret key is known by.

    Example:
        >>> import cloakwork as cw
        >>> client, evaluator = cw.compile(lambda x: (x * x, x.sum()), (3,)).keygen()
        >>> evaluator.run(client.encrypt([0.5, 0.25, 0.0])).ports
        ('result 1', 'result 2')
        >>> hasattr(evaluator, "decrypt")
        False
    """

    _kind = KIND
    _key_kind = "evaluation_keys"
    program: Program

    def __init__(self, program: Program, key: Any, key_id: bytes) -> None:
        super().__init__(program, key, key_id)
        self._runner = SlotRunner(program.scheme, key, program.device)
        # Of the programs of a row, by their fingerprints.
        self._parts: dict[str, Evaluator] = {}
        # How it runs with clear inputs, by their numbers.
        self._known: dict[frozenset[int], KnownInputs] = {}

    @classmethod
    def _with(cls, program: Program | Interface, fields: Fields) -> Self:
        if program.held_as != "program":
            raise MalformedBytesError(
                f"cannot read {fields.place}: expected an evaluator of a program, got one of an "
                "interface, which has no operations"
            )
        return super()._with(program, fields)

    @property
    def key_bytes(self) -> int:
        """Bytes that the evaluation keys take.

        Of keys that were read, and of more than 4 GiB of keys, that is half as much until a run
        expands the other halves.
        """
        return int(self._key.nbytes)

    @property
    def memory_limit(self) -> int:
        """Bytes that the ciphertexts of one run may take; by default all that the machine has.

        A run whose prediction exceeds it raises MemoryBudgetError; one that may come close takes
        one thread. Of a network, or any program that bootstraps, keys, diagonals and work count,
        too: below what all of them take, keys are expanded from seeds whenever they are used, the
        least used first, then the engine caches less, and then diagonals of bootstraps are encoded
        whenever they are used.
        On a cluster one that was set is each worker's, for inputs and the values of tasks.

        Setting it to None restores the default; what is no integer from 0 up raises
        InvalidArgumentError.
        """
        return self._runner.memory_limit

    @memory_limit.setter
    def memory_limit(self, value: int | None) -> None:
        self._runner.own_limit = bytes_limit(value, "memory_limit", "set a limit")

    @property
    def cache_bytes(self) -> int:
        """Bytes that encoded linear transforms and constants may take, to be used in later runs.

        By default a quarter of the machine's memory, on a GPU half of what may be used of its own.
        What does not fit is encoded again in every run. Setting it to None restores the default;
        what is no integer from 0 up raises InvalidArgumentError. Reading the default of a GPU that
        is missing raises DeviceUnavailableError.
        """
        return self._runner.cache_bytes

    @cache_bytes.setter
    def cache_bytes(self, value: int | None) -> None:
        self._runner.own_cache = bytes_limit(value, "cache_bytes", "set a limit")

    @property
    def device(self) -> str:
        """Where programs over reals run: "cpu", "cuda", or "cuda:1" for the second GPU.

        By default what the program was compiled for. On a GPU results are the same, bit for bit;
        files are the same, too. "software" runs a GPU's kernels on the CPU, for tests.

        Setting it raises DeviceUnavailableError where the GPU or what it takes is missing,
        DeviceOperationError where the program has an operation that devices lack, and
        InvalidArgumentError where there is no device of the name.
        """
        return self._runner.device

    @device.setter
    def device(self, value: str) -> None:
        name = device_name(value, "set up an evaluator")
        parts = self.program.parts
        # Bits of a row are computed on the CPU wherever its numbers are.
        for each in [one for one in parts if isinstance(one.body, SlotProgram)] or parts:
            require_device(each, name)
        self._runner.device = name

    @property
    def _backend(self) -> Any:
        assert isinstance(self.program.body, SlotProgram)
        return self._runner.backend(self.program.body, self._memory)

    @names_memory("take evaluation keys in")
    def serving(self, program: Program, keys: EvaluationKeys | None = None) -> Evaluator:
        """The evaluator of another program, with these evaluation keys and further ones.

        Both hold the same keys, each of them once; a file of either holds all of them.

        Args:
            program: The program, of the same parameters as this one's; see `cloakwork.together`.
            keys: What `Client.evaluation_keys` made; None where it lacks none.

        Raises:
            InvalidArgumentError: It is not a program, or they are not keys.
            ParametersMismatchError: It has other parameters, or they are of others.
            KeyMismatchError: They are of another client.
            MissingKeyError: The program needs keys that are neither here nor among them.

        Example:
            >>> import cloakwork as cw
            >>> first, second = (cw.compile(f, (4,)) for f in (lambda x: x.sum(), lambda x: 2 * x))
            >>> first, second = cw.together(first, second)
            >>> client, evaluator = first.keygen()
            >>> other = evaluator.serving(second)
            >>> client = client.serving(second)
            >>> client.decrypt(other.run(client.encrypt([0.5, 0.25, 1, -1]))).round(4).tolist()
            [1.0, 0.5, 2.0, -2.0]
        """
        self._require_served(program, "serve another program")
        action, scheme, held = f"serve {program.name}", program.scheme, self._key
        if program.held_as != "program":
            raise InvalidArgumentError(
                f"cannot {action}: expected the whole program, got its interface, which has no "
                "operations; give the program"
            )
        keys = optional(keys, EvaluationKeys, "keys", action)
        if keys is not None:
            further = keys.of(scheme, self._key_id, action)
            if further is not None:
                scheme.extend_keys(held, further)
        for each in program.parts:
            each.scheme.require_keys(held, each.body)
        return Evaluator(program, held, self._key_id)

    @names_memory("run the program")
    def run(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        clear: Mapping[str, Any] | EncodedInputs | None = None,
        *,
        threads: int | None = None,
        profile: Profile | None = None,
        cancel: threading.Event | None = None,
        on: Host | None = None,
        state: EncryptedState | None = None,
        step: int | None = None,
    ) -> Encrypted:
        """Run the program; on a terminal a bar shows how far it is.

        Args:
            inputs: What a client has encrypted, or several have for one key: each input once; an
                empty list where the state is all that is encrypted.
            clear: The inputs that are not encrypted: for a program over bits by name, for one over
                reals as `EncodedInputs`.
            threads: How many operations may run at once; by default as many as the engine has
                threads.
            profile: Filled with what the run took.
            cancel: Set from another thread, it stops the run between operations.
            on: Where it runs, if not in the memory of this process: `cloakwork.cluster.Files` or
                `cloakwork.cluster.Dask`.
            state: Of a program that keeps state, what `Client.start` made or the run before left.
                Once the run has succeeded it is the state of the next step; save it then.
            step: The step that the state has to be of, where the caller knows it.

        Raises:
            InvalidArgumentError: They are not encrypted inputs, or an argument is invalid.
            InputNameError: An input is missing or given twice, or the program has no such input.
            ShapeMismatchError: The numbers of evaluations differ.
            ProgramMismatchError: They were encrypted for another program.
            KeyMismatchError: They were encrypted for another key.
            ValueOutOfRangeError: A ciphertext may hold larger numbers than the program was
                compiled for.
            NoiseExhaustedError: Noise would destroy an exact result.
            MemoryBudgetError: By prediction the run takes more memory than it may.
            StepMismatchError: The state is of another step.
            StepsSpentError: It has been through as many steps as keep its range and its errors.
            RunCancelledError: The run was cancelled.
            MalformedBytesError: The ciphertexts are damaged.
            DeviceUnavailableError: The device that it is to run on is missing.
            DeviceLostError: The device failed on the way.
            CloakworkError: What is named by the class of `on`.

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
        if threads is not None:
            threads = integer(threads, "threads", action, least=1, most=MAX_THREADS)
        asked = optional(profile, Profile, "profile", action)
        profile = asked or Profile()
        cancel = optional(cancel, threading.Event, "cancel", action)
        if program.row:
            require_plain(action, clear=clear, on=on, state=state, step=step)
            profile.clear()
            return self._run_row(inputs, threads, profile, cancel, action)
        encoded, known = self._clear(clear, action)
        self._require_state(state, step, action)
        several = self._several(inputs, known, action, state)
        rekeyed_inputs = max(each.rekeyed for each in several)
        profile.clear()
        if on is not None:
            elsewhere = self._run_on(on, several, known, threads, profile, cancel)
            elsewhere.rekeyed_inputs = rekeyed_inputs
            self._keep(state, elsewhere, action)
            return elsewhere
        runs = self._given(several)
        threads = self._runner.threads(self._memory, threads, action)
        made: list[dict[int, Any]] = []
        for values in in_turn(runs):
            own = Profile()
            try:
                if isinstance(program.body, SlotProgram):
                    # A device runs as a whole what it need not measure.
                    measured = None if asked is None else own
                    given = {**values, **known}
                    found = self._run_slots(program.body, given, threads, measured, cancel, encoded)
                else:
                    found = self._run_bits(program.body, values, known, threads, own, cancel)
                made.append(dict(enumerate(found)))
            finally:
                # Of a run that fails, too, what was measured until then is told.
                profile.append(own)
        results = self._results(made, several[0].count)
        results.rekeyed_inputs = rekeyed_inputs
        self._keep(state, results, action)
        results.leave_out_all_but(program.packing.returned_vectors)
        return results

    @names_memory("add results up")
    def total(self, results: Iterable[Encrypted]) -> Encrypted:
        """The sum of the results of several runs of a program over reals, still encrypted.

        No more than two are looked at at once, so that the runs may be an iterator's. A client
        decrypts it as one result, whose bound and errors are as many times as large.

        Args:
            results: What runs gave, each alone or as many evaluations as all others.

        Raises:
            InvalidArgumentError: There are no results, or the program is not one over reals, or it
                runs on a device.
            ShapeMismatchError: The numbers of evaluations differ.
            ProgramMismatchError: They are results of another program.
            KeyMismatchError: They were made with another key.

        Example:
            >>> import cloakwork as cw
            >>> client, evaluator = cw.compile(lambda x: x * x, (2,)).keygen()
            >>> sent = [client.encrypt([0.5, number / 4]) for number in range(3)]
            >>> client.decrypt(evaluator.total(map(evaluator.run, sent))).round(4).tolist()
            [0.75, 0.3125]
        """
        program = self.program
        action = f"add up results of {program.name}"
        body = program.body
        if program.row or program.scheme.exact or not isinstance(body, SlotProgram):
            raise InvalidArgumentError(
                f"cannot {action}: expected a program over reals alone, got another; add up in the "
                "function that is compiled"
            )
        if self.device != CPU:
            raise InvalidArgumentError(
                f"cannot {action} on {self.device}: expected an evaluator on the CPU; set its "
                "device to 'cpu'"
            )
        whole: Encrypted | None = None
        for each in results:
            self._require_own(each, "outputs", action)
            whole = each if whole is None else self._sum(whole, each, action)
        if whole is None:
            raise InvalidArgumentError(
                f"cannot {action}: expected results of one run or more, got none"
            )
        return whole

    def _sum(self, left: Encrypted, right: Encrypted, action: str) -> Encrypted:
        """That of two results."""
        if left.count != right.count:
            raise ShapeMismatchError(
                f"cannot {action}: expected as many evaluations in all of them, got "
                f"{left.count or 1} and {right.count or 1}; run as many each time"
            )
        program = self.program
        mine, other = [each.values(program.scheme, program.body) for each in (left, right)]
        made = self._results(summed(mine, other, self._backend.add), left.count)
        made.added = left.added + right.added
        made.rekeyed = max(left.rekeyed, right.rekeyed)
        made.rekeyed_inputs = max(left.rekeyed_inputs, right.rekeyed_inputs)
        return made

    def _run_row(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        threads: int | None,
        profile: Profile,
        cancel: threading.Event | None,
        action: str,
    ) -> Encrypted:
        """Run the programs of a row, each on its inputs and on what those before it made."""
        parts = self.program.parts
        several = inputs if isinstance(inputs, list | tuple) else [inputs]
        given = [one for each in self._of_row(several, action) for one in (each, *each.beside)]
        made: dict[str, Encrypted] = {}
        for part in in_turn(parts):
            own = [each for each in given if each.program == part.fingerprint]
            before = dict.fromkeys(link.program.fingerprint for link in part.after)
            taken = [*(made[each] for each in before), *own]
            if not taken:
                names = ", ".join(port.name for port in part.inputs)
                raise InputNameError(f"cannot {action}: got none for {names}; encrypt it, too")
            measured = Profile()
            try:
                made[part.fingerprint] = self._part(part).run(
                    taken, threads=threads, profile=measured, cancel=cancel
                )
            finally:
                profile.append(measured)
        return made[parts[-1].fingerprint]

    def _of_row(self, several: Sequence[object], action: str) -> list[Encrypted]:
        """What was given, where it was encrypted for programs of the row."""
        known = {each.fingerprint for each in self.program.parts}
        found: list[Encrypted] = []
        for each in several:
            if not isinstance(each, Encrypted) or each.role != "inputs":
                raise InvalidArgumentError(
                    f"cannot {action}: expected what encrypt gave, or a list of it, got "
                    f"{shown(each)}"
                )
            if not known.issuperset(one.program for one in (each, *each.beside)):
                raise ProgramMismatchError(
                    f"cannot {action}: the inputs belong to another program, or to one compiled "
                    "otherwise; encrypt, run and decrypt with one program"
                )
            found.append(each)
        return found

    def _part(self, part: Program) -> Evaluator:
        """The evaluator of a program of the row, under the limits of this one."""
        found = self._parts.get(part.fingerprint)
        if found is None:
            made = Evaluator(part, self._key, self._key_id)
            # Of runs side by side, all take the first one's.
            found = self._parts.setdefault(part.fingerprint, made)
        own, mine = found._runner, self._runner
        own.own_limit = mine.own_limit
        if isinstance(part.body, SlotProgram):
            several = sum(isinstance(each.body, SlotProgram) for each in self.program.parts)
            own.device, own.own_cache = mine.device, mine.cache_bytes // several
        return found

    def _require_state(self, state: EncryptedState | None, step: object, action: str) -> None:
        """Refuse a state that is missing, of another key, program or step."""
        program = self.program
        require_state(program, state, step, EncryptedState, action)
        if state is None:
            return
        self._require_own(state, "inputs", action)
        if set(state.ports) != {each.input for each in program.kept}:
            raise InputNameError(f"cannot {action}: the state lacks a part; start anew")
        if program.steps is not None and state.step >= program.steps:
            raise StepsSpentError(
                f"cannot {action}: expected a state of up to {program.steps - 1} steps, got one of "
                f"{state.step}, beyond which its range or its errors are not known; start anew, or "
                "compile for more steps"
            )

    def _keep(self, state: EncryptedState | None, results: Encrypted, action: str) -> None:
        """Turn a state into the next one by the results of a step."""
        if state is None:
            return
        program = self.program
        (made,) = results.values(program.scheme, program.body_of("outputs"))
        backend = self._backend if isinstance(program.body, SlotProgram) else None
        taken = next_run(program, backend, made, action)
        run = {number: on_host(value) for number, value in taken.items()}
        state.become(run, program.scheme.dump)

    def _run_on(
        self,
        host: Host,
        several: Sequence[Encrypted],
        known: Mapping[int, Any],
        threads: int | None,
        profile: Profile,
        cancel: threading.Event | None,
    ) -> Encrypted:
        """Run the program elsewhere, where it can."""
        program = self.program
        action = f"run {program.name}"
        if known and isinstance(program.body, SlotProgram):
            raise InvalidArgumentError(
                f"cannot {action}: expected encrypted inputs for a run on a cluster or by files, "
                "got clear ones; leave on out"
            )
        # The class of a host has its run too, and the module cloakwork.cluster another.
        if not isinstance(host, Host) or isinstance(host, type | ModuleType):
            raise InvalidArgumentError(
                f"cannot {action}: expected on to be cloakwork.cluster.Files or "
                f"cloakwork.cluster.Dask, got {shown(host)}"
            )
        if program.repeated is not None:
            raise InvalidArgumentError(
                f"cannot {action}: expected a program that runs once, got one that is repeated "
                f"{program.repeated.times} times, which runs in this process's memory; leave on "
                "out"
            )
        if threads is not None:
            raise InvalidArgumentError(
                f"cannot {action}: threads are those of a run in this process's memory; "
                "cloakwork.cluster.Files has its own, and on a cluster each worker has"
            )
        if not program.scheme.encrypts:
            raise InvalidArgumentError(
                f"cannot {action}: it is in the clear, where modelled errors follow the order of "
                "operations; run it in this process's memory, without on"
            )
        if self.device != CPU:
            raise InvalidArgumentError(
                f"cannot {action} on {self.device}: a run on a cluster or by files is on CPUs; "
                "leave on out, or set the evaluator's device to 'cpu'"
            )
        given = [*several, *self._known_inputs(several, known)]
        for each in given:
            each.require_numbers(program.body)
        return host.run(self, given, profile, cancel)

    def _clear(
        self, clear: Mapping[str, Any] | EncodedInputs | None, action: str
    ) -> tuple[KnownInputs | None, Mapping[int, Any]]:
        """Inputs that are not encrypted, by their numbers; over reals with how they are run."""
        program = self.program
        if not isinstance(clear, EncodedInputs):
            return None, clear_inputs(program, clear, action)
        if clear.program != program.fingerprint:
            raise ProgramMismatchError(
                f"cannot {action}: expected clear inputs that were encoded for it, got ones of "
                "another program; encode them for this one"
            )
        if self.device != CPU:
            raise InvalidArgumentError(
                f"cannot {action} on {self.device} with clear inputs: expected an evaluator on the "
                "CPU; set its device to 'cpu'"
            )
        numbers = frozenset(clear.integers)
        if numbers not in self._known:
            self._known[numbers] = KnownInputs.of(program, numbers, action)
        encoded = self._known[numbers]
        return encoded, encoded.values(clear, action)

    def _results(self, runs: Sequence[Mapping[int, Any]], count: int | None) -> Encrypted:
        """The results of runs."""
        ports = [port.name for port in self.program.outputs]
        return self._encrypted("outputs", ports, runs, count)

    def _known_inputs(
        self, several: Sequence[Encrypted], known: Mapping[int, Any]
    ) -> list[Encrypted]:
        """Inputs that are given in the clear, as ciphertexts that hide nothing."""
        if not known:
            return []
        program, first = self.program, several[0]
        runs = [
            {
                number: value
                for number, value in program.scheme.with_clear(program.body, run, known).items()
                if number in known
            }
            for run in first.values(program.scheme, program.body)
        ]
        return [self._encrypted("inputs", (), runs, first.count)]

    def _extend_keys(self, further: Any) -> None:
        """Take in further evaluation keys of the same secret key."""
        self._backend.extend_keys(further)

    def _several(
        self,
        inputs: Encrypted | Sequence[Encrypted],
        known: Mapping[int, Any],
        action: str,
        state: EncryptedState | None,
    ) -> list[Encrypted]:
        """What was given, where together it is every input once, of one key and this program."""
        several = encrypted_inputs(inputs, action, least=int(state is None))
        several = [self._as_inputs(each, action) for each in several]
        if state is not None:
            several.append(state)
            self._require_planned(state, action)
        if len(several) > 1 and len({(each.runs, each.count) for each in several}) > 1:
            counts = ", ".join(
                f"{'one' if each.count is None else each.count} of {', '.join(each.ports)}"
                for each in several
            )
            raise ShapeMismatchError(
                f"cannot {action}: expected as many evaluations of every input, got {counts}; "
                "encrypt as many of each, also an input that is the same for all, along a first "
                "axis"
            )
        numbers = [*known, *(number for each in several for number in each.numbers())]
        self._require_once(numbers, action)
        return several

    def _as_inputs(self, given: Encrypted, action: str) -> Encrypted:
        """Inputs of this program as they are; results of one that it follows as its inputs."""
        program = self.program
        kept = {each.input for each in program.kept if program.scheme.encrypts}
        if isinstance(given, EncryptedState) or kept & set(given.ports):
            raise InputNameError(
                f"cannot {action}: expected inputs other than its state, got "
                f"{', '.join(given.ports)}; give the state by state="
            )
        links = [
            each
            for each in program.after
            if given.role == "outputs" and given.program == each.program.fingerprint
        ]
        if not links:
            if given.role == "outputs" and program.after:
                names = ", ".join(dict.fromkeys(each.program.name for each in program.after))
                raise ProgramMismatchError(
                    f"cannot {action}: expected inputs, or results of {names} as it is compiled in "
                    f"{program.name}, got results of another program; run that program first"
                )
            self._require_own(given, "inputs", action)
            return given
        self._require_key(given, action)
        if given.added > 1:
            raise NoiseBudgetError(
                f"cannot {action}: expected results of one run, got the sum of {given.added}, "
                "whose bounds are larger; decrypt it"
            )
        if given.rekeyed_inputs:
            raise NoiseBudgetError(
                f"cannot {action}: expected results of inputs that were encrypted for this key, "
                "got ones that a rekeying key took to it; rekey the results instead"
            )
        first = links[0].program
        self._require_runs(given, first.batch, action)
        count = given.count
        if count is not None and any(each.takes_one for each in links):
            raise ShapeMismatchError(
                f"cannot {action}: expected a result of {first.name} for one evaluation without an "
                f"axis, got {count} evaluations, which share ciphertexts; run them one by one"
            )
        if first.batch > 1 and count is not None:
            if count % first.batch:
                raise ShapeMismatchError(
                    f"cannot {action}: expected results of {first.name} for whole batches of "
                    f"{first.batch}, got {count} evaluations; give it as many inputs"
                )
            # Each batch is one input.
            count = None if count == first.batch else count // first.batch
        for each in links:
            each.require_fit(program, action)
        backend = self._backend if isinstance(program.body, SlotProgram) else self._key
        runs = []
        for values in given.values(first.scheme, first.body_of("outputs")):
            taken: dict[int, Any] = {}
            for each in links:
                taken.update(each.taken(program, backend, values, action))
            runs.append({number: on_host(value) for number, value in taken.items()})
        made = self._encrypted("inputs", [each.input for each in links], runs, count)
        made.rekeyed = given.rekeyed
        return made

    def _require_planned(self, state: EncryptedState, action: str) -> None:
        """Refuse a state that is noisier than at any step, rekeyings aside."""
        planned = self.program.estimated_inputs
        if planned is None:
            return
        for number, value in state.values(self.program.scheme, self.program.body)[0].items():
            most = planned[number]
            for _ in range(state.rekeyed):
                most = most.rekeyed()
            if value.estimate.deviation > most.deviation:
                raise NoiseBudgetError(
                    f"cannot {action}: expected a state off by a deviation of up to "
                    f"{most.deviation:g}, got {value.estimate.deviation:g}; start anew"
                )

    def _given(self, several: Sequence[Encrypted]) -> list[dict[int, Any]]:
        """The values of each run by number, of all that was given."""
        program = self.program
        parts = [each.values(program.scheme, program.body) for each in several]
        if len(parts) == 1:
            return parts[0]
        return [dict(ChainMap(*of_run)) for of_run in zip(*parts, strict=True)]

    def _require_once(self, numbers: Sequence[int], action: str) -> None:
        """Refuse an input that is missing or given twice, by its name."""
        wanted = range(self.program.packing.vector_counts[0])
        if len(numbers) == len(wanted) and set(numbers).issuperset(wanted):
            return
        times = Counter(numbers)
        several = {number for number, count in times.items() if count > 1}
        missing = set(wanted) - times.keys()
        if not several and not missing:
            return
        held = self.program.packing.held
        within = {name for number in several or missing for name in held[number]}
        names = ", ".join(port.name for port in self.program.inputs if port.name in within)
        all_names = ", ".join(port.name for port in self.program.inputs)
        before = [each for each in self.program.after if each.input in within]
        if several and before:
            first = before[0].program.name
            reason = f"got {names} twice; give what one run of {first} made, which is all of them"
        elif several:
            reason = f"got {names} twice; leave one of them out"
        elif before and self.program.scheme.encrypts:
            first = before[0].program.name
            reason = f"got none for {names}; give what a run of {first} made, too"
        elif isinstance(self.program.body, SlotProgram):
            reason = f"got none for {names}; encrypt it, too"
        else:
            reason = f"got none for {names}; encrypt it, too, or give it in the clear"
        raise InputNameError(
            f"cannot {action}: expected each of the inputs {all_names} once, {reason}"
        )

    def _run_bits(
        self,
        body: BootstrapProgram,
        values: Mapping[int, Any],
        known: Mapping[int, Any],
        threads: int | None,
        profile: Profile,
        cancel: threading.Event | None,
    ) -> Sequence[Any]:
        start = perf_counter()
        try:
            made: BitRun = self.program.scheme.run(
                self._key, body, values, known, threads=threads, cancel=cancel
            )
        finally:
            profile.seconds = perf_counter() - start
        profile.operations += bootstrap_measurements(body, made, self.program.scheme.value_bytes)
        return made.outputs

    def _run_slots(
        self,
        body: SlotProgram,
        values: Mapping[int, Any],
        threads: int | None,
        profile: Profile | None,
        cancel: threading.Event | None,
        encoded: KnownInputs | None,
    ) -> Sequence[Any]:
        program, encrypts = self.program, self.program.scheme.encrypts
        ordered = [values[number] for number in sorted(values)]
        self._require_bounds(ordered)
        work = self._work if encrypts and shows_bars() else None

        def run(step: Step, taken: Sequence[Any]) -> Sequence[Any]:
            measured = None if profile is None else Profile()
            try:
                return self._runner.run(
                    step.body,
                    taken,
                    self._memory,
                    threads=threads,
                    profile=measured,
                    cancel=cancel,
                    bounds=bounds_of_step(program, step) if encrypts else None,
                    work=None if work is None else [work[number] for number in step.numbers],
                )
            finally:
                if profile is not None and measured is not None:
                    profile.append(measured)

        backend = self._runner.backend(body, self._memory)
        steps = None if encoded is None else [Step(encoded.body, range(len(body.operations)))]
        made = run_steps(program, backend, ordered, run, steps)
        # What a device makes stays there, until it is fetched.
        return made if self._runner.device == CPU else [on_host(each) for each in made]

    @cached_property
    def _work(self) -> list[float]:
        assert isinstance(self.program.body, SlotProgram)
        return work_of(self.program.body, self.program.scheme)

    def _require_bounds(self, ordered: Sequence[Any]) -> None:
        """Refuse what may be larger than the bounds that the whole program was planned by."""
        program = self.program
        if not program.scheme.encrypts or program.input_bounds is None:
            return
        for number, (promised, value) in enumerate(zip(program.input_bounds, ordered, strict=True)):
            if value.bound > promised:
                raise ValueOutOfRangeError(
                    f"cannot run {program.name}: expected ciphertext {number} to hold "
                    f"numbers of absolute value up to {promised:g}, and it was encrypted with "
                    f"a bound of {value.bound:g}; encrypt it with the client of this program"
                )

    @cached_property
    def _memory(self) -> RunMemory:
        """What a run takes by prediction."""
        scheme = self.program.scheme
        match self.program.body:
            case SlotProgram() as body:
                peak = predicted_peak_bytes(body, scheme.bytes_at)
                if not scheme.encrypts or body.numbers != "real":
                    return RunMemory(peak)
                return RunMemory(peak, held_memory(body, scheme.parameters, scheme.refreshing))
            case BootstrapProgram() as body:
                return RunMemory(int(body.native.peak_signals() * scheme.value_bytes))
