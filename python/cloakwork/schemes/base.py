"""What a scheme has to offer, and what slot programs compute with on it.

A scheme is a way to encrypt with its parameters: keys, encryption of vectors, bytes of all of
these. Programs name their scheme and know nothing else of it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import BgvParameters, Parameters
from cloakwork.base.arguments import integer
from cloakwork.base.record import Fields, Record
from cloakwork.base.secret_bytes import SecretBytes
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidProgramError,
    MalformedBytesError,
    MissingKeyError,
    NoiseBudgetError,
)
from cloakwork.programs.bsgs import sharing_babies
from cloakwork.programs.keys import KeyExpansion, KeyRequirements, required_keys
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Basis, Input, Output, SlotProgram, State

# What keys are called that are a part as a whole.
ALL_KEYS = "all"


class Leveled(Protocol):
    """A value of a slot program, which stands at a level."""

    @property
    def level(self) -> int: ...


V = TypeVar("V", bound=Leveled)

# The diagonals of a linear transform, and its baby steps.
Transform: TypeAlias = tuple[Mapping[int, NDArray[Any]], int]
# A sum of transforms: the place of the value that each transforms, and the transform.
TransformTerms: TypeAlias = Sequence[tuple[int, Transform]]


def sharing_of(sums: Sequence[TransformTerms]) -> list[int]:
    """For each term of some sums how many share its baby rotations; see `bsgs.sharing_babies`.

    Example:
        >>> ones = np.ones(4)
        >>> sharing_of([[(0, ({1: ones}, 2)), (1, ({1: ones}, 2))], [(0, ({3: ones}, 2))]])
        [2, 1, 2]
    """
    return sharing_babies((place, *transform) for terms in sums for place, transform in terms)


class Sums(tuple[Any, ...]):
    """Weighted sums, each a value; see `programs.operations.weighted`.

    Example:
        >>> from cloakwork.schemes.clear_real import ClearVector
        >>> sums = Sums([ClearVector(np.ones(2), 3), ClearVector(np.zeros(2), 3)])
        >>> sums.level, sums.nbytes
        (3, 32)
    """

    __slots__ = ()

    @property
    def level(self) -> int:
        """The level of all of them."""
        level: int = self[0].level
        return level

    @property
    def nbytes(self) -> int:
        """Bytes of all of them."""
        return sum(each.nbytes for each in self)


# Of decryptions for others; far fewer bits exhaust any precision.
MAX_STATISTICAL_BITS = 1 << 16
MAX_DECRYPTIONS = 1 << 62


class Backend(Protocol[V]):
    """What a backend computes on values V; one method per operation of the program.

    Some are the same in a cheaper way: `multiply_lazily` leaves the product to be
    relinearised by the rescale or rotation that follows, `rotate_many` makes several
    rotations of one value and `linear_sums` sums of linear transforms,
    `switch_products_and_rescale` does one operation after the other for several rotations, and
    `bootstrap_pair` refreshes two values.
    Several threads call the methods at once.
    """

    def bounded(self, value: V, bound: float) -> V:
        """The same value, known to be at most the bound, where values have bounds."""
        return value

    def add(self, left: V, right: V) -> V:
        """left + right."""

    def subtract(self, left: V, right: V) -> V:
        """left - right."""

    def add_constant(self, value: V, constant: NDArray[Any]) -> V:
        """value + constant."""

    def multiply(self, left: V, right: V) -> V:
        """left * right, relinearised; over reals not rescaled, as all products."""

    def multiply_lazily(self, left: V, right: V) -> V:
        """left * right of degree 2; a rescale or a rotation relinearises it."""
        return self.multiply(left, right)

    def multiply_constant(self, value: V, constant: NDArray[Any]) -> V:
        """value * constant."""

    def sum_of_products(self, values: Sequence[V], constants: Sequence[Any]) -> V:
        """The sum of values, each times a constant that the run is given."""
        pairs = zip(values, constants, strict=True)
        return reduce(self.add, (self.multiply_constant(*pair) for pair in pairs))

    def negate(self, value: V) -> V:
        """-value."""

    def filled(self, value: V, constant: NDArray[Any]) -> V:
        """A constant as a ciphertext at the level and the scale of a value; it hides nothing."""
        raise InvalidProgramError("cannot run fill: programs over integers have none")

    def multiply_imaginary(self, value: V) -> V:
        """i value, exactly."""
        raise InvalidProgramError("cannot run times_i: programs over integers have none")

    def twice_real(self, value: V) -> V:
        """Twice the real part of every slot."""
        raise InvalidProgramError("cannot run twice_real: programs over integers have none")

    def rotate(self, value: V, steps: int) -> V:
        """Slot i, of each row, receives slot i + steps."""

    def rotate_many(self, value: V, steps: Sequence[int]) -> Sequence[V]:
        """The rotations by each of the steps."""
        return [self.rotate(value, each) for each in steps]

    def rotate_sum(self, value: V, added: Sequence[int], subtracted: Sequence[int]) -> V:
        """The sum of rotations, less others; 0 stands for the value itself."""
        raise InvalidProgramError("cannot run rotate_sum: programs over reals have none")

    def linear(self, value: V, diagonals: Mapping[int, NDArray[Any]], baby_steps: int) -> V:
        """The sum over d of diagonals[d] * rotate(value, d)."""

    def shared_linear(
        self, value: V, diagonals: Mapping[int, NDArray[Any]], baby_steps: int, shared_by: int
    ) -> V:
        """`linear` of a value whose baby rotations so many transforms share, itself among them."""
        return self.linear(value, diagonals, baby_steps)

    def linear_sums(self, values: Sequence[V], sums: Sequence[TransformTerms]) -> Sequence[V]:
        """The sums of linear transforms, which share the rotations of values and of sums."""
        sharing = iter(sharing_of(sums))
        made: list[V] = []
        for terms in sums:
            each = [
                self.shared_linear(values[place], *transform, next(sharing))
                for place, transform in terms
            ]
            made.append(reduce(self.add, each))
        return made

    def polynomial(self, value: V, coefficients: Sequence[float], basis: Basis) -> V:
        """A polynomial of every slot, rescaled as often as its degree asks."""
        raise InvalidProgramError("cannot run polynomial: programs over integers have none")

    def rotated_products(self, left: Sequence[V], right: Sequence[V], step: int) -> Any:
        """The products of two lists under all rotations; see `programs.operations.products`."""

    def diagonal_products(self, left: Sequence[V], right: Sequence[V], step: int) -> Any:
        """The products of two lists of diagonals; see `programs.operations.products`."""

    def add_products(self, left: Any, right: Any) -> Any:
        """The sums of rotated products, each of one with each of the other."""

    def switch_product(self, products: Any, steps: int) -> V:
        """Of rotated products the one under a rotation, as a vector; over reals not rescaled."""

    def switch_products_and_rescale(self, products: Any, steps: Sequence[int]) -> Sequence[V]:
        """What `switch_product` makes by each of the steps, rescaled; both at once take less."""
        return [self.rescale(self.switch_product(products, each)) for each in steps]

    def weighted_sums(
        self, values: Sequence[V], weights: NDArray[np.float64], offsets: NDArray[np.float64]
    ) -> Any:
        """For each row of weights the sum of multiples, and an offset, one level down."""
        raise InvalidProgramError("cannot run weighted_sums: programs over integers have none")

    def take_sum(self, sums: Any, number: int) -> V:
        """One of weighted sums."""
        taken: V = sums[number]
        return taken

    def rescale(self, value: V) -> V:
        """The same numbers one level down, over reals at that level's scale."""

    def drop_level(self, value: V, level: int) -> V:
        """The same numbers at a lower level, over reals at that level's scale."""

    def bootstrap(self, value: V, level: int) -> V:
        """The same numbers at the level of a refreshed value."""
        raise InvalidProgramError("cannot run bootstrap: programs over integers have none")

    def bootstrap_of_coefficients(self, value: V, level: int) -> V:
        """The coefficients of a value as the slots of one at this level."""
        raise InvalidProgramError(
            "cannot run bootstrap_of_coefficients: programs over integers have none"
        )

    def bootstrap_pair(self, left: V, right: V, level: int) -> Sequence[V]:
        """Both at the level of a refreshed value, by one bootstrap of two vectors."""
        raise InvalidProgramError("cannot run paired_bootstrap: programs over integers have none")


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """What a reader of files accepts, which no file decides.

    Args:
        insecure: Whether parameters below 128-bit security are accepted, schemes that hide
            nothing, and bits that go wrong more often than with a probability of 2^-40.
        max_log_n: Base-2 logarithm of the largest ring degree; a large one costs a second and
            hundreds of megabytes before anything is run.
    """

    insecure: bool = False
    max_log_n: int = 16


