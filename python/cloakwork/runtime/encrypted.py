"""What passes between client and evaluator: encrypted inputs of a program, or its results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Annotated, Any, Literal, Self

from cloakwork._native import SigningKey, verify
from cloakwork.base.record import Fields, Limits, Record, digest_of, record_of
from cloakwork.errors import (
    InvalidArgumentError,
    MalformedBytesError,
    MissingDependencyError,
    SignatureError,
)
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime import container
from cloakwork.runtime.fingerprint import CLEAR, warning_of
from cloakwork.runtime.saved import Saved
from cloakwork.schemes.base import ReadLimits, value_count

Role = Literal["inputs", "outputs"]

KIND = "encrypted values file"
KEY_ID_BYTES = 16
_MAX_RUNS = 1 << 20
BESIDE = "beside"
# Programs that one follows, at most.
MOST_BESIDE = 256
# Far more times than leave results a right bit.
_MOST_REKEYED = 1 << 10
_MAX_VALUES = 1 << 22
_MAX_PORTS = 1 << 16
_HEX_KEY = re.compile(r"[0-9a-f]{64}")
# Values that are encrypted or decrypted in one go: others wait for their turn.
_TOGETHER = 64


@dataclass(frozen=True, slots=True)
class Unread:
    """The record of a value that no scheme has read yet."""

    record: Any


@dataclass(frozen=True, slots=True)
class Signature:
    """Who has signed something, and how.

    Args:
        maker: The public key, in hexadecimal digits.
        signed: The signature by Ed25519.
    """

    maker: str
    signed: bytes


class Encrypted(Saved):
    """Encrypted inputs of a program, or its results; nothing here decrypts them.

    It names its program and its key, and loads from a file or from bytes without either: whoever
    uses it reads the ciphertexts then.

    Inputs are signed by whoever encrypts them: what `maker` says, nobody else can have made.

    Args:
        program: The fingerprint of the program.
        role: Whether they go into the program or come out of it.
        ports: The names of the inputs or outputs that they are.
        runs: For each run of the program its values by number, each one read or not.
        count: How many evaluations they are; None where no argument had an axis for them.
        key_id: What the key is known by.
        dump: What makes records of values; None where they are unread.
        signing: What signs them; None for results and for what is signed already.
        signature: Who signed them, and how.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(a=cw.scalar())
        ... def square(a):
        ...     return a * a
        >>> client, evaluator = square.compile(bits=16).keygen()
        >>> sent = client.encrypt(a=-7).to_bytes()
        >>> received = cw.Encrypted.from_bytes(sent)
        >>> received.ports, received.count
        (('a',), None)
        >>> client.decrypt(evaluator.run(received))
        49
    """

    _kind = KIND

    # How often a key took them to another key; see `RekeyingKey`.
    rekeyed: int = 0
    # Of results, how often it did so with what they were computed of.
    rekeyed_inputs: int = 0
    # Of how many runs' results they are the sums; see `Evaluator.total`.
    added: int = 1
    # Inputs of the other programs of a row, which come with those of one; see `Program.row`.
    beside: tuple[Encrypted, ...] = ()

    def __init__(
        self,
        program: str,
        role: Role,
        ports: Sequence[str],
        runs: Sequence[Mapping[int, Any]],
        count: int | None,
        key_id: bytes,
        dump: Any = None,
        signing: SigningKey | None = None,
        signature: Signature | None = None,
    ) -> None:
        self.program = program
        self.role: Role = role
        self.ports = tuple(ports)
        self.count = count
        self.key_id = key_id
        self._runs: list[Mapping[int, Any]] = list(runs)
        # What makes records of values that were read; None where none was.
        self._dump = dump
        self._signing = signing
        self._given_signature = signature

    def values(self, scheme: Any, body: Any) -> list[dict[int, Any]]:
        """For each run its values by number, as a scheme works on them.

        Each record is let go of once it is read: both at once may take more than there is.

        Raises:
            MalformedBytesError: They are of another scheme or another program.
        """
        if self._dump is None:
            self.require_numbers(body)
            self._dump = scheme.dump
        self._runs = [self._read(run, scheme, body) for run in self._runs]
        return [dict(run) for run in self._runs]

    def parts(self, scheme: Any, body: Any) -> Sequence[Iterator[dict[int, Any]]]:
        """For each run its values by number, a few at a time.

        Of values that stay in files no more are in memory than those of one file.

        Raises:
            MalformedBytesError: They are of another scheme or another program.
        """
        return [_parts(run, body) for run in self.values(scheme, body)]

    def _read(self, run: Mapping[int, Any], scheme: Any, body: Any) -> dict[int, Any]:
        read = run if isinstance(run, dict) else dict(run.items())
        for number, value in read.items():
            if isinstance(value, Unread):
                fields = Fields(value.record, f"the {self.role}")
                read[number] = scheme.read_value(fields, body, number, self.role)
        return read

    def require_numbers(self, body: Any) -> None:
        """Refuse values that a program does not have.

        Raises:
            MalformedBytesError: There are some.
        """
        count = value_count(body, self.role)
        if self.numbers() - set(range(count)):
            raise MalformedBytesError(
                f"cannot read the {self.role}: expected values of the numbers 0 to {count - 1}, "
                "got others"
            )

    def leave_out_all_but(self, numbers: Sequence[int]) -> None:
        """Hold these values alone, of those in memory."""
        kept = set(numbers)
        if not self.numbers() <= kept:
            self._runs = [{n: each for n, each in run.items() if n in kept} for run in self._runs]
            self.__dict__.pop("nbytes", None)

    @property
    def warning(self) -> str:
        """Why they do not hide what they hold; empty where they do."""
        return warning_of(self.program)

    @property
    def place(self) -> str | None:
        """The folder in which the values stay, for `load`; None where they are in memory."""
        return None

    @property
    def runs(self) -> int:
        """How many runs of the program they are."""
        return len(self._runs)

    def numbers(self) -> frozenset[int]:
        """The numbers of the values of each run."""
        return frozenset(self._runs[0]) if self._runs else frozenset()

    @cached_property
    def nbytes(self) -> int:
        """Bytes of the ciphertexts as they are saved and sent."""
        return _size(self._run_records()) + sum(each.nbytes for each in self.beside)

    @cached_property
    def maker(self) -> str | None:
        """Who has signed these inputs: the `maker` of a client or an encryptor; None of results.

        Raises:
            SignatureError: They are not what was signed.

        Example:
            >>> import cloakwork as cw
            >>> client, _ = cw.compile(lambda x: x.sum(), (4,), public_inputs=True).keygen()
            >>> other = client.public_key()
            >>> sent = other.encrypt([0.5] * 4)
            >>> sent.maker == other.maker, sent.maker in client.makers
            (True, True)
        """
        signature = self._signature
        if signature is None:
            return None
        if not verify(bytes.fromhex(signature.maker), self._message(), signature.signed):
            raise SignatureError(
                f"cannot tell the maker of the {self.role}: expected what {signature.maker:.16} "
                "has signed, got something else; have them sent again"
            )
        if any(each.maker != signature.maker for each in self.beside):
            raise SignatureError(
                f"cannot tell the maker of the {self.role}: expected one who has signed all of "
                f"them, got {signature.maker:.16} and others; give those of each by themselves"
            )
        return signature.maker

    @cached_property
    def _signature(self) -> Signature | None:
        """Who signed them and how, unverified."""
        if self._signing is None:
            return self._given_signature
        return Signature(self._signing.public.hex(), self._signing.sign(self._message()))

    def _message(self) -> bytes:
        """What is signed: all that is said of the values, and themselves."""
        digest = digest_of({**self.described(), "runs": self._run_records()})
        return f"cloakwork encrypted values 1 {digest}".encode()

    def to_bytes(self) -> bytes:
        """The values as bytes from which `from_bytes` makes them again.

        Example:
            >>> import cloakwork as cw
            >>> client, _ = cw.compile(lambda x: x.sum(), (4,)).keygen()
            >>> data = client.encrypt([0.5] * 4).to_bytes()
            >>> Encrypted.from_bytes(data).to_bytes() == data
            True
        """
        return container.to_bytes(self._kind, self._record())

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Read what `to_bytes` made.

        Args:
            data: The bytes, which nobody needs to trust.

        Raises:
            InvalidArgumentError: They are not bytes.
            MalformedBytesError: They are damaged, or of something else.
        """
        return cls._of(container.read_bytes(data, cls._kind), ReadLimits())

    def described(self) -> Record:
        """What a file says of the values beside themselves."""
        return {
            "program": self.program,
            "role": self.role,
            "ports": list(self.ports),
            "count": self.count,
            "key_id": self.key_id,
            **({"rekeyed": self.rekeyed} if self.rekeyed else {}),
            **({"rekeyed_inputs": self.rekeyed_inputs} if self.rekeyed_inputs else {}),
            **({"added": self.added} if self.added > 1 else {}),
        }

    def records(self) -> list[dict[int, Any]]:
        """For each run its values by number, as files hold them."""
        return [
            {number: self._record_of(value) for number, value in run.items()} for run in self._runs
        ]

    def under(self, key_id: bytes, change: Callable[[Any], Any], dump: Any) -> Self:
        """The same under another key, each record made a value of that key's by a function."""
        made = copy(self)
        made.__dict__.pop("nbytes", None)
        made.key_id, made._dump, made.rekeyed = key_id, dump, self.rekeyed + 1
        made._signing = made._given_signature = None
        for name in ("maker", "_signature"):
            made.__dict__.pop(name, None)
        made._runs = [
            {number: change(record) for number, record in run.items()} for run in self.records()
        ]
        made.beside = tuple(each.under(key_id, change, dump) for each in self.beside)
        return made

    def _record_of(self, value: Any) -> Any:
        return value.record if isinstance(value, Unread) else self._dump(value)

    def _record(self) -> Record:
        signature = {} if self._signature is None else {"signature": record_of(self._signature)}
        beside = {BESIDE: [each._record() for each in self.beside]} if self.beside else {}
        return {**self.described(), **signature, "runs": self._run_records(), **beside}

    def _run_records(self) -> list[Record]:
        return [
            {"numbers": list(run), "values": (self._record_of(value) for _, value in run.items())}
            for run in self._runs
        ]

    @classmethod
    def _of(cls, fields: Fields, _: ReadLimits) -> Self:
        made = cls._alone(fields)
        if fields.has(BESIDE):
            # Those beside others have none of their own, however deep a file nests them.
            others = fields.several(BESIDE, most=MOST_BESIDE)
            made.beside = tuple(Encrypted._alone(each) for each in others)
        return made

    @classmethod
    def _alone(cls, fields: Fields) -> Self:
        """Those of a record, without what it has beside them."""
        ports = fields.items("ports", most=_MAX_PORTS)
        if not all(isinstance(name, str) and name.isprintable() for name in ports):
            raise fields.wrong("ports", "names")
        key_id = read_key_id(fields)
        given = fields.raw("count") is not None
        count = fields.integer("count", least=1, most=_MAX_RUNS) if given else None
        role: Any = fields.choice("role", ("inputs", "outputs"))
        runs = [_read_run(each) for each in fields.several("runs", most=_MAX_RUNS)]
        if not runs or any(run.keys() != runs[0].keys() for run in runs):
            raise fields.wrong("runs", "values of the same numbers, once or more")
        made = cls(
            fields.word("program"),
            role,
            ports,
            runs,
            count,
            key_id,
            signature=_read_signature(fields),
        )
        if fields.has("rekeyed"):
            made.rekeyed = fields.integer("rekeyed", least=1, most=_MOST_REKEYED)
        if fields.has("rekeyed_inputs"):
            made.rekeyed_inputs = fields.integer("rekeyed_inputs", least=1, most=_MOST_REKEYED)
        if fields.has("added"):
            made.added = fields.integer("added", least=2, most=_MAX_RUNS)
        if made.warning != CLEAR:
            # Ciphertexts are bytes; numbers in the clear are arrays.
            fields.require_no_arrays()
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        names = ", ".join(
            dict.fromkeys(name for each in (self, *self.beside) for name in each.ports)
        )
        count = "" if self.count is None else f", {self.count} evaluations"
        warning = f"; {self.warning}" if self.warning else ""
        return f"Encrypted({self.role} {names:.60}{count}, {self.nbytes} bytes{warning})"


