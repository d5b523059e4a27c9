"""Stand-ins for encrypted integers, and for vectors of them, while a function is staged."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from cloakwork.base.arguments import shown
from cloakwork.base.source_line import users_origin
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.circuit import points, refusals
from cloakwork.frontends.circuit.indexing import taken
from cloakwork.frontends.circuit.matrices import (
    Whole,
    multiple_of,
    product_of,
    sum_of,
    transposed_of,
)
from cloakwork.frontends.circuit.ufuncs import greater_of, lesser_of, operator_of
from cloakwork.programs.ir.circuits import (
    Applied,
    CircuitBuilder,
    Difference,
    Integer,
    Negative,
    ScalarOperation,
    ScalarProduct,
    Sum,
)
from cloakwork.programs.ir.exact_functions import ExactFunction

# A greater power of anything but 0, 1 and -1 fits no result, and no number shifted further does.
_MAX_POWER = 1 << 12

# Of single integers by one product of matrices, once its elements are asked for.
_MOST_MULTIPLICATIONS = 1 << 16

# What numpy's functions are of encrypted integers; `numpy_functions` says it.
NUMPY_FUNCTIONS: list[Callable[..., Any]] = []


class Symbol:
    """Stands for one encrypted integer: what is computed with it is recorded.

    What compares, and `& | ^ ~` of such, is a Boolean: 0 or 1, which `~` turns round.

    Args:
        builder: The circuit that is being made.
        number: The number of the value in it.
        fraction: Its bits after the point: it stands for that value divided by 2^fraction.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitInput
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

    __slots__ = ("builder", "fraction", "number")

    def __init__(self, builder: CircuitBuilder, number: int, fraction: int = 0) -> None:
        self.builder = builder
        self.number = number
        self.fraction = fraction

    def __add__(self, other: Any) -> Any:
        return self._joined(other, Sum, points.aligned)

    def __sub__(self, other: Any) -> Any:
        return self._joined(other, Difference, points.aligned)

    def __mul__(self, other: Any) -> Any:
        return self._joined(other, ScalarProduct, points.multiplied)

    def __radd__(self, other: Any) -> Any:
        # sum() starts from a clear 0.
        is_start = type(other) is int and other == 0
        return self if is_start else self._joined(other, _swapped(Sum), points.aligned)

    def __rsub__(self, other: Any) -> Any:
        return self._joined(other, _swapped(Difference), points.aligned)

    def __rmul__(self, other: Any) -> Any:
        return self._joined(other, _swapped(ScalarProduct), points.multiplied)

    def __matmul__(self, other: Any) -> Any:
        return _product(self, operand(other))

    def __rmatmul__(self, other: Any) -> Any:
        return _product(operand(other), self)

    def __neg__(self) -> Symbol:
        return self._made(Negative(self.number), self.fraction)

    def __pos__(self) -> Symbol:
        return self

    @property
    def is_boolean(self) -> bool:
        """Whether it stands for a Boolean."""
        return self.number in self.builder.booleans

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        if isinstance(exponent, Symbol | Vector):
            made = self._joined(exponent, _applying(ExactFunction.POWER))
            return made if modulus is None else made % modulus
        power = _clear_power(exponent, "take a power of an encrypted integer", "exponent")
        return _power(self, power, modulus)

    def __rpow__(self, base: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            refusals.as_exponent()
        number = clear_integer(base)
        if number is not None and number > 0 and not number & number - 1:
            return 1 << self * (number.bit_length() - 1)
        return self._joined(base, _swapped(_applying(ExactFunction.POWER)))

    def __lshift__(self, count: Any) -> Any:
        if is_encrypted(count):
            return self._joined(count, _applying(ExactFunction.LEFT))
        points.whole(self.fraction, 0)
        return self * _factor_of_shift(count)

    def __rlshift__(self, number: Any) -> Any:
        return self._joined(number, _swapped(_applying(ExactFunction.LEFT)))

    def __rshift__(self, count: Any) -> Any:
        _require_counts(count)
        return self._joined(count, _applying(ExactFunction.RIGHT))

    def __rrshift__(self, number: Any) -> Any:
        return self._joined(number, _swapped(_applying(ExactFunction.RIGHT)))

    def __floordiv__(self, other: Any) -> Any:
        _require_divisors(other)
        return self._joined(other, _applying(ExactFunction.QUOTIENT), points.compared)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._joined(other, _swapped(_applying(ExactFunction.QUOTIENT)), points.compared)

    def __mod__(self, other: Any) -> Any:
        _require_divisors(other)
        return self._joined(other, _applying(ExactFunction.REMAINDER), points.aligned)

    def __rmod__(self, other: Any) -> Any:
        # Text with a place for a number, too.
        if isinstance(other, str):
            refusals.formatted()
        return self._joined(other, _swapped(_applying(ExactFunction.REMAINDER)), points.aligned)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __and__(self, other: Any) -> Any:
        return self._joined(other, _applying(ExactFunction.AND))

    def __or__(self, other: Any) -> Any:
        return self._joined(other, _applying(ExactFunction.OR))

    def __xor__(self, other: Any) -> Any:
        return self._joined(other, _applying(ExactFunction.XOR))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Any:
        points.whole(self.fraction, 0)
        return self == 0 if self.is_boolean else -1 - self

    def __abs__(self) -> Symbol:
        return self._made(Applied(ExactFunction.ABSOLUTE, (self.number,)), self.fraction)

    def __lt__(self, other: Any) -> Any:
        return self._joined(other, _applying(ExactFunction.LESS), points.compared)

    def __gt__(self, other: Any) -> Any:
        return self._joined(other, _swapped(_applying(ExactFunction.LESS)), points.compared)

    def __le__(self, other: Any) -> Any:
        return ~(self > other)

    def __ge__(self, other: Any) -> Any:
        return ~(self < other)

    def __eq__(self, other: Any) -> Any:
        return self._joined(other, _applying(ExactFunction.EQUAL), points.compared)

    def __ne__(self, other: Any) -> Any:
        return ~(self == other)

    def least(self, other: Any) -> Any:
        """The lesser of it and another."""
        return self._joined(other, _applying(ExactFunction.LEAST), points.aligned)

    def greatest(self, other: Any) -> Any:
        """The greater of it and another."""
        return self._joined(other, _applying(ExactFunction.GREATEST), points.aligned)

    def boolean(self, value: Any) -> Symbol:
        """A Boolean of the circuit, encrypted or not, as an encrypted one."""
        if isinstance(value, Symbol):
            return value
        sides = (self.builder.append(Integer(0)), self.builder.append(Integer(int(not value))))
        return self._made(Applied(ExactFunction.EQUAL, sides))

    def item_of(self, items: Sequence[Any]) -> Symbol:
        """The one of several integers whose number it is, from the end where it is negative."""
        points.whole(self.fraction, 0)
        fraction = max((each.fraction for each in items if isinstance(each, Symbol)), default=0)
        numbers = [self._number(each, fraction) for each in items]
        return self._made(Applied(ExactFunction.CHOSEN, (self.number, *numbers)), fraction)

    def with_point(self, fraction: int) -> Symbol:
        """The same number with as many bits after the point, or more."""
        return Symbol(self.builder, self._shifted(self.number, fraction - self.fraction), fraction)

    def _number(self, item: Any, fraction: int) -> int:
        if isinstance(item, Symbol):
            return item.with_point(fraction).number
        known = points.integer_and_fraction(item, is_fixed=fraction > 0)
        if known is None:
            return refusals.refuse_number(item)
        return self._shifted(self.builder.append(Integer(known[0])), fraction - known[1])

    def _shifted(self, number: int, places: int) -> int:
        """A value times 2^places; of no fewer than 0."""
        if not places:
            return number
        points.require_kept(places)
        factor = self.builder.append(Integer(1 << places))
        return self.builder.append(ScalarProduct(number, factor))

    def _joined(
        self,
        other: Any,
        make: Callable[[int, int], ScalarOperation],
        point: points.Point = points.whole,
    ) -> Any:
        if isinstance(other, Symbol):
            if other.builder is not self.builder:
                raise InvalidArgumentError(
                    f"cannot compute{refusals.at_line()}: the encrypted integers belong to two "
                    "different circuits"
                )
            return self._with(other.number, other.fraction, make, point)
        known = points.integer_and_fraction(other, is_fixed=self.fraction > 0)
        if known is not None:
            return self._with(self.builder.append(Integer(known[0])), known[1], make, point)
        if isinstance(other, Vector | list | tuple):
            return Vector([self._joined(item, make, point) for item in operand(other)])
        # Arrays take it from here.
        if isinstance(other, np.ndarray):
            return NotImplemented
        return refusals.refuse_number(other)

    def _with(
        self,
        number: int,
        fraction: int,
        make: Callable[[int, int], ScalarOperation],
        point: points.Point,
    ) -> Symbol:
        """What is made of it and of another value, as their points ask for."""
        own, others, results = point(self.fraction, fraction)
        operation = make(self._shifted(self.number, own), self._shifted(number, others))
        return self._made(operation, results)

    def _made(self, operation: ScalarOperation, fraction: int = 0) -> Symbol:
        self.builder.origin = users_origin()
        return Symbol(self.builder, self.builder.append(operation), fraction)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **settings: Any) -> Any:
        return operator_of(ufunc, method, settings)(*map(operand, operands))

    def __array_function__(self, function: Any, _: Any, given: Any, named: Any) -> Any:
        return NUMPY_FUNCTIONS[0](function, given, named)

    __bool__ = refusals.as_condition
    __index__ = refusals.as_index
    __int__ = __trunc__ = refusals.as_clear_number
    __float__ = __complex__ = refusals.rounded
    __hash__ = refusals.as_key
    __truediv__ = __rtruediv__ = refusals.divided

    def __floor__(self) -> Any:
        return self // 1 if self.fraction else refusals.rounded()

    def __ceil__(self) -> Any:
        return -(-self // 1) if self.fraction else refusals.rounded()

    def __round__(self, digits: Any = None) -> Any:
        if not self.fraction or digits is not None:
            refusals.rounded()
        return self.rounded(0)

    def halved(self) -> Symbol:
        """Half of it, with one more bit after the point."""
        return Symbol(self.builder, self.number, self.fraction + 1)

    def rounded(self, fraction: int) -> Symbol:
        """The nearest number with so many bits after the point; of two the even one."""
        dropped = self.fraction - fraction
        if dropped <= 0:
            return self
        value = Symbol(self.builder, self.number)
        up = (value + (1 << dropped - 1)) >> dropped
        # Half of a step was added to a half, and rounded up to an odd number.
        is_tie = (value & (1 << dropped) - 1) == 1 << dropped - 1
        made = up - (is_tie & ((up & 1) == 1))
        return Symbol(self.builder, made.number, fraction)

    def __format__(self, form: str) -> str:
        return refusals.formatted() if form else str(self)

    def __repr__(self) -> str:
        return f"Symbol({self.builder.operations[self.number]})"


class Vector(Sequence[Any]):
    """Stands for a vector of encrypted integers, or for a matrix: a vector of its rows.

    Indices and slices are clear, and mean what they mean to numpy. Arithmetic is element by
    element, with a number or with a vector of the same shape; beside a matrix, a vector counts
    for each of its rows. `@` is the product of vectors and matrices.

    Args:
        items: The elements, or the rows; or what makes them, once something asks for them.
        whole: What it is of whole inputs, where it is a product of matrices or the like.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitInput
        >>> builder = CircuitBuilder("sum of squares")
        >>> v = Vector([Symbol(builder, n) for n in builder.input(CircuitInput("v", (3,)))])
        >>> len(v * v), sum(v * v).number, (v @ v).number
        (3, 7, 7)
    """

    __slots__ = ("_items", "whole")

    def __init__(
        self, items: Sequence[Any] | Callable[[], Sequence[Any]], whole: Whole | None = None
    ) -> None:
        self._items = items
        self.whole = whole
        if whole is None or not callable(items):
            _ = self.items

    @property
    def items(self) -> tuple[Any, ...]:
        """The elements, or the rows."""
        if not isinstance(self._items, tuple):
            self._items = tuple(self._items() if callable(self._items) else self._items)
        return self._items

    @property
    def shape(self) -> tuple[int, ...]:
        """How many elements there are along each axis."""
        if self.whole is not None:
            return self.whole.shape
        return (len(self.items), *(shape_of_vector(self.items[0]) if self.items else ()))

    @property
    def T(self) -> Vector:  # noqa: N802 (numpy's name)
        """The transpose of a matrix; a vector itself."""
        if len(self.shape) < 2:
            return self
        return Vector(
            lambda: [Vector(column) for column in zip(*self.items, strict=True)],
            transposed_of(self),
        )

    def sum(self, axis: int | None = None) -> Any:
        """The sum of all elements, or of those along an axis; see `numpy.sum`."""
        return NUMPY_FUNCTIONS[0](np.sum, (self,), {"axis": axis})

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Vector: ...
    @overload
    def __getitem__(self, index: tuple[Any, ...]) -> Any: ...
    def __getitem__(self, index: Any) -> Any:
        found = taken(self.items, self.shape, index, Vector)
        return Vector(found) if isinstance(found, tuple) else found

    def __add__(self, other: Any) -> Any:
        return self._whole(other, operator.add, sum_of(self, other, 1))

    def __sub__(self, other: Any) -> Any:
        return self._whole(other, operator.sub, sum_of(self, other, -1))

    def __mul__(self, other: Any) -> Any:
        return self._whole(other, operator.mul, multiple_of(self, clear_integer(other)))

    def __radd__(self, other: Any) -> Any:
        # sum() starts from a clear 0.
        is_start = type(other) is int and other == 0
        return self if is_start else self._each(other, lambda a, b: b + a)

    def __rsub__(self, other: Any) -> Any:
        return self._each(other, lambda a, b: b - a)

    def __rmul__(self, other: Any) -> Any:
        whole = multiple_of(self, clear_integer(other))
        return self._whole(other, lambda a, b: b * a, whole)

    def __pow__(self, exponent: Any, modulus: Any = None) -> Any:
        numbers = (exponent,) if modulus is None else (exponent, modulus)
        if all(clear_integer(each) is not None for each in numbers):
            return Vector([pow(item, *numbers) for item in self.items])
        if isinstance(exponent, Symbol | Vector | list | tuple | np.ndarray):
            made = self._each(exponent, operator.pow)
        else:
            made = Vector([item**exponent for item in self.items])
        return made if modulus is None else made % modulus

    def __rpow__(self, base: Any, modulus: Any = None) -> Any:
        if modulus is not None:
            refusals.as_exponent()
        return self._each(base, _swapped(operator.pow))

    def __lshift__(self, count: Any) -> Any:
        if is_encrypted(count):
            return self._each(count, operator.lshift)
        return self * _factor_of_shift(count)

    def __rlshift__(self, number: Any) -> Any:
        return self._each(number, _swapped(operator.lshift))

    def __rshift__(self, count: Any) -> Any:
        return self._each(count, operator.rshift)

    def __rrshift__(self, number: Any) -> Any:
        return self._each(number, _swapped(operator.rshift))

    def __floordiv__(self, other: Any) -> Any:
        return self._each(other, operator.floordiv)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._each(other, _swapped(operator.floordiv))

    def __mod__(self, other: Any) -> Any:
        return self._each(other, operator.mod)

    def __rmod__(self, other: Any) -> Any:
        if isinstance(other, str):
            refusals.formatted()
        return self._each(other, _swapped(operator.mod))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __and__(self, other: Any) -> Any:
        return self._each(other, operator.and_)

    def __or__(self, other: Any) -> Any:
        return self._each(other, operator.or_)

    def __xor__(self, other: Any) -> Any:
        return self._each(other, operator.xor)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __invert__(self) -> Vector:
        # Comparisons of clear integers are Python's.
        return Vector([not item if isinstance(item, bool) else ~item for item in self.items])

    def __abs__(self) -> Vector:
        return Vector([abs(item) for item in self.items])

    def __lt__(self, other: Any) -> Any:
        return self._each(other, operator.lt)

    def __gt__(self, other: Any) -> Any:
        return self._each(other, operator.gt)

    def __le__(self, other: Any) -> Any:
        return self._each(other, operator.le)

    def __ge__(self, other: Any) -> Any:
        return self._each(other, operator.ge)

    def __eq__(self, other: Any) -> Any:
        return self._each(other, operator.eq)

    def __ne__(self, other: Any) -> Any:
        return self._each(other, operator.ne)

    def least(self, other: Any) -> Any:
        """Element by element the lesser of it and another."""
        return self._each(other, lesser_of)

    def greatest(self, other: Any) -> Any:
        """Element by element the greater of it and another."""
        return self._each(other, greater_of)

    def __bool__(self) -> bool:
        # A vector is as true as a list, but one of comparisons would be so for no reason.
        for each in self.items:
            if isinstance(each, bool) or (isinstance(each, Symbol) and each.is_boolean):
                refusals.comparisons_as_condition()
            if isinstance(each, Vector):
                bool(each)
        return len(self.items) > 0

    def __neg__(self) -> Vector:
        return Vector(lambda: [-item for item in self.items], multiple_of(self, -1))

    def __pos__(self) -> Vector:
        return self

    def __matmul__(self, other: Any) -> Any:
        return _product(self, operand(other))

    def __rmatmul__(self, other: Any) -> Any:
        return _product(operand(other), self)

    def _whole(self, other: Any, compute: Callable[[Any, Any], Any], whole: Whole | None) -> Any:
        """What is computed element by element, once these are asked for, if it has a whole."""
        if whole is None:
            return self._each(other, compute)
        return Vector(lambda: self._each(other, compute).items, whole)

    def _each(self, other: Any, compute: Callable[[Any, Any], Any]) -> Any:
        other = other if points.is_fraction(other) else operand(other)
        depth, others_depth = len(self.shape), len(shape_of_vector(other))
        if others_depth < depth and (not others_depth or self.shape[1:] == other.shape):
            return Vector([compute(item, other) for item in self.items])
        if others_depth > depth and other.shape[1:] == self.shape:
            return Vector([compute(self, item) for item in other.items])
        require_same_shape("compute", self, other)
        return Vector([compute(a, b) for a, b in zip(self.items, other.items, strict=True)])

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **settings: Any) -> Any:
        return operator_of(ufunc, method, settings)(*map(operand, operands))

    def __array_function__(self, function: Any, _: Any, given: Any, named: Any) -> Any:
        return NUMPY_FUNCTIONS[0](function, given, named)

    __contains__ = refusals.for_membership
    __hash__ = refusals.as_key
    __index__ = refusals.as_index
    __truediv__ = __rtruediv__ = refusals.divided
    __setitem__ = __delitem__ = refusals.refuses_change

    def __format__(self, form: str) -> str:
        return refusals.formatted() if form else str(self)

    def __repr__(self) -> str:
        return f"Vector({list(self.items)})"