@dataclass(frozen=True, slots=True)
class Flooding:
    """What decryptions whose results others see are asked for.

    Args:
        statistical_bits: s: nobody who sees all of these decryptions gains an advantage of more
            than 2^-(s/2 + 1.7) from the ciphertexts' noise (`crates/rlwe`, `ckks::flooding`).
        decryptions: Ciphertexts under one key that are decrypted so, at most.
    """

    statistical_bits: int
    decryptions: int


def flooding(statistical_bits: object, decryptions: object, action: str) -> Flooding:
    """What was asked of decryptions for others."""
    return Flooding(
        integer(statistical_bits, "statistical_bits", action, least=1, most=MAX_STATISTICAL_BITS),
        integer(decryptions, "decryptions", action, least=1, most=MAX_DECRYPTIONS),
    )


def advice_on_precision(advice: str, asked: Flooding | None) -> str:
    """What to do where too few bits are right, with what flooding costs where it was asked."""
    return f"{advice}, or ask for fewer statistical_bits or decryptions" if asked else advice


@dataclass(frozen=True, slots=True)
class Decrypted:
    """What values hold.

    Args:
        vectors: A vector of each.
        error: How far any number may be off; 0 for exact ones.
    """

    vectors: list[NDArray[Any]]
    error: float = 0.0


