"""What an operation of slot programs is: everything that anybody needs to know of one kind.

A kind of operation is described once, in its class: its operands, when it is legal, what it needs
of keys and levels, what it costs, how it reads as text, how it bounds values and errors, and which
function of a backend computes it. Passes ask the operation; a new kind touches its own class and
the backends.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.operations.wording import (
    Named,
    Naming,
    Numbering,
    identity_of,
    read_settings,
    written,
)
from cloakwork.programs.tokens import Tokens

Vector: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
# What a program computes with.
Numbers: TypeAlias = Literal["real", "integer"]

DTYPES: Mapping[Numbers, np.dtype[Any]] = {
    "real": np.dtype(np.float64),
    "integer": np.dtype(np.int64),
}
# Its negative is an int64 as well.
MAX_INTEGER = (1 << 63) - 1
# Far above every chain of moduli: a program may be deeper than its chain while it is planned.
MAX_LEVEL = 1_000_000

_INTEGERS = (int, np.integer)

# What an operation does with operands that are not relinearised, of degree 2 as ciphertexts.
Degree: TypeAlias = Literal["keeps", "relinearises", "relinearises once", "needs 1"]


@dataclass(frozen=True, slots=True)
class State:
    """What is known of a value before anything runs.

    Args:
        level: Level of the value; a clear one has none.
        waiting: Whether it is a product that is not rescaled.
        products: How many products it stands for that wait for their key switch, see
            `programs.operations.products`; 0 where it is a vector.
        sums: How many weighted sums it stands for, see `programs.operations.weighted`; likewise.
    """

    level: int | None
    waiting: bool = False
    products: int = 0
    sums: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """Where an operation stands.

    Args:
        slots: Slots of every value of its program.
        numbers: What the program computes with.
        states: States of its operands, in order.
        constants: For each operand its vector where it is a constant.
    """

    slots: int
    numbers: Numbers
    states: tuple[State, ...]
    constants: tuple[NDArray[Any] | None, ...]

    @property
    def level(self) -> int:
        """The level of the operands; 0 where all are clear."""
        return max((state.level for state in self.states if state.level is not None), default=0)

    @property
    def has_constant(self) -> bool:
        """Whether an operand is clear."""
        return any(state.level is None for state in self.states)


@dataclass(frozen=True, slots=True)
class Errors:
    """What is known of errors where an operation over reals stands.

    Args:
        context: Where it stands.
        state: The state of the value that it makes.
        model: A `schemes.ckks_noise.NoiseModel`.
        before: The errors of its operands.
        reached: The largest absolute values of its operands.
        shared_by: Linear transforms that share baby rotations with one, itself among them.
    """

    context: Context
    state: State
    model: Any
    before: Sequence[float]
    reached: Sequence[float]
    shared_by: int = 1

    @property
    def scale(self) -> float:
        """The scale of the value."""
        scale: float = self.model.scale(self.state.level, waiting=self.state.waiting)
        return scale

    @property
    def ready_scale(self) -> float:
        """The scale of a value of this level that is rescaled."""
        scale: float = self.model.scale(self.state.level, waiting=False)
        return scale


@dataclass(frozen=True, slots=True, eq=False)
class Operation:
    """One operation of a slot program; each makes one value.

    Attributes:
        kind: Its name in the text of a program.
        on: The fields that say which values it works on; the others are its settings.
        wording: How its settings read, see `programs.operations.wording`.
        over: What programs that have it compute with.
        commutes: Whether the order of its operands does not count.
        degree: What it does with operands of degree 2, see `runtime.schedule`.
        takes_products: Whether its operands are rotated products; those of others are vectors.
        takes_sums: Whether its operand is weighted sums; likewise.
    """

    kind: ClassVar[str]
    on: ClassVar[tuple[str, ...]] = ()
    wording: ClassVar[str] = ""
    over: ClassVar[tuple[Numbers, ...]] = ("real", "integer")
    commutes: ClassVar[bool] = False
    degree: ClassVar[Degree] = "keeps"
    takes_products: ClassVar[bool] = False
    takes_sums: ClassVar[bool] = False

    @property
    def operands(self) -> tuple[int, ...]:
        """The numbers of the values that it works on."""
        return tuple(getattr(self, name) for name in self.on)

    def with_operands(self, numbers: Sequence[int]) -> Self:
        """The same operation on the values with these numbers."""
        return replace(self, **dict(zip(self.on, numbers, strict=True)))

    def state_after(self, context: Context) -> State:
        """The state of the value that it makes: the rule that makes it legal."""
        raise NotImplementedError

    @property
    def depth(self) -> int:
        """Levels that it takes from its operands."""
        return 0

    def identity(self, vectors: Numbering) -> tuple[Hashable, ...]:
        """What besides kind and operands makes two operations the same."""
        return tuple(identity_of(each, vectors) for each in self._settings().values())

    def text(self, naming: Naming) -> str:
        """What follows the operands in the text of a program."""
        return written(self, self.wording, naming)

    @classmethod
    def read(cls, tokens: Tokens, named: Named) -> Self:
        """Take operands and what follows them from a line of text."""
        operands = cls.read_operands(tokens)
        return cls(**operands, **read_settings(cls.wording, tokens, named))

    @classmethod
    def read_operands(cls, tokens: Tokens) -> Mapping[str, Any]:
        """Take operands from a line of text."""
        return {name: tokens.numbered("%") for name in cls.on}

    def summary(self) -> str:
        """What follows the operands where a person reads the program; by itself, its integers."""
        return self.wording.format(**self._settings())

    def _settings(self) -> Mapping[str, Any]:
        names = [each.name for each in fields(self) if each.name not in self.on]
        return {name: getattr(self, name) for name in names}

    def line(self, number: int) -> str:
        """The operation of a number where a person reads the program, without level and layout."""
        words = [f"%{number} =", self.kind, *(f"%{each}" for each in self.operands)]
        return " ".join([*words, self.summary()]).rstrip()

    def compute(
        self, backend: Any, values: Sequence[Any], constants: Sequence[NDArray[Any] | None]
    ) -> Any:
        """What it makes on a backend."""
        raise NotImplementedError

    def rotations(self, slots: int) -> tuple[int, ...]:
        """The steps of the Galois keys that it needs, at the level of its value."""
        return ()

    def product_rotations(self, slots: int) -> tuple[int, ...]:
        """The steps of the product keys that it needs, at the level of its value."""
        return ()

    def relinearisation_level(self, context: Context) -> int | None:
        """The level of the relinearisation key that it needs; None for none."""
        return None

    def conjugation_level(self, context: Context) -> int | None:
        """The level of the key for complex conjugation that it needs; None for none."""
        return None

    def seconds(self, context: Context, costs: Any) -> float:
        """What it takes, in the unit of the costs; relinearisations apart."""
        return 0.0

    def counts(self, context: Context) -> Mapping[str, int]:
        """How often it does each costly thing, in the words of the literature."""
        return {}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        """The largest absolute values of the slots that it makes, by those of its operands."""
        raise InvalidProgramError(f"cannot bound {self.kind}: programs over reals have none")

    def deviation(self, at: Errors) -> float:
        """The error of the value that it makes, over reals."""
        raise InvalidProgramError(f"cannot estimate {self.kind}: programs over reals have none")

    def require(self, condition: bool, reason: str) -> None:
        """Refuse the operation for a reason."""
        if not condition:
            raise InvalidProgramError(f"cannot use {self.kind}: {reason}")

    def require_encrypted(self, state: State) -> int:
        """Refuse a constant, and give the level of what is none."""
        if state.level is None:
            raise InvalidProgramError(f"cannot use {self.kind}: its operand is a constant")
        return state.level

    def require_ready(self, state: State, *, levels: int) -> int:
        """Refuse a product that is not rescaled, and a level that is too low."""
        level = self.require_encrypted(state)
        self.require(not state.waiting, "its operand is a product that is not rescaled")
        self.require(level >= levels, f"it takes {levels} level(s), its operand has {level}")
        return level

    def require_integer(self, value: object, what: str) -> None:
        """Refuse what is no integer."""
        if not isinstance(value, _INTEGERS) or isinstance(value, bool):
            raise InvalidProgramError(
                f"cannot use {self.kind}: {what} is {kind_of_value(value)}, not an integer"
            )

    def require_vector(self, vector: NDArray[Any], slots: int, numbers: Numbers) -> None:
        """Refuse what is no vector of the program's numbers."""
        dtype = DTYPES[numbers]
        is_vector = isinstance(vector, np.ndarray) and vector.dtype == dtype
        self.require(is_vector, f"expected an array of {dtype}, got {kind_of_value(vector)}")
        self.require(vector.shape == (slots,), f"expected {slots} slots, got {vector.shape}")
        if numbers == "integer":
            self.require(bool((vector >= -MAX_INTEGER).all()), "a number is -2^63")
        else:
            self.require(bool(np.isfinite(vector).all()), "a number is not finite")