def operand(value: Any) -> Any:
    """A value as vectors compute with it: lists, tuples and arrays as vectors.

    Raises:
        NotIntegerError: It is neither an integer nor made of integers.
        ShapeMismatchError: It is made of rows of different shapes.

    Example:
        >>> operand([[1, 2], (3, 4)]).shape, operand(5)
        ((2, 2), 5)
    """
    if isinstance(value, Symbol | Vector):
        return value
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.dtype.kind in "iuO" else refusals.refuse_number(value)
    if isinstance(value, list | tuple):
        items = [operand(each) for each in value]
        for each in items[1:]:
            require_same_shape("make a vector of a list", items[0], each)
        return Vector(items)
    number = clear_integer(value)
    return refusals.refuse_number(value) if number is None else number


def shape_of_vector(value: Any) -> tuple[int, ...]:
    """The shape of a vector; empty for a number.

    Example:
        >>> shape_of_vector(5), shape_of_vector(operand([[1, 2]]))
        ((), (1, 2))
    """
    return value.shape if isinstance(value, Vector) else ()


def require_same_shape(action: str, left: Any, right: Any) -> None:
    """Refuse two vectors, or a vector and a number, of different shapes.

    Raises:
        ShapeMismatchError: They differ.
    """
    shapes = shape_of_vector(left), shape_of_vector(right)
    if shapes[0] == shapes[1]:
        return
    if len(shapes[0]) == len(shapes[1]) == 1:
        told = f"the vectors have {shapes[0][0]} and {shapes[1][0]} elements"
    else:
        told = f"the shapes are {shapes[0]} and {shapes[1]}"
    raise ShapeMismatchError(f"cannot {action}{refusals.at_line()}: {told}")


