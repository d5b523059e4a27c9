"""A program that runs on encrypted data: public, the same for every kind of computation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias

import numpy as np

from cloakwork.base.arguments import integer, shown
from cloakwork.base.record import Fields, Record, record_of
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import (
    CloakworkError,
    InputNameError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidProgramError,
    MalformedBytesError,
    MissingKeyError,
    ResultOverflowError,
    ValueOutOfRangeError,
)
from cloakwork.programs.activation_range import ActivationRange, Left, ceilings_of, left_ranges
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.bootstraps_in_a_row import OwnPart, own_part
from cloakwork.programs.bounds import polynomial_ceilings, value_bounds
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.packing import LEAST_BOUND, Packed, Packing, bound_arguments
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.bits import BitPacking
from cloakwork.programs.packing.kinds import packing_record, read_packing
from cloakwork.programs.packing.matrix import IntegerMatrixPacking
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.packing.tensor import TensorPacking, numbers_of
from cloakwork.programs.port import Port, signature
from cloakwork.programs.records import meaning_record, read_slots, slots_record
from cloakwork.programs.repeated import Repeated, Step
from cloakwork.programs.slots import Output, SlotProgram, Vector
from cloakwork.runtime import container
from cloakwork.runtime import repeated as repeating
from cloakwork.runtime.after import (
    After,
    inputs_of,
    own_parts,
    programs_before,
    row_of,
    whole_body,
)
from cloakwork.runtime.by_element import ByElement, OfIntegers, noise_of_results
from cloakwork.runtime.client import Client
from cloakwork.runtime.evaluation_keys import EvaluationKeys
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.executor import MAX_THREADS
from cloakwork.runtime.fingerprint import CLEAR, INSECURE, fingerprint_of
from cloakwork.runtime.framed import in_frames
from cloakwork.runtime.key_holder import Served
from cloakwork.runtime.leaving import Leaving
from cloakwork.runtime.returning import Returning
from cloakwork.runtime.row import (
    in_the_clear,
    inputs_of_row,
    key_bytes_of,
    row_misfit,
)
from cloakwork.runtime.simulate import extremes
from cloakwork.runtime.state import Kept, misfit, worst_inputs
from cloakwork.schemes import read_scheme
from cloakwork.schemes.base import ReadLimits, value_count

Body: TypeAlias = SlotProgram | BootstrapProgram

KIND = "program file"
_AFTER, _BEFORE = "after", "before"
_KEPT = "kept"
_ROW = "row"
_REPEATED = "repeated"
_MEANING = "meaning"
# Inputs of a program that are results of others, at most.
MAX_LINKS = 256
# Of what this very process wrote, or of what is only shown.
_ANY = ReadLimits(insecure=True, max_log_n=17)
_GAP_ADVICE = "compare by cloakwork.greater(x, y, gap) where results between 0 and 1 will do"


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What a program computes in the clear, whatever it is given.

    Args:
        outputs: The results, with the errors of encryption as modelled.
        error: The largest error to expect; 0 of exact results.
        outside: For each input and layer that numbers came to which it is not meant for, what
            these were and what it is meant for. A client refuses to encrypt such inputs.
    """

    outputs: Any
    error: float
    outside: tuple[str, ...]