class BitRun(NamedTuple):
    """What a run of a program over bits made, and when.

    Args:
        outputs: The values of every output.
        nodes: The bootstraps in the order in which they ended.
        starts: Seconds from the start of the run to the start of each.
        seconds: Seconds that each took; of several made together an equal part.
        threads: The thread of each, from 0.
    """

    outputs: list[Any]
    nodes: NDArray[np.uint32]
    starts: NDArray[np.float64]
    seconds: NDArray[np.float64]
    threads: NDArray[np.uint32]


class Scheme(Protocol):
    """A way to encrypt, with its parameters.

    Attributes:
        name: A word that says which scheme it is, in files too.
        encrypts: Whether it encrypts; the clear ones do not.
        exact: Whether results have no errors.
        public_inputs: Whether inputs may be encrypted by a public key, whose noise is greater.
        modulus: What integers wrap around modulo; None where nothing does.
    """

    name: ClassVar[str]
    encrypts: ClassVar[bool] = True
    exact: ClassVar[bool] = True
    public_inputs: bool = True
    modulus: int | None = None

    @property
    def insecure(self) -> bool:
        """Whether parameters fall short of 128-bit security or of its failures, or hide nothing."""

    def log2_failure(self, body: Any) -> float:
        """log2 of the probability that noise changes more of a run's results than is stated."""

    def require_fitting(self, body: Any) -> None:
        """Refuse a program's body that does not run under these parameters.

        Raises:
            InvalidProgramError: It does not.
        """

    def in_clear(self, noise_seed: int | None = None) -> Scheme:
        """The scheme that computes the same without encryption.

        Args:
            noise_seed: What modelled errors are drawn from, of a scheme that has errors; None for
                none.
        """

    def estimators(
        self, body: Any, bounds: Sequence[float] | None
    ) -> Sequence[tuple[Backend[Any], list[Any]]]:
        """For each parameter set what a body runs on to estimate noise, and what goes in.

        There is nothing of schemes without such estimates. Where noise would destroy a result the
        run raises NoiseExhaustedError.

        Args:
            body: The body.
            bounds: Of a program over reals, for each input the largest absolute value of any slot.
        """
        return ()

    def key_bytes(self, body: Any) -> int:
        """Bytes of the evaluation keys that a body needs; of a clear scheme what they would be."""

    def generated_key_bytes(self, body: Any) -> int:
        """Bytes of the keys as `evaluation_keys` makes them: fewer where halves stay seeds."""
        return self.key_bytes(body)

    def secret_key(self) -> Any:
        """A new secret key."""

    def public_key(self, secret: Any) -> Any:
        """A key that encrypts for the holder of the secret key and does nothing else.

        It serves programs whose scheme has `public_inputs`.
        """

    def evaluation_keys(self, secret: Any, body: Any) -> Any:
        """Exactly the evaluation keys that a body needs."""

    @property
    def key_set(self) -> Hashable:
        """What keys are made for: one secret key serves all schemes of which it is equal."""
        return self.name

    def requirements(self, body: Any) -> KeyRequirements | None:
        """The evaluation keys that a body needs; None where all bodies take the same."""
        return None

    def further_keys(
        self,
        secret: Any,
        needed: KeyRequirements | None,
        served: Sequence[KeyRequirements | None],
    ) -> Any | None:
        """Evaluation keys beyond those that are served; None for none.

        By default all bodies take the same keys.
        """
        return None if served else self.evaluation_keys(secret, None)

    def extend_keys(self, keys: Any, further: Any) -> None:
        """Take further evaluation keys of the same secret key in, of which there may be some.

        By default nothing is lacking that is there for one body.
        """
        return

    def require_keys(self, keys: Any, body: Any) -> None:
        """Refuse evaluation keys that do not serve a body.

        Raises:
            MissingKeyError: One is lacking.
        """
        return

    def encrypt(
        self,
        key: Any,
        vectors: Mapping[int, NDArray[Any]],
        body: Any,
        bounds: Sequence[float] | None,
    ) -> dict[int, Any]:
        """Encrypt inputs of a body, by their numbers, under a secret or a public key."""

    def decrypt(
        self,
        secret: Any,
        values: Sequence[Any],
        body: Any,
        expected: Sequence[Any] | None = None,
        flooding: Flooding | None = None,
    ) -> Decrypted:
        """Decrypt the results of a body.

        Args:
            secret: The secret key.
            values: The results.
            body: The program's body.
            expected: The estimates of the results of a scheme that is approximate, made from the
                program alone; see `runtime.executor`. No claim that came with a value counts.
            flooding: Where others are to see the results.

        Raises:
            KeyMismatchError: They were made with another key.
            EstimateMismatchError: They are not what the program makes.
            PrecisionLostError: Flooding leaves nothing of them.
        """

    def rekeying_key(self, secret: Any, to: Any) -> Any:
        """What takes values of one secret key to another.

        Raises:
            InvalidArgumentError: Values of this scheme are not taken to other keys.
        """
        raise InvalidArgumentError(
            f"cannot make a rekeying key: expected ciphertexts of reals or integers, got those of "
            f"{self}; decrypt, and encrypt for the new key"
        )

    def rekeyed(self, key: Any, value: Any) -> Any:
        """A value taken to another secret key by what `rekeying_key` made; the same without it."""
        return value

    def read_rekeying_key(self, fields: Fields) -> Any:
        """What `rekeying_key` made, of a record.

        Raises:
            MalformedBytesError: The record is of another kind, or of such a scheme.
        """
        raise fields.wrong("rekeying_key", "of a scheme over reals or integers")

    def key_parts(self, keys: Any) -> Iterator[tuple[frozenset[str], Any]]:
        """Evaluation keys one by one, with what `KeyRequirements.names` calls each.

        A scheme whose programs all take the same keys has one part, of all of them.
        """
        yield frozenset((ALL_KEYS,)), keys

    def dump(self, item: Any) -> Record:
        """A key or a value as a record."""
        return {"data": stored_bytes(item)}

    def read_key(self, kind: str, fields: Fields) -> Any:
        """A key of a record: `secret_key`, `public_key` or `evaluation_keys`.

        Raises:
            MalformedBytesError: The record is of another kind.
        """

    def read_value(self, fields: Fields, body: Any, number: int, role: str) -> Any:
        """A value of a record: input or output `number` of a body.

        Raises:
            MalformedBytesError: The record is of another kind, or at another level.
        """

    def to_record(self) -> Record:
        """The parameters as files hold them."""

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        """The scheme of a record.

        Raises:
            MalformedBytesError: The record is of another kind.
            InvalidParametersError: Its ring is larger than accepted.
            InsecureParametersError: Its parameters fall short of 128-bit security.
        """

    def __str__(self) -> str:
        """The parameters in words."""