def encrypted_inputs(given: object, action: str, *, least: int = 1) -> list[Encrypted]:
    """What is given to a run, as a list: what one client has encrypted, or several have.

    Raises:
        InvalidArgumentError: It is something else, or there are fewer.
    """
    several: list[Any] = list(given) if isinstance(given, list | tuple) else [given]
    if len(several) < least or not all(isinstance(each, Encrypted) for each in several):
        got = type(given).__name__ if several else "an empty list"
        raise InvalidArgumentError(
            f"cannot {action}: expected what encrypt gave, or a list of it, got {got}"
        )
    return several


def _read_signature(fields: Fields) -> Signature | None:
    if not fields.has("signature"):
        return None
    signature = Signature(
        fields.within("signature").word("maker"), fields.within("signature").data("signed")
    )
    if _HEX_KEY.fullmatch(signature.maker) is None:
        raise fields.wrong("signature", "of a maker's key, in hexadecimal digits")
    return signature


def worked_on_together(numbers: Iterable[int], body: Any) -> Iterator[list[int]]:
    """The numbers of values that are worked on at a time; those of bits belong together."""
    ordered = sorted(numbers)
    count = _TOGETHER if isinstance(body, SlotProgram) else max(1, len(ordered))
    for start in range(0, len(ordered), count):
        yield ordered[start : start + count]