@dataclass(eq=False, repr=False)
class Program(Served):
    """What runs on encrypted data: operations, parameters, and how inputs and results lie in them.

    It is public: a client makes keys for it, an evaluator runs it. `cloakwork.compile`,
    `cloakwork.nn.compile` and the `compile` of circuits make programs.

    Args:
        scheme: What it is encrypted by.
        body: The operations.
        packing: How arguments lie in ciphertexts, and results.
        ranges: The layers of a network, by the numbers that they are meant for; and what users say
            of numbers on the way.
        error: The largest error of a result to expect of inputs such as it was compiled for, which
            one exceeds with a probability of about 2^-20; None where the estimates of ciphertexts
            say it.
        error_bound: The largest error of a result for every input that a client accepts, inputs
            made on purpose included; None as for `error`, and where none follows. The deeper a
            network is, the more it exceeds what occurs.
        threads: How many threads it was made for; None for any number.
        device: Where its evaluators run it; see `Evaluator.device`. Files do not say it.
        after: The inputs that are results of other programs, which a client does not encrypt.
        kept: The inputs that are results of the step before; see `cloakwork.state`.
        row: Where it stands for the whole row, itself and all programs that it follows, the names
            of what clients encrypt for them; see `cloakwork.exactly`. Then clients encrypt for all
            of them, and evaluators run all of them, one after the other.
        repeated: How often a run does it, each time on its own results; None for once. See
            `cloakwork.repeat`.
        meaning: What its numbers stand for, where neither operations nor ports say it, such as what
            vectors were divided by; ciphertexts of programs of other meanings are refused.
        way: Which way was planned, and why no quicker one, where that is not plain; for
            `cloakwork.explain`. Files do not say it.

    Raises:
        InvalidProgramError: The parts do not fit one another.

    Example:
        >>> import cloakwork as cw
        >>> program = cw.compile(lambda x: (x * x).sum(), cw.Spec((100,), bound=2.0))
        >>> client, evaluator = program.keygen()
        >>> result = evaluator.run(client.encrypt(np.full(100, 1.5)))
        >>> round(float(client.decrypt(result)), 4)
        225.0
    """

    _kind = KIND
    held_as: ClassVar[str] = "program"

    scheme: Any
    body: Body
    packing: Packing
    _: KW_ONLY
    ranges: Sequence[ActivationRange] = ()
    error: float | None = None
    error_bound: float | None = None
    threads: int | None = None
    device: str = "cpu"
    after: tuple[After, ...] = ()
    kept: tuple[Kept, ...] = ()
    row: tuple[str, ...] = ()
    repeated: Repeated | None = None
    meaning: str = ""
    way: str = ""
    _own: tuple[Client, Evaluator] | None = field(default=None, init=False)
    _simulated: tuple[int, Program] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.scheme.require_fitting(self.body)
        reason = self._misfit()
        if reason:
            raise InvalidProgramError(f"cannot use {self.body.title}: {reason}")
        if self.after and isinstance(self.body, BootstrapProgram):
            # Noise of results before it is noise of its inputs.
            self.scheme.require_fitting_row(self.name, own_parts(self))

    def _misfit(self) -> str:
        """Why the parts do not fit one another; empty where they do."""
        counts = [value_count(self.body, role) for role in ("inputs", "outputs")]
        if not self.packing.is_of(self.body, *counts):
            return "its inputs or outputs are not those of its packing"
        for each in self.ranges:
            if not self._has(each):
                return f"the range of its layer {each.layer!r:.40} is of no ciphertexts that it has"
        for port in self.packing.inputs:
            # Ciphertexts hold numbers within bounds.
            if self.scheme.encrypts and port.kind == "real" and math.isinf(port.bound):
                return f"its input {port.name!r:.40} has no range"
        for link in self.after:
            reason = link.misfit(self)
            if reason:
                return reason
        if self.kept:
            reason = misfit(self)
            if reason:
                return reason
        reason = repeating.misfit(self)
        if reason:
            return reason
        if any(link.program.row for link in self.after):
            return "it follows a program that stands for a whole row"
        if self.row:
            reason = row_misfit(self, programs_before(self))
            if reason:
                return reason
        modulus = self.scheme.modulus
        if modulus and modulus < self.packing.least_modulus:
            return "its primes hold fewer bits than its results"
        return ""

    def _has(self, given: ActivationRange) -> bool:
        """Whether a range is of ciphertexts of the body."""
        return (
            isinstance(self.body, SlotProgram)
            and isinstance(given.places, self.packing.range_places)
            and given.places.slots * self.packing.lanes == self.body.slots
            and len(given.values) == given.places.ciphertexts
            and all(value < len(self.body.operations) for value in given.values)
            and all(self.body.states[value].level is not None for value in given.values)
        )

    @property
    def name(self) -> str:
        """What it computes."""
        return self.body.title

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What goes in."""
        return inputs_of_row(self) if self.row else self.packing.inputs

    @cached_property
    def parts(self) -> tuple[Program, ...]:
        """The programs that run one after the other: itself alone, but where it is a whole row."""
        return (*programs_before(self), replace(self, row=())) if self.row else (self,)

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What comes out."""
        return self.packing.outputs

    @cached_property
    def cycle(self) -> list[Step]:
        """Where it is repeated, the steps that follow one another, again and again."""
        return repeating.cycle(self)

    def body_of(self, role: str) -> Body:
        """The body whose inputs, or outputs, are those of a run: of the first step, or the last."""
        if self.repeated is None or role == "inputs":
            return self.body
        return self.cycle[(self.repeated.times - 1) % len(self.cycle)].body

    @property
    def batch(self) -> int:
        """Evaluations of one run; more of them are more runs."""
        return self.packing.batch

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys that it needs, those of bits as they are stored.

        In memory those of bits take several times as much.
        """
        return key_bytes_of(self.parts) if self.row else int(self.scheme.key_bytes(self.body))

    @property
    def steps(self) -> int | None:
        """How many steps of its state keep ranges and errors; None for any number of them."""
        return min((each.steps for each in self.kept), default=0) or None

    @property
    def warning(self) -> str:
        """Why numbers are not safe; empty where they are."""
        if not self.scheme.encrypts:
            return CLEAR
        return INSECURE if self.scheme.insecure else ""

    @cached_property
    def fingerprint(self) -> str:
        """Equal for programs that compute the same under the same parameters and packing.

        All counts that a client relies on: the ranges that it holds inputs to, the errors of
        results, and what numbers stand for. Titles do not count, nor names of layers, nor the lines
        of the user's program that operations come from, nor for how many threads it was made. It
        ends with "-insecure" or "-clear" where numbers are not safe.
        """
        record = dict(self._record_around(meaning_record(self.body)))
        del record["threads"]
        record["ranges"] = [{**each, "layer": ""} for each in record["ranges"]]
        if self.after:
            record[_AFTER] = [
                [each.input, each.program.fingerprint, each.result] for each in self.after
            ]
        return fingerprint_of(record, self.warning)

    @property
    def log2_failure(self) -> float:
        """log2 of the probability that noise changes a run's results by more than is stated.

        Over reals it is the probability that an error exceeds the precision that is reported.
        """
        if self.scheme.exact:
            return self.log2_exact_failure
        own = self.scheme.log2_failure(self.body) + math.log2(repeating.refreshed_steps(self))
        return float(np.logaddexp2(own, self.log2_exact_failure))

    @property
    def log2_exact_failure(self) -> float:
        """The same of exact results alone: its own, and those of programs that it follows.

        Whatever destroys these destroys what follows them.
        """
        exact = [each for each in (*programs_before(self), self) if each.scheme.exact]
        # The whole of a program over bits has those of bits before it.
        bits = [each for each in exact if isinstance(each.body, BootstrapProgram)]
        counted = {before.fingerprint for each in bits for before in programs_before(each)}
        chances = [
            each.scheme.log2_failure(each.whole_body)
            for each in exact
            if each not in bits or each.fingerprint not in counted
        ]
        return float(np.logaddexp2.reduce(chances))

    @cached_property
    def noise_of_results(self) -> list[list[Any]]:
        """Over integers an estimate of every result under each prime, by the program alone.

        Raises:
            NoiseExhaustedError: Noise would destroy a result.
        """
        return noise_of_results(self)

    @cached_property
    def whole_body(self) -> Any:
        """The body; over bits with those of the programs before it, by which it may fail, too."""
        return whole_body(self)

    @cached_property
    def own_part(self) -> OwnPart:
        """Over bits what it adds to the noise of its whole body."""
        return own_part(row_of(self))

    @cached_property
    def estimated_results(self) -> list[Any] | None:
        """For each result over reals its level, scale and precision, by the program alone.

        None of programs over integers and bits.
        """
        planned = self._planned
        return None if planned is None else repeating.results_of(self, *planned)

    def results_of_rekeyed(self, times: int) -> list[Any] | None:
        """`estimated_results` of inputs that were taken to other keys so many times."""
        if not times or self._planned is None:
            return self.estimated_results
        backend, inputs = self._planned
        for _ in range(times):
            inputs = [each.rekeyed() for each in inputs]
        return repeating.results_of(self, backend, inputs)

    @property
    def estimated_inputs(self) -> list[Any] | None:
        """For each input over reals what is planned for, by the program alone; as of results."""
        return None if self._planned is None else self._planned[1]

    @cached_property
    def _planned(self) -> tuple[Any, list[Any]] | None:
        if self.scheme.exact:
            return None
        return inputs_of(self, f"estimate the results of {self.name}", worst_inputs)

    @cached_property
    def input_bounds(self) -> tuple[float, ...] | None:
        """For each input of a slot program over reals the largest absolute value of any slot."""
        return self.packing.slot_bounds

    @cached_property
    def value_bounds(self) -> tuple[float | None, ...] | None:
        """For each operation over reals the largest absolute value that it may come to.

        Interval arithmetic, which begins anew at every polynomial: of its operand a client encrypts
        nothing that leaves the range that the polynomial is meant for.
        """
        inputs = self.packing.input_bounds()
        if inputs is None or not isinstance(self.body, SlotProgram):
            return None
        ceilings = polynomial_ceilings(self.body) if self.packing.checks_polynomials else {}
        return bounds_of_values(self.body, inputs, self.ranges, ceilings)

    @property
    def output_bounds(self) -> tuple[float, ...] | None:
        """For each output of a slot program over reals the largest absolute value of any slot."""
        bounds = self.value_bounds
        if bounds is None or not isinstance(self.body, SlotProgram):
            return None
        return tuple(
            bound or 0.0
            for operation, bound in zip(self.body.operations, bounds, strict=True)
            if isinstance(operation, Output)
        )

    @property
    def generated_key_bytes(self) -> int:
        """Bytes of the evaluation keys as a client makes them, some halves of which stay seeds."""
        return sum(int(each.scheme.generated_key_bytes(each.body)) for each in self.parts)

    @property
    def required_keys(self) -> KeyRequirements | None:
        """The evaluation keys that it needs; None where all programs take the same."""
        needed: KeyRequirements | None = self.scheme.requirements(self.body)
        return needed

    def evaluator(self, keys: EvaluationKeys) -> Evaluator:
        """An evaluator with the evaluation keys of a client that has the interface alone.

        Args:
            keys: What `Client.evaluation_keys` made; see `Interface`.

        Raises:
            InvalidArgumentError: They are not keys.
            ParametersMismatchError: They are of other parameters.
            MissingKeyError: They lack one.
        """
        action = f"make an evaluator of {self.name}"
        if not isinstance(keys, EvaluationKeys):
            raise InvalidArgumentError(
                f"cannot {action}: expected evaluation keys, got {shown(keys)}; give what "
                "Client.evaluation_keys made, for any program alone"
            )
        held = keys.of(self.scheme, keys.key_id, action)
        if held is None:
            raise MissingKeyError(
                f"cannot {action}: expected the evaluation keys of a program, got none beyond "
                "those of others; have the client make them by evaluation_keys()"
            )
        for each in self.parts:
            each.scheme.require_keys(held, each.body)
        return Evaluator(self, held, keys.key_id)

    def keygen(self) -> tuple[Client, Evaluator]:
        """A client with a new secret key, and an evaluator with exactly the keys needed.

        Raises:
            MemoryBudgetError: The keys take more memory than the machine has.
            RandomnessError: The operating system gave no random bytes.

        Example:
            >>> import cloakwork as cw
            >>> program = cw.compile(lambda x: x.sum(), (4,))
            >>> client, evaluator = program.keygen()
            >>> evaluator.key_bytes == program.key_bytes
            True
        """
        client = Client.generate(self)
        return client, client.evaluator()

    def run(self, /, *args: Any, **named: Any) -> Any:
        """Encrypt, run and decrypt in this process, with keys made at the first call.

        Of frames results are frames or series, with the labels of the axes that they run along,
        where the program was compiled with a frame; otherwise, and of arrays, they are arrays.

        Args:
            args: The inputs in their order; see `Client.encrypt`.
            named: The inputs by name.

        Raises:
            CloakworkError: What `Client.encrypt`, `Evaluator.run` and `Client.decrypt` raise.

        Example:
            >>> import cloakwork as cw
            >>> cw.compile(lambda x: x * 2, (2,)).run([0.25, 0.5]).round(4).tolist()
            [0.5, 1.0]
        """
        if self._own is None:
            self._own = self.keygen()
        client, evaluator = self._own
        state = client.start() if self.kept and self.scheme.encrypts else None
        results = client.decrypt(evaluator.run(client.encrypt(*args, **named), state=state))
        return in_frames(results, self.packing, self.inputs, args, named)

    @names_memory("run in the clear")
    def run_clear(self, /, *args: Any, **named: Any) -> Any:
        """Run the very operations in the clear, slot for slot or bit for bit.

        It refuses what a client refuses, and integers that would wrap around unseen; errors of
        encryption are not added.

        Args:
            args: The inputs in their order; see `Client.encrypt`.
            named: The inputs by name.

        Raises:
            ResultOverflowError: A result has more bits than the program was compiled for.
            CloakworkError: What `Client.encrypt` raises.

        Example:
            >>> import cloakwork as cw
            >>> cw.compile(lambda x: x * 2, (2,)).run_clear([0.25, 0.5]).tolist()
            [0.5, 1.0]
        """
        if not self.row:
            return self.in_clear().run(*args, **named)
        arguments = bound_arguments(self.inputs, args, named, f"run {self.name} in the clear")
        results = in_the_clear(self.parts, arguments, lambda part, own: part.run_clear(**own))
        return in_frames(results, self.packing, self.inputs, args, named)

    @names_memory("simulate")
    def simulate(self, /, *args: Any, seed: int = 0, **named: Any) -> Simulation:
        """Run the very operations in the clear with modelled errors, and report ranges left.

        Args:
            args: The inputs in their order, of any size; see `Client.encrypt`.
            seed: What errors are drawn from.
            named: The inputs by name.

        Raises:
            ShapeMismatchError, NotRealError, NotFiniteError: As `Client.encrypt` raises them.
            InputNameError: An input is missing, or the program has no input of that name.
            InvalidArgumentError: The seed is not an integer from 0 up.

        Example:
            >>> import cloakwork as cw
            >>> found = cw.compile(lambda x: x * 2, (2,)).simulate([0.25, 3.0])
            >>> found.outputs.round(4).tolist(), len(found.outside)
            ([0.5, 6.0], 1)
        """
        seed = integer(seed, "seed", "simulate", least=0, most=(1 << 63) - 1)
        arguments = bound_arguments(self.inputs, args, named, "simulate")
        if self.row:
            return self._simulated_row(arguments, seed)
        unranged = self._unranged(seed)
        # Of new keys, which draw the same errors.
        client, evaluator = unranged.keygen()
        outputs = client.decrypt(evaluator.run(client.encrypt(**arguments)))
        real = [port for port in self.inputs if port.kind == "real"]
        numbers = [numbers_of(port, arguments[port.name], "simulate") for port in real]
        outside = [
            f"input {port.name!r} expects numbers of absolute value up to {port.bound:g}, and got "
            f"{largest:g}"
            for port, given in zip(real, numbers, strict=True)
            if (largest := float(np.abs(given).max(initial=0.0))) > port.bound
        ]
        left = self.left_ranges(unranged.packing.pack(arguments, "simulate"))
        outside += [each.report for each in left]
        return Simulation(outputs, self.error or 0.0, tuple(outside))

    def _simulated_row(self, arguments: Mapping[str, Any], seed: int) -> Simulation:
        outside: list[str] = []

        def run(part: Program, own: Mapping[str, Any]) -> Any:
            found = part.simulate(seed=seed, **own)
            outside.extend(found.outside)
            return found.outputs

        outputs = in_the_clear(self.parts, arguments, run)
        return Simulation(outputs, self.error or 0.0, tuple(outside))

    def _unranged(self, seed: int) -> Program:
        """The same program in the clear, for inputs of any size; the one of the last seed stays."""
        known = self._simulated
        if known is None or known[0] != seed:
            clear = self.in_clear(seed)
            packing = clear.packing.unranged()
            # A state is an input as any other, as it is in the clear.
            unranged = replace(clear, packing=packing, ranges=(), kept=())
            self._simulated = known = seed, unranged
        return known[1]

    def in_clear(self, noise_seed: int | None = None) -> Program:
        """The same program without encryption, with keys that hide nothing: for finding mistakes.

        Args:
            noise_seed: What modelled errors are drawn from; None for none.

        Example:
            >>> import cloakwork as cw
            >>> cw.compile(lambda x: x * 2, (2,)).in_clear().warning
            'clear backend: hides nothing'

        Raises:
            InvalidArgumentError: It crosses between slots and bits.
        """
        if self.row:
            raise InvalidArgumentError(
                f"cannot take {self.name} into the clear: expected a program by itself, got a row "
                "of programs, whose numbers go from slots into bits by keys; use run_clear or "
                "simulate"
            )
        made: dict[str, Program] = {}
        for each in (*programs_before(self), self):
            after = tuple(replace(one, program=made[one.program.fingerprint]) for one in each.after)
            scheme = each.scheme.in_clear(noise_seed)
            # Nothing is state, and everybody gets what is.
            packing = each.packing.with_all_returned()
            made[each.fingerprint] = replace(
                each, scheme=scheme, packing=packing, device="cpu", after=after
            )
        return made[self.fingerprint]

    def pack(self, arguments: Mapping[str, Any], action: str) -> Packed:
        """The vectors of arguments by name, where they are what the program may be given.

        Raises:
            InputNameError: An input is missing whose numbers lie beside others' that are given.
            ValueOutOfRangeError: A number on the way leaves the range of a layer.
            ResultOverflowError: A result has more bits than the program was compiled for.
        """
        packed = self.packing.pack(arguments, action)
        missing = [port.name for port in self.inputs if port.name not in packed.ports]
        if missing and self.packing.is_checked:
            raise InputNameError(
                f"cannot {action}: expected all inputs, as results may have too many bits and are "
                f"computed in the clear first, got none for {', '.join(missing)}; give all, or "
                "compile with ranges of inputs, such as cw.scalar(bits=8), that allow no more bits"
            )
        if missing:
            # Nobody knows beforehand what results of another program or step come to.
            alone = not (self.after or self.kept)
            checked = self.ranges and self.packing.checked_together and alone
            self.packing.require_apart(packed.ports, action, checked=bool(checked))
            return packed
        if self.packing.is_checked and self.scheme.encrypts:
            self._require_bits(arguments, action)
        left = self.left_ranges(packed)
        if left:
            reports = "; ".join(each.report for each in left)
            advice = [self.packing.range_advice] * any(not each.in_gap for each in left)
            if any(each.in_gap for each in left):
                advice.append(_GAP_ADVICE)
            raise ValueOutOfRangeError(
                f"cannot {action}: its results would be wrong numbers, as {reports}; "
                f"{', and '.join(advice)}"
            )
        return packed

    def _require_bits(self, arguments: Mapping[str, Any], action: str) -> None:
        """Refuse inputs whose results have more bits than the program was compiled for."""
        try:
            self._exact.run(**arguments)
        except ResultOverflowError as refusal:
            raise ResultOverflowError(
                f"cannot {action}: {refusal.reason}; {refusal.remedy}"
            ) from None

    @cached_property
    def _exact(self) -> Program:
        """The program in the clear, which never wraps around."""
        return self.in_clear()

    def left_ranges(self, packed: Packed) -> list[Left]:
        """The layers that packed inputs bring numbers to that they are not meant for.

        The very program runs on them in the clear. Of layers after one outside its range nothing
        is reported, as their numbers have no meaning.
        """
        if not self.ranges:
            return []
        assert isinstance(self.body, SlotProgram)
        runs = [
            taken
            for run in packed.runs
            for taken in repeating.inputs_of_steps(self, [run[number] for number in sorted(run)])
        ]
        received = extremes(self.body, runs, self.ranges, self.packing.lanes)
        return left_ranges(self.ranges, received)

    def to_record(self) -> Record:
        """The program as files hold it, with all that it follows, each once and by number."""
        before = programs_before(self)
        numbers = {each.fingerprint: number for number, each in enumerate(before)}
        records = [each._record_alone(numbers) for each in before]
        return {**self._record_alone(numbers), **({_BEFORE: records} if records else {})}

    _record = to_record

    def _record_alone(self, numbers: Mapping[str, int]) -> Record:
        """The program as a record, what it follows by the numbers of fingerprints."""
        body = self.body
        record = slots_record(body) if isinstance(body, SlotProgram) else record_of(body)
        links = [
            {
                "input": each.input,
                "result": each.result,
                "program": numbers[each.program.fingerprint],
            }
            for each in self.after
        ]
        row = {_ROW: list(self.row)} if self.row else {}
        return {**self._record_around(record), **({_AFTER: links} if links else {}), **row}

    def _record_around(self, body: Record) -> Record:
        """The program as a record whose body is given, but for what it follows."""
        return {
            "scheme": self.scheme.to_record(),
            "form": "slots" if isinstance(self.body, SlotProgram) else "bootstraps",
            "body": body,
            "packing": packing_record(self.packing),
            "ranges": record_of(self.ranges),
            "error": self.error,
            "error_bound": self.error_bound,
            "threads": self.threads,
            **({_KEPT: record_of(self.kept)} if self.kept else {}),
            **({_REPEATED: record_of(self.repeated)} if self.repeated else {}),
            **({_MEANING: self.meaning} if self.meaning else {}),
        }

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Program:
        """The program of a record, as far as the limits accept it.

        Raises:
            MalformedBytesError: The record is of another kind.
            InsecureParametersError: Its parameters fall short of 128-bit security.
            NoiseBudgetError, NoiseExhaustedError: Noise would destroy results.
        """
        before: list[Program] = []
        if fields.has(_BEFORE):
            for each in fields.several(_BEFORE, most=MAX_LINKS):
                before.append(cls._after_others(each, limits, before))
        return cls._after_others(fields, limits, before)

    @classmethod
    def _after_others(
        cls, fields: Fields, limits: ReadLimits, before: Sequence[Program]
    ) -> Program:
        """The program of a record that names those before it by their numbers."""
        scheme = read_scheme(fields.within("scheme"), limits)
        body: Body
        if fields.choice("form", ("slots", "bootstraps")) == "slots":
            body = read_slots(fields.within("body"))
        else:
            body = fields.value("body", BootstrapProgram)
        error, error_bound = (
            None if fields.raw(name) is None else fields.positive(name)
            for name in ("error", "error_bound")
        )
        if error_bound is not None and (error is None or error > error_bound):
            raise fields.wrong("error_bound", "no less than the error")
        row = fields.value(_ROW, tuple[str, ...]) if fields.has(_ROW) else ()
        threads = None
        if fields.raw("threads") is not None:
            threads = fields.integer("threads", least=1, most=MAX_THREADS)
        packing = read_packing(fields.within("packing"))
        after: tuple[After, ...] = ()
        if fields.has(_AFTER):
            links = fields.several(_AFTER, most=MAX_LINKS)
            after = tuple(_read_after(each, packing, before) for each in links)
        kept: tuple[Kept, ...] = ()
        if fields.has(_KEPT):
            kept = tuple(each.made(Kept) for each in fields.several(_KEPT, most=MAX_LINKS))
        repeated = fields.value(_REPEATED, Repeated) if fields.has(_REPEATED) else None
        try:
            made = cls(
                scheme,
                body,
                packing,
                ranges=fields.value("ranges", tuple[ActivationRange, ...]),
                error=error,
                error_bound=error_bound,
                threads=threads,
                after=after,
                kept=kept,
                row=row,
                repeated=repeated,
                meaning=fields.word(_MEANING) if fields.has(_MEANING) else "",
            )
        except (InsecureParametersError, ArithmeticError):
            raise
        except CloakworkError as refusal:
            raise MalformedBytesError(f"cannot read {fields.place}: {refusal}") from refusal
        if scheme.exact:
            # Noise that would destroy results is refused here.
            _ = made.noise_of_results
        return made

    _of = from_fields

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (container.to_bytes(KIND, self.to_record()),)

    def __repr__(self) -> str:
        ports, body = signature(self.inputs, self.outputs), self.body
        if self.row:
            size = f"{len(self.parts)} programs in a row"
        elif isinstance(body, SlotProgram):
            size = f"{len(body.operations)} operations"
            if self.repeated is not None:
                size += f", {self.repeated.times} times"
        else:
            size = f"{body.bootstrap_count} bootstraps"
        return f"Program({self.name}: {ports:.60}; {size}; {self.scheme})"


def _read_after(fields: Fields, packing: Packing, before: Sequence[Program]) -> After:
    number = fields.integer("program", least=0, most=len(before) - 1)
    kind = _kind_of_link(packing, before[number].body)
    return kind(fields.word("input"), before[number], fields.word("result"))


def _kind_of_link(packing: Packing, first: Body) -> type[After]:
    match packing:
        case BatchPacking():
            return ByElement
        case ScalarPacking() | IntegerMatrixPacking():
            return OfIntegers
        case BitPacking() if isinstance(first, SlotProgram):
            return Leaving
        case TensorPacking() if isinstance(first, BootstrapProgram):
            return Returning
        case _:
            return After


def _unpickled(data: bytes) -> Program:
    # Whoever unpickles trusts the bytes with more than the choice of parameters.
    return Program.from_fields(container.read_bytes(data, KIND), _ANY)


def bounds_of_values(
    body: SlotProgram,
    inputs: Sequence[Any],
    ranges: Sequence[ActivationRange],
    known: Mapping[int, float | Vector] = MappingProxyType({}),
) -> tuple[float | None, ...]:
    """For each operation what its values do not exceed, by bounds of every slot of each input.

    Args:
        body: The operations.
        inputs: The bounds of the slots.
        ranges: What polynomials are meant for, and what users say of numbers on the way.
        known: What else no slot of some values exceeds, by their numbers.
    """
    found = value_bounds(body, inputs, ceilings_of(ranges, known))
    return tuple(None if each is None else max(each, LEAST_BOUND) for each in found)