class SlotScheme(Scheme, Protocol):
    """A scheme on whose values slot programs run.

    Args:
        parameters: A parameter set, or one for each prime.
        public_inputs: Whether inputs may be encrypted by a public key, whose noise estimates then
            count.

    Attributes:
        parameter_sets: Its parameters, `Parameters` or for each prime `BgvParameters`.
        refreshing: What bootstraps under its parameters do; None where there are none.
    """

    parameter_sets: Sequence[Any]
    refreshing: Refreshing | None = None

    def __init__(self, parameters: Any, *, public_inputs: bool = False) -> None:
        self.public_inputs = public_inputs

    def dump_parameters(self) -> Record:
        """The parameters as files hold them."""

    @classmethod
    def read_parameters(cls, fields: Fields, limits: ReadLimits) -> tuple[Any, ...]:
        """The parameters of a record; refusals as `from_fields`."""

    def to_record(self) -> Record:
        return {
            "scheme": self.name,
            **self.dump_parameters(),
            "public_inputs": self.public_inputs,
        }

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        parameters = cls.read_parameters(fields, limits)
        return cls(*parameters, public_inputs=fields.value("public_inputs", bool))

    def backend(
        self, keys: Any, *, cache_bytes: int, expansion: KeyExpansion | None = None
    ) -> Backend[Any]:
        """What a program runs on.

        Args:
            keys: The evaluation keys.
            cache_bytes: Bytes that encoded linear transforms may take, to be used again.
            expansion: Which uniform halves of keys are expanded ahead. Those of others are expanded
                from seeds whenever they are used. None for all halves.
        """

    def required_keys(
        self, body: SlotProgram, numbers: Collection[int] | None = None
    ) -> KeyRequirements:
        """The evaluation keys that a body needs, or some of its operations, by their numbers."""
        return required_keys(body, numbers)

    def bytes_of(self, keys: KeyRequirements) -> int:
        """Bytes of evaluation keys."""

    @property
    def key_set(self) -> Hashable:
        return self.name, tuple(each.fingerprint for each in self.parameter_sets)

    def keys_for(self, secret: Any, needed: KeyRequirements) -> Any:
        """Evaluation keys at the levels asked for."""

    def requirements(self, body: SlotProgram) -> KeyRequirements:
        return self.required_keys(body)

    def further_keys(
        self,
        secret: Any,
        needed: KeyRequirements | None,
        served: Sequence[KeyRequirements | None],
    ) -> Any | None:
        assert needed is not None
        lacking = needed
        for each in served:
            assert each is not None
            lacking = lacking.beyond(each)
        return self.keys_for(secret, lacking) if lacking or not served else None

    def require_keys(self, keys: Any, body: SlotProgram) -> None:
        needed = self.required_keys(body)
        for held in self.held_keys(keys):
            lacking = needed.beyond(held)
            if lacking:
                raise MissingKeyError(
                    f"cannot use the evaluation keys for {body.title}: expected "
                    f"{', '.join(sorted(lacking.names()))} as well; have the client make them by "
                    "evaluation_keys, with the programs that are served already"
                )

    def held_keys(self, keys: Any) -> Sequence[KeyRequirements]:
        """Which evaluation keys there are, under each parameter set; nothing of clear schemes."""
        return ()

    def bytes_at(self, state: State) -> int:
        """Bytes of a value of degree 1 in a state, which is not that of a constant."""

    def read_ciphertext(self, fields: Fields) -> Any:
        """A value of a record, at whatever level.

        Raises:
            MalformedBytesError: The record is of another kind.
        """

    def read_products(self, fields: Fields) -> Any:
        """Rotated products of a record.

        Raises:
            MalformedBytesError: The record is of another kind.
        """

    def read_value(self, fields: Fields, body: SlotProgram, number: int, role: str) -> Any:
        """A value of a record, at the level that the program has it at."""
        value, level = self.read_ciphertext(fields), levels_of(body, role)[number]
        if value.level != level:
            raise MalformedBytesError(
                f"cannot read {fields.place}: expected a ciphertext at level {level}, got level "
                f"{value.level}"
            )
        return value