def _parts(values: Mapping[int, Any], body: Any) -> Iterator[dict[int, Any]]:
    for numbers in worked_on_together(values, body):
        yield {number: values[number] for number in numbers}


def _read_run(fields: Fields) -> dict[int, Unread]:
    numbers = fields.value("numbers", tuple[Annotated[int, Limits(0, _MAX_VALUES)], ...])
    values = fields.items("values", most=_MAX_VALUES)
    if len(numbers) != len(values) or len(set(numbers)) != len(numbers):
        raise MalformedBytesError(f"cannot read {fields.place}: a value is missing or comes twice")
    return dict(zip(numbers, map(Unread, values), strict=True))


def _size(entry: Any) -> int:
    """Bytes of the arrays, bytes and text of a record, or of an entry of it."""
    match entry:
        case Mapping():
            return sum(map(_size, entry.values()))
        case list() | tuple() | Iterator():
            return sum(map(_size, entry))
        case bytes() | str():
            return len(entry)
        case _:
            return int(getattr(entry, "nbytes", 0))


def read_key_id(fields: Fields) -> bytes:
    """What a record says that the key is known by."""
    key_id = fields.data("key_id")
    if len(key_id) != KEY_ID_BYTES:
        raise fields.wrong("key_id", f"{KEY_ID_BYTES} bytes")
    return key_id


def require_files(action: str) -> None:
    """Refuse folders where what reads and writes them is not installed.

    Raises:
        MissingDependencyError: It is not.
    """
    _require_module("fsspec", "fsspec", action)


def require_dask(action: str) -> None:
    """Refuse clusters where what runs on them is not installed.

    Raises:
        MissingDependencyError: It is not.
    """
    _require_module("distributed", "Dask", action)


def _require_module(module: str, name: str, action: str) -> None:
    if find_spec(module) is None:
        raise MissingDependencyError(
            f"cannot {action}: it takes {name}; install it by pip install 'cloakwork[cluster]'"
        )
