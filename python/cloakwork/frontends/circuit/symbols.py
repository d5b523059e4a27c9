"""Stand-ins for encrypted integers, and for vectors of them, while a function is staged."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn, TypeAlias, overload

from cloakwork.errors import EncryptedConditionError, InvalidArgumentError, ShapeMismatchError
from cloakwork.programs.circuits import (
    CircuitBuilder,
    Difference,
    Integer,
    Negative,
    Product,
    ScalarOperation,
    Sum,
)
from cloakwork.runtime.arguments import shown
from cloakwork.runtime.origin import users_line

# A greater power of anything but 0, 1 and -1 fits no result.
_MAX_POWER = 1 << 12

_SELECT = "write cw.select(bit, x, y) to choose between two values by an encrypted bit"


def _refuses(use: str, instead: str = _SELECT) -> Callable[..., NoReturn]:
    """A method that refuses a use of an encrypted value, naming the user's line."""

    def method(*_: object) -> NoReturn:
        place = users_line()
        where = f" at {place}" if place else ""
        raise EncryptedConditionError(
            f"cannot use an encrypted integer {use}{where}: its value is not known while the "
            f"program is made; {instead}"
        )

    return method


_compared = _refuses("in a comparison")
_divided = _refuses("in a division", "divide after decryption, or scale the inputs beforehand")
_bitwise = _refuses("in an operation on bits", "compute with numbers that are 0 or 1")
_rounded = _refuses("as a number of another kind", "it is an integer, and exact")


class Symbol:
    """Stands for one encrypted integer: + - * ** and unary minus are recorded.

    Args:
        builder: The circuit that is being made.
        number: The number of the value in it.

    Example:
        >>> from cloakwork.programs.circuits import CircuitInput
        >>> builder = CircuitBuilder("cube")
        >>> x = Symbol(builder, *builder.input(CircuitInput("x")))
        >>> builder.output("y", (), ((x**3 - 1).number,))
        >>> print(builder.finish())
        cube
          input x: scalar
          %0 = x
          %1 = %0 * %0
          %2 = %1 * %0
          %3 = 1
          %4 = %2 - %3
          output y: scalar = %4
    """

    __slots__ = ("builder", "number")

    # Numpy's arrays and numbers leave arithmetic with symbols to the symbols.
    __array_ufunc__ = None

    def __init__(self, builder: CircuitBuilder, number: int) -> None:
        self.builder = builder
        self.number = number

    def __add__(self, other: Any) -> Any:
        return self._joined(other, Sum)

    def __sub__(self, other: Any) -> Any:
        return self._joined(other, Difference)

    def __mul__(self, other: Any) -> Any:
        return self._joined(other, Product)

    def __radd__(self, other: Any) -> Any:
        # sum() starts from a clear 0.
        return self if _is_zero(other) else self._joined(other, lambda a, b: Sum(b, a))

    def __rsub__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: Difference(b, a))

    def __rmul__(self, other: Any) -> Any:
        return self._joined(other, lambda a, b: Product(b, a))

    def __neg__(self) -> Symbol:
        return self._made(Negative(self.number))

    def __pos__(self) -> Symbol:
        return self

    def __pow__(self, exponent: Any) -> Symbol:
        power = _clear(exponent)
        if power is None or not 0 <= power <= _MAX_POWER:
            raise InvalidArgumentError(
                f"cannot take a power of an encrypted integer: expected a clear exponent from 0 "
                f"up to {_MAX_POWER}, got {shown(exponent)}"
            )
        made: Symbol | None = None
        for digit in f"{power:b}" if power else "":
            made = None if made is None else made * made
            if digit == "1":
                made = self if made is None else made * self
        return self._made(Integer(1)) if made is None else made

    def _joined(self, other: Any, make: Callable[[int, int], ScalarOperation]) -> Any:
        if isinstance(other, Symbol):
            if other.builder is not self.builder:
                raise InvalidArgumentError(
                    "cannot compute: the encrypted integers belong to two different circuits"
                )
            return self._made(make(self.number, other.number))
        value = _clear(other)
        if value is None:
            return NotImplemented
        return self._made(make(self.number, self.builder.append(Integer(value))))

    def _made(self, operation: ScalarOperation) -> Symbol:
        self.builder.origin = users_line()
        return Symbol(self.builder, self.builder.append(operation))

    __bool__ = _refuses("as a condition")
    __index__ = _refuses("as an index")
    __int__ = __trunc__ = _refuses("as a clear number")
    __float__ = __complex__ = _rounded
    __hash__ = _refuses("as a key")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __abs__ = _refuses("for its absolute value")
    __round__ = __floor__ = __ceil__ = _rounded
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _divided
    __mod__ = __rmod__ = __divmod__ = __rdivmod__ = _divided
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _bitwise
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _bitwise
    __rpow__ = _refuses("as an exponent")

    def __repr__(self) -> str:
        return f"Symbol({self.builder.operations[self.number]})"