def stored_bytes(item: Any) -> bytes | SecretBytes:
    """A key or a value of the engine as bytes; secret ones are wiped when they are let go."""
    data = item.to_bytes()
    return SecretBytes.taken(data) if isinstance(data, bytearray) else data


def require_slots(body: Any, numbers: str, parameters: Parameters | BgvParameters) -> None:
    """Refuse what is no slot program over these numbers, of these slots and levels."""
    if not isinstance(body, SlotProgram):
        raise InvalidProgramError("cannot use the program: it has no slots")
    for wrong, reason in (
        (body.numbers != numbers, f"it is over {body.numbers}s"),
        (body.slots != parameters.slots, "its slots are not those of the parameters"),
        (body.top_level > parameters.levels, "it has more levels than the parameters"),
    ):
        if wrong:
            raise InvalidProgramError(f"cannot use {body.title}: {reason}")


def require_failure(log2_failure: float, flooding: Flooding, title: str) -> None:
    """Refuse to show exact results to others where they go wrong too often.

    A result that noise has changed tells of the key what noise tells.
    """
    total = log2_failure + math.log2(flooding.decryptions)
    if total > -flooding.statistical_bits:
        raise NoiseBudgetError(
            f"cannot decrypt {title} for others: of {flooding.decryptions} decryptions one may "
            f"go wrong with a probability of 2^{total:.1f}, expected "
            f"2^-{flooding.statistical_bits} or less; compile with more failure_bits, or ask less"
        )


