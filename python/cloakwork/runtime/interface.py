"""What clients need of a program, and nothing of what it computes with: the model stays behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

from cloakwork.base.arguments import shown
from cloakwork.base.record import Fields, Limits, Record, record_of
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import (
    CloakworkError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidProgramError,
    MalformedBytesError,
)
from cloakwork.programs.bootstraps import BootstrapBuilder, BootstrapProgram
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.packing import Packed, Packing
from cloakwork.programs.packing.kinds import packing_record, read_packing
from cloakwork.programs.port import Port, signature
from cloakwork.programs.slots import MAX_LEVEL, Builder, DropLevel, Input, Output
from cloakwork.runtime.client import Client
from cloakwork.runtime.fingerprint import warning_of
from cloakwork.runtime.key_holder import Served
from cloakwork.runtime.program import MAX_LINKS, Body, Program
from cloakwork.runtime.row import inputs_of_row, row_misfit
from cloakwork.runtime.state import Kept
from cloakwork.schemes import read_scheme
from cloakwork.schemes.base import ReadLimits, levels_of, value_count
from cloakwork.schemes.bridged import BridgedReals

KIND = "interface file"
_ROW, _BEFORE = "row", "before"
_Level = Annotated[int, Limits(0, MAX_LEVEL)]
# Where there is no key of a kind.
_NO_KEY = -1
_LevelOrNone = Annotated[int, Limits(_NO_KEY, MAX_LEVEL)]


@dataclass(frozen=True, slots=True)
class Taken:
    """An input that is a result of another program, which a client does not encrypt.

    Args:
        input: Its name.
        name: What the other program computes.
        result: The name of the result.
    """

    input: str
    name: str
    result: str


@dataclass(frozen=True, slots=True)
class _Estimate:
    """What a program makes of a ciphertext over reals."""

    level: _Level
    scale: float
    deviation: float
    bound: float


@dataclass(frozen=True, slots=True)
class _KeyLevels:
    """Evaluation keys by their levels."""

    relinearisation: _LevelOrNone
    conjugation: _LevelOrNone
    encapsulation: _LevelOrNone
    rotations: Mapping[int, _Level]
    rotated_products: Mapping[int, _Level]


@dataclass(eq=False, repr=False)
class Interface(Served):
    """What clients need of a program: ports, ranges, packing, parameters, and which keys.

    It has no operations, weights or tables. A client that is made of it checks that inputs lie
    within their ranges, and no more: not whether numbers on the way stay within what layers are
    meant for, nor whether integers have more bits than the program was compiled for. How precise
    results are it believes; so it decrypts for its own holder alone.

    Args:
        scheme: What inputs are encrypted by.
        body: A stand-in that has the inputs and results of the program, and computes nothing.
        packing: How arguments lie in ciphertexts, and results.
        fingerprint: That of the program.
        required_keys: The evaluation keys that the program needs; None where all take the same.
        estimated_results: For each result over reals its level, scale and precision.
        output_bounds: For each result over reals the largest absolute value of any slot.
        error: See `Program`.
        error_bound: See `Program`.
        after: The inputs that are results of other programs.
        kept: The inputs that are results of the step before.
        row: See `Program`.
        before: Where it stands for a whole row, the interfaces of the programs before.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> weights = np.array([0.5, -0.25, 1.0])
        >>> program = cw.compile(lambda x: x @ weights, (3,))
        >>> client = cw.Interface.of(program).client()  # with the client, who sees no weights
        >>> evaluator = program.evaluator(client.evaluation_keys())  # on the server
        >>> round(float(client.decrypt(evaluator.run(client.encrypt([1.0, 1.0, 0.5])))), 4)
        0.75
    """

    _kind = KIND
    held_as: ClassVar[str] = "interface"

    scheme: Any
    body: Body
    packing: Packing
    fingerprint: str
    required_keys: KeyRequirements | None
    estimated_results: list[Any] | None
    output_bounds: tuple[float, ...] | None
    error: float | None
    error_bound: float | None
    after: tuple[Taken, ...] = ()
    kept: tuple[Kept, ...] = ()
    row: tuple[str, ...] = ()
    before: tuple[Interface, ...] = ()

    def __post_init__(self) -> None:
        self.scheme.require_fitting(self.body)
        counts = [value_count(self.body, role) for role in ("inputs", "outputs")]
        if not self.packing.is_of(self.body, *counts):
            raise InvalidProgramError(
                f"cannot use {self.name}: its inputs or outputs are not those of its packing"
            )
        if self.scheme.encrypts and any(
            port.kind == "real" and port.bound == float("inf") for port in self.packing.inputs
        ):
            raise InvalidProgramError(f"cannot use {self.name}: an input has no range")
        if self.packing.is_checked:
            raise InvalidProgramError(
                f"cannot use the interface of {self.name}: expected ranges of inputs by which "
                "results have few enough bits, as clients of an interface check nothing else, got "
                "ranges that allow more; compile with ranges such as cw.scalar(bits=8), or with "
                "wrapping=True"
            )
        if self.row or self.before:
            reason = row_misfit(self, self.before)
            if any(each.scheme.key_set != self.scheme.key_set for each in self.before):
                reason = "its programs have several parameter sets"
            if reason:
                raise InvalidProgramError(f"cannot use {self.name}: {reason}")

    @classmethod
    def of(cls, program: Program) -> Self:
        """The interface of a program.

        Args:
            program: The program.

        Raises:
            InvalidArgumentError: It is not a program, or one in the clear.
            InvalidProgramError: The ranges of its inputs allow results of more bits than it was
                compiled for.
            ParametersMismatchError: It follows another program and has other parameters.
        """
        if not isinstance(program, Program) or not program.scheme.encrypts:
            raise InvalidArgumentError(
                "cannot make an interface: expected a program that encrypts, got "
                f"{shown(program)}; give what compile returns"
            )
        return cls(
            program.scheme,
            _stand_in(program),
            program.packing,
            program.fingerprint,
            program.required_keys,
            program.estimated_results,
            program.output_bounds,
            program.error,
            program.error_bound,
            tuple(Taken(each.input, each.name, each.result) for each in program.after),
            program.kept,
            program.row,
            tuple(map(cls.of, program.parts[:-1])),
        )

    def body_of(self, _: str) -> Body:
        """The stand-in, which has the inputs and the results of all steps."""
        return self.body

    @property
    def whole_body(self) -> Body:
        """The stand-in: of programs before this one an interface says which they are alone."""
        return self.body

    @cached_property
    def parts(self) -> tuple[Interface, ...]:
        """Those of the programs that run one after the other; see `Program.parts`."""
        return (*self.before, replace(self, row=(), before=())) if self.row else (self,)

    @property
    def name(self) -> str:
        """What the program computes."""
        return self.body.title

    @property
    def inputs(self) -> tuple[Port, ...]:
        """What goes in."""
        return inputs_of_row(self) if self.row else self.packing.inputs

    @property
    def outputs(self) -> tuple[Port, ...]:
        """What comes out."""
        return self.packing.outputs

    @property
    def batch(self) -> int:
        """Evaluations of one run; more of them are more runs."""
        return self.packing.batch

    @property
    def warning(self) -> str:
        """Why numbers are not safe; empty where they are."""
        return warning_of(self.fingerprint)

    @property
    def input_bounds(self) -> tuple[float, ...] | None:
        """For each input over reals the largest absolute value of any slot."""
        return self.packing.slot_bounds

    def results_of_rekeyed(self, times: int) -> list[Any] | None:
        """`estimated_results`, of inputs that no rekeying key took here.

        Raises:
            InvalidArgumentError: One did, and only the operations say what that does to results.
        """
        if times and not self.scheme.exact:
            raise InvalidArgumentError(
                f"cannot tell how far results of {self.name} are off: expected inputs of this key, "
                "got ones that were rekeyed; decrypt by a client of the whole program"
            )
        return self.estimated_results

    @property
    def generated_key_bytes(self) -> int:
        """Bytes of the evaluation keys that the program needs, at the most."""
        if self.row:
            return sum(each.generated_key_bytes for each in self.parts)
        if self.required_keys is None:
            return int(self.scheme.key_bytes(self.body))
        return int(self.scheme.bytes_of(self.required_keys))

    def pack(self, arguments: Mapping[str, Any], action: str) -> Packed:
        """The vectors of arguments by name, where they lie within the ranges of the inputs.

        Raises:
            InputNameError: An input is missing whose numbers lie beside others' that are given.
        """
        packed = self.packing.pack(arguments, action)
        self.packing.require_apart(packed.ports, action)
        return packed

    @names_memory("make a secret key")
    def client(self) -> Client:
        """A client with a new secret key, whose checks are those of the inputs' ranges alone.

        It encrypts, decrypts, and makes the evaluation keys from which whoever has the program
        makes an evaluator.

        Raises:
            RandomnessError: The operating system gave no random bytes.
        """
        return Client.generate(self)

    def to_record(self) -> Record:
        """The interface as files hold it."""
        estimates = [
            _Estimate(each.level, each.scale, each.deviation, each.bound)
            for each in self.estimated_results or ()
        ]
        return {
            "scheme": self.scheme.to_record(),
            "fingerprint": self.fingerprint,
            "name": self.name,
            "packing": packing_record(self.packing),
            **_body_record(self.body),
            "keys": None if self.required_keys is None else record_of(_keys(self.required_keys)),
            "estimates": record_of(tuple(estimates)),
            "output_bounds": list(self.output_bounds or ()),
            "error": self.error,
            "error_bound": self.error_bound,
            "after": record_of(self.after),
            "kept": record_of(self.kept),
            **({_ROW: list(self.row)} if self.row else {}),
            **({_BEFORE: [each.to_record() for each in self.before]} if self.before else {}),
        }

    _record = to_record

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        """The interface of a record, as far as the limits accept it.

        Raises:
            MalformedBytesError: The record is of another kind.
            InsecureParametersError: Its parameters fall short of 128-bit security.
        """
        several = fields.several(_BEFORE, most=MAX_LINKS) if fields.has(_BEFORE) else ()
        # Those before others have none of their own, however deep a file nests them.
        return cls._after_others(
            fields, limits, tuple(cls._after_others(each, limits, ()) for each in several)
        )

    @classmethod
    def _after_others(
        cls, fields: Fields, limits: ReadLimits, before: tuple[Interface, ...]
    ) -> Self:
        """The interface of a record that follows others, which are read."""
        scheme = read_scheme(fields.within("scheme"), limits)
        estimates = fields.value("estimates", tuple[_Estimate, ...])
        bounds = fields.value("output_bounds", tuple[float, ...])
        error, error_bound = (
            None if fields.raw(name) is None else fields.positive(name)
            for name in ("error", "error_bound")
        )
        try:
            if not scheme.encrypts:
                raise fields.wrong("scheme", "one that encrypts")
            body = _read_body(fields, scheme)
            made = cls(
                scheme,
                body,
                read_packing(fields.within("packing")),
                fields.word("fingerprint"),
                _read_keys(fields, scheme, body),
                None if scheme.exact else [_estimate(each, scheme) for each in estimates],
                None if scheme.exact else bounds,
                error,
                error_bound,
                tuple(each.made(Taken) for each in fields.several("after", most=MAX_LINKS)),
                tuple(each.made(Kept) for each in fields.several("kept", most=MAX_LINKS)),
                fields.value(_ROW, tuple[str, ...]) if fields.has(_ROW) else (),
                before,
            )
        except InsecureParametersError:
            raise
        except CloakworkError as refusal:
            raise MalformedBytesError(f"cannot read {fields.place}: {refusal}") from refusal
        if not scheme.exact:
            results = made.packing.vector_counts[1]
            if not len(estimates) == len(bounds) == results:
                raise fields.wrong("estimates", f"those of {results} results")
        if (made.warning != "") != bool(scheme.insecure):
            raise fields.wrong("fingerprint", "one that says whether numbers are safe")
        return made

    _of = from_fields

    def __repr__(self) -> str:
        ports = signature(self.inputs, self.outputs)
        return (
            f"Interface({self.name}: {ports:.60}; clients check ranges of inputs alone; "
            f"{self.scheme})"
        )


def _stand_in(program: Program) -> Body:
    """What has the inputs and results of a program, and computes nothing."""
    body = program.body
    if isinstance(body, BootstrapProgram):
        return _of_bits(
            body.title,
            body.inputs,
            body.outputs,
            list(zip(body.input_bits.tolist(), body.input_encodings.tolist(), strict=True)),
            body.output_encodings.tolist(),
        )
    last = program.body_of("outputs")
    assert not isinstance(last, BootstrapProgram)
    return _of_slots(
        program.scheme,
        body.title,
        body.slots,
        levels_of(body, "inputs"),
        levels_of(last, "outputs"),
    )


def _of_slots(
    scheme: Any, title: str, slots: int, inputs: Sequence[int], outputs: Sequence[int]
) -> Body:
    builder = Builder(title, slots, "integer" if scheme.exact else "real")
    given = [builder.append(Input(f"{number}", level)) for number, level in enumerate(inputs)]
    if not given:
        raise InvalidProgramError(f"cannot use {title}: it has no input")
    highest = max(given, key=builder.level)
    if scheme.refreshing is not None and builder.level(highest) < max(outputs, default=0):
        highest = builder.append(scheme.refreshing.operation(highest))
    for level in outputs:
        at_level = highest
        if builder.level(highest) != level:
            at_level = builder.append(DropLevel(highest, level))
        builder.append(Output(at_level))
    return builder.finish()


def _of_bits(
    title: str,
    inputs: Sequence[Port],
    outputs: Sequence[Port],
    signals: Sequence[tuple[int, int]],
    encodings: Sequence[int],
) -> Body:
    builder = BootstrapBuilder(title, inputs)
    made = [builder.input(bit, encoding) for bit, encoding in signals]
    left = iter(encodings)
    for port in outputs:
        of_port = [next(left) for _ in range(port.bits)]
        builder.output(port, [made[0] if made else 0] * port.bits, of_port)
    return builder.finish()


def _body_record(body: Body) -> Record:
    if isinstance(body, BootstrapProgram):
        signals = zip(body.input_bits.tolist(), body.input_encodings.tolist(), strict=True)
        return {
            "signals": [list(each) for each in signals],
            "encodings": body.output_encodings.tolist(),
        }
    return {
        "slots": body.slots,
        "levels": [list(levels_of(body, role)) for role in ("inputs", "outputs")],
    }


def _read_body(fields: Fields, scheme: Any) -> Body:
    title = fields.text("name")
    if fields.has("levels"):
        inputs, outputs = fields.value("levels", tuple[tuple[_Level, ...], tuple[_Level, ...]])
        return _of_slots(scheme, title, scheme.parameter_sets[0].slots, inputs, outputs)
    signals = fields.value("signals", tuple[tuple[int, int], ...])
    packing = read_packing(fields.within("packing"))
    encodings = fields.value("encodings", tuple[int, ...])
    if len(encodings) != sum(port.bits for port in packing.outputs):
        raise fields.wrong("encodings", "one for every bit of the results")
    return _of_bits(title, packing.inputs, packing.outputs, signals, encodings)


def _keys(needed: KeyRequirements) -> _KeyLevels:
    def level(of: int | None) -> int:
        return _NO_KEY if of is None else of

    return _KeyLevels(
        level(needed.relinearisation_level),
        level(needed.conjugation_level),
        level(needed.encapsulation_weight),
        dict(needed.rotations),
        dict(needed.rotated_products),
    )


def _read_keys(fields: Fields, scheme: Any, body: Body) -> KeyRequirements | None:
    if scheme.requirements(body) is None:
        return None
    found = fields.value("keys", _KeyLevels)
    levels = (found.relinearisation, found.conjugation, found.encapsulation)
    product, conjugation, weight = (None if each == _NO_KEY else each for each in levels)
    # A key to a sparser secret than the parameters have would give the secret away.
    own = None if scheme.refreshing is None else scheme.refreshing.keys.encapsulation_weight
    if weight is not None and weight != own:
        raise fields.wrong("keys", "those of its parameters")
    returns = isinstance(scheme, BridgedReals) and scheme.returns
    return KeyRequirements(
        product, found.rotations, found.rotated_products, conjugation, weight, returns=returns
    )


def _estimate(found: _Estimate, scheme: Any) -> Any:
    parameters = scheme.parameters
    of_plain = parameters.estimate(
        parameters.slots, level=found.level, bound=found.bound, scale=found.scale
    )
    return of_plain.encrypted().with_deviation(found.deviation)