# What a staged function computes with: numbers, and vectors of them.
Staged: TypeAlias = "Symbol | Vector | int"


class Vector(Sequence["Symbol | Vector"]):
    """Stands for a vector of encrypted integers, or for a matrix: a vector of its rows.

    Indices and slices are clear. Arithmetic is element by element, with a number or with a
    vector of the same length.

    Args:
        items: The elements, or the rows.

    Example:
        >>> from cloakwork.programs.circuits import CircuitInput
        >>> builder = CircuitBuilder("sum of squares")
        >>> v = Vector([Symbol(builder, n) for n in builder.input(CircuitInput("v", (3,)))])
        >>> len(v * v), sum(v * v).number
        (3, 7)
    """

    __slots__ = ("items",)
    __array_ufunc__ = None

    def __init__(self, items: Sequence[Symbol | Vector]) -> None:
        self.items = tuple(items)

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Vector: ...
    @overload
    def __getitem__(self, index: tuple[int, int]) -> Any: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            row, *rest = index
            found = self[row]
            return found[rest[0] if len(rest) == 1 else tuple(rest)] if rest else found
        found = self.items[index]
        return Vector(found) if isinstance(found, tuple) else found

    def __add__(self, other: Any) -> Any:
        return self._each(other, operator.add)

    def __sub__(self, other: Any) -> Any:
        return self._each(other, operator.sub)

    def __mul__(self, other: Any) -> Any:
        return self._each(other, operator.mul)

    def __radd__(self, other: Any) -> Any:
        return self._each(other, lambda a, b: b + a)

    def __rsub__(self, other: Any) -> Any:
        return self._each(other, lambda a, b: b - a)

    def __rmul__(self, other: Any) -> Any:
        return self._each(other, lambda a, b: b * a)

    def __pow__(self, exponent: Any) -> Vector:
        return Vector([item**exponent for item in self.items])

    def __neg__(self) -> Vector:
        return Vector([-item for item in self.items])

    def _each(self, other: Any, compute: Callable[[Any, Any], Any]) -> Any:
        if isinstance(other, Symbol) or _clear(other) is not None:
            return Vector([compute(item, other) for item in self.items])
        if not isinstance(other, Vector | list | tuple):
            return NotImplemented
        if len(other) != len(self):
            raise ShapeMismatchError(
                f"cannot compute at {users_line()}: the vectors have {len(self)} and {len(other)} "
                "elements"
            )
        return Vector([compute(a, b) for a, b in zip(self.items, other, strict=True)])

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _compared
    __contains__ = _compared
    __hash__ = _refuses("as a key")
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = _divided
    __mod__ = __rmod__ = _divided

    def __repr__(self) -> str:
        return f"Vector({list(self.items)})"


def _clear(value: Any) -> int | None:
    """The value as an integer, if it is one that is not encrypted."""
    if isinstance(value, Symbol):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _is_zero(value: Any) -> bool:
    return not isinstance(value, Symbol) and type(value) is int and value == 0


def select(bit: Any, x: Any, y: Any) -> Any:
    """x where the bit is 1 and y where it is 0: y + bit * (x - y).

    Args:
        bit: 0 or 1, encrypted or not. An encrypted one that is neither gives neither x nor y.
        x: A number, or a vector of them.
        y: The same.

    Raises:
        InvalidArgumentError: A clear bit is neither 0 nor 1.
        ShapeMismatchError: The vectors differ in length.

    Example:
        >>> select(1, 10, 20), select(0, 10, 20)
        (10, 20)
    """
    if isinstance(bit, Symbol):
        return _selected(bit, x, y)
    value = _clear(bit)
    if value not in (0, 1):
        raise InvalidArgumentError(f"cannot select: expected a bit, 0 or 1, got {shown(bit)}")
    return x if value else y


def _selected(bit: Symbol, x: Any, y: Any) -> Any:
    sequences = (Vector, list, tuple)
    if isinstance(x, sequences) and isinstance(y, sequences):
        if len(x) != len(y):
            raise ShapeMismatchError(
                f"cannot select at {users_line()}: the vectors have {len(x)} and {len(y)} elements"
            )
        return Vector([_selected(bit, a, b) for a, b in zip(x, y, strict=True)])
    return y + bit * (x - y)