def value_count(body: Any, role: str) -> int:
    """How many inputs a program has, or outputs.

    Example:
        >>> body = SlotProgram("same", 4, (Input("x", 3), Output(0)), (None,) * 2)
        >>> value_count(body, "inputs"), value_count(body, "outputs")
        (1, 1)
    """
    if isinstance(body, SlotProgram):
        return len(levels_of(body, role))
    return len(body.inputs if role == "inputs" else body.outputs)


def levels_of(body: SlotProgram, role: str) -> Sequence[int]:
    """The levels of the inputs of a program, or of its outputs; found once for each program.

    Example:
        >>> from cloakwork.programs.slots import Add
        >>> body = SlotProgram("double", 4, (Input("x", 3), Add(0, 0), Output(1)), (None,) * 3)
        >>> levels_of(body, "inputs"), levels_of(body, "outputs")
        ((3,), (3,))
    """
    found = _levels.get(body)
    if found is None:
        found = _levels[body] = {
            "inputs": tuple(each.level for each in body.operations if isinstance(each, Input)),
            "outputs": tuple(
                body.operations[number].require_encrypted(body.states[number])
                for number, each in enumerate(body.operations)
                if isinstance(each, Output)
            ),
        }
    return found[role]


# Each value is read at a level of its own, and a program may have thousands.
_levels: WeakKeyDictionary[SlotProgram, dict[str, tuple[int, ...]]] = WeakKeyDictionary()