def clear_integer(value: Any) -> int | None:
    """The value as an integer, if it is one that is not encrypted.

    Example:
        >>> clear_integer(True), clear_integer(1.0), clear_integer([])
        (1, None, None)
    """
    if isinstance(value, Symbol):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _clear_power(exponent: Any, action: str, name: str) -> int:
    """An exponent, or the count of a shift, as an integer."""
    power = clear_integer(exponent)
    if power is None or not 0 <= power <= _MAX_POWER:
        raise InvalidArgumentError(
            f"cannot {action}{refusals.at_line()}: expected a clear {name} from 0 up to "
            f"{_MAX_POWER}, got {shown(exponent)}"
        )
    return power


def _power(base: Symbol, power: int, modulus: Any) -> Any:
    """A power by squares and products, each of them modulo a number where there is one."""

    def reduced(value: Any) -> Any:
        return value if modulus is None else value % modulus

    made: Any = None
    for digit in f"{power:b}" if power else "":
        made = None if made is None else reduced(made * made)
        if digit == "1":
            made = reduced(base if made is None else made * base)
    return reduced(base * 0 + 1) if made is None else made


def _applying(function: ExactFunction) -> Callable[[int, int], ScalarOperation]:
    return lambda left, right: Applied(function, (left, right))


def _swapped(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: compute(b, a)


def is_encrypted(value: Any) -> bool:
    """Whether a value is encrypted, or made of what is.

    Example:
        >>> is_encrypted([1, 2])
        False
    """
    if isinstance(value, list | tuple | np.ndarray):
        return any(map(is_encrypted, value))
    return isinstance(value, Symbol | Vector)


def _require_divisors(value: Any) -> None:
    """Refuse a division by a clear 0, as Python does."""
    if isinstance(value, Vector | list | tuple):
        for each in value:
            _require_divisors(each)
    elif clear_integer(value) == 0 or (points.is_fraction(value) and value == 0):
        raise InvalidArgumentError(
            f"cannot divide{refusals.at_line()}: expected a divisor that is not 0, got 0"
        )


def _require_counts(value: Any) -> None:
    """Refuse a shift by less than 0, as Python does."""
    count = clear_integer(value)
    if count is not None and count < 0:
        raise InvalidArgumentError(
            f"cannot shift an encrypted integer{refusals.at_line()}: expected a count from 0 up, "
            f"got {count}"
        )


def _factor_of_shift(count: Any) -> Any:
    """What a shift to the left multiplies by; of a vector of counts a vector."""
    if isinstance(count, Vector | list | tuple | np.ndarray):
        return Vector([_factor_of_shift(each) for each in operand(count)])
    return 1 << _clear_power(count, "shift an encrypted integer", "count")


def _product(left: Any, right: Any) -> Any:
    """The product of two vectors or matrices, as numpy's @ makes it."""
    shapes = shape_of_vector(left), shape_of_vector(right)
    if not all(shapes) or shapes[0][-1] != shapes[1][-2:][0]:
        raise ShapeMismatchError(
            f"cannot multiply by @{refusals.at_line()}: expected vectors or matrices with as many "
            f"columns on the left as rows on the right, got {shapes[0]} and {shapes[1]}"
        )
    if len(shapes[0]) > 1 or len(shapes[1]) > 1:
        return Vector(lambda: _elements_of_product(left, right), product_of(left, right))
    return sum(a * b for a, b in zip(left, right, strict=True))


def _elements_of_product(left: Vector, right: Vector) -> list[Any]:
    multiplications = math.prod(left.shape) * math.prod(right.shape[1:])
    if multiplications > _MOST_MULTIPLICATIONS:
        raise InvalidArgumentError(
            f"cannot take elements of a product of {left.shape} and {right.shape}"
            f"{refusals.at_line()}: expected up to {_MOST_MULTIPLICATIONS} multiplications of "
            f"single integers, got {multiplications}; return products, sums and transposes of "
            "inputs as they are, which are planned as matrices, from functions on slots"
        )
    if len(left.shape) > 1:
        return [_product(row, right) for row in left]
    return [_product(left, right[:, number]) for number in range(right.shape[1])]