@dataclass(frozen=True, slots=True, eq=False)
class OfOne(Operation):
    """An operation that works on one value, the first of its fields."""

    on: ClassVar[tuple[str, ...]] = ("operand",)

    operand: int

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.operand,)


@dataclass(frozen=True, slots=True, eq=False)
class OfTwo(Operation):
    """An operation that works on two values, its only fields."""

    on: ClassVar[tuple[str, ...]] = ("left", "right")

    left: int
    right: int

    @property
    def operands(self) -> tuple[int, ...]:
        return (self.left, self.right)

    def with_operands(self, numbers: Sequence[int]) -> Self:
        return type(self)(*numbers)


@dataclass(frozen=True, slots=True, eq=False)
class OfLists(Operation):
    """An operation that works on lists of values, all of one length."""

    @property
    def operands(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(getattr(self, name) for name in self.on))

    def with_operands(self, numbers: Sequence[int]) -> Self:
        return replace(self, **self._lists(numbers))

    @classmethod
    def read_operands(cls, tokens: Tokens) -> Mapping[str, Any]:
        numbers: list[int] = []
        while tokens.peek().startswith("%"):
            numbers.append(tokens.numbered("%"))
        return cls._lists(numbers)

    @classmethod
    def _lists(cls, numbers: Sequence[int]) -> Mapping[str, Any]:
        # One too few makes the last list shorter, which is not legal.
        length = -(-len(numbers) // len(cls.on))
        return {
            name: tuple(numbers[place * length : (place + 1) * length])
            for place, name in enumerate(cls.on)
        }


class OfSameSize(OfOne):
    """An operation that costs an addition and changes neither level, size nor error of a value."""

    __slots__ = ()

    def state_after(self, context: Context) -> State:
        self.require_encrypted(context.states[0])
        return context.states[0]

    def seconds(self, context: Context, costs: Any) -> float:
        taken: float = costs.at(context.level).addition
        return taken

    def counts(self, context: Context) -> Mapping[str, int]:
        return {"addition": 1}

    def bound(self, slots: Sequence[Vector]) -> Vector:
        return slots[0]

    def deviation(self, at: Errors) -> float:
        return at.before[0]


def kind_of_value(value: object) -> str:
    """What a value is, for the message of an error."""
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    return f"of type {type(value).__name__}"


def joined_state(operation: Operation, states: Sequence[State]) -> State:
    """The state that the encrypted ones of two operands share."""
    encrypted = [state for state in states if state.level is not None]
    operation.require(bool(encrypted), "no operand is encrypted")
    if encrypted[0] != encrypted[-1]:
        raise InvalidProgramError(f"cannot use {operation.kind}: its operands differ: {encrypted}")
    return encrypted[0]
