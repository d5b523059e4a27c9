"""What tensors can do: arithmetic, sums, shapes. Each method is a graph of operations.

Encrypted tensors and the stand-ins that `cloakwork.compile` traces with share them.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from types import EllipsisType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, SupportsIndex, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.arrays import is_of_matrix_products, is_sparse, real_numbers
from cloakwork.base.frames import is_frame
from cloakwork.base.source_line import users_origin
from cloakwork.errors import InvalidArgumentError, ParametersMismatchError, ShapeMismatchError
from cloakwork.frontends.tensors.clear_operands import clear_numbers, clear_operand
from cloakwork.frontends.tensors.numpy.arguments import with_arguments_of
from cloakwork.frontends.tensors.numpy.refusals import refuse_attribute, refuse_comparison
from cloakwork.frontends.tensors.sparse import diagonals_of
from cloakwork.plan.functions.intervals import Interval
from cloakwork.programs.ir.elementwise import LABELS, multiple, power
from cloakwork.programs.ir.tensors import (
    Apply,
    Contract,
    Node,
    Rearrange,
    Sum,
    Within,
    are_truths,
    are_zeros_and_ones,
)
from cloakwork.programs.ir.truths import (
    Connective,
    conjunction,
    disjunction,
    exclusion,
    negation,
    numbers,
)

Index: TypeAlias = SupportsIndex | slice | EllipsisType | None

_BATCH_LABELS = LABELS.replace("xyz", "")
# Multiples that are made by additions and so take no level.
_FEW = 8
# Its levels would fill the largest ring.
_LARGEST_POWER = 1 << 64


class Runner(Protocol):
    """Whoever computes with tensors: a session, an evaluator, or a trace."""

    def compute(self, node: Node, title: str, /) -> Any: ...
    def interval_of(self, node: Node, /) -> Interval: ...


class TensorMethods:
    """The operations of a tensor; a class with a shape, a node and a runner has them all."""

    __slots__ = ()
    # Above that of frames: pandas leaves operators to what has more.
    __pandas_priority__ = 5000

    runner: Runner

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape, which is not secret."""
        raise NotImplementedError

    def node(self) -> Node:
        """What stands for the tensor in a graph of operations."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise InvalidArgumentError("cannot take the length: the tensor has no dimensions")
        return self.shape[0]

    def __bool__(self) -> bool:
        raise InvalidArgumentError(
            "cannot branch on an encrypted tensor: its numbers are not known here; "
            "compute both sides and combine them"
        )

    def __float__(self) -> float:
        raise InvalidArgumentError("cannot make a float: the tensor is encrypted; decrypt it first")

    if not TYPE_CHECKING:  # To a type checker a class with this method is an array.

        def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
            # What is no array gets its own say in a product with a sparse matrix of scipy.
            caller = sys._getframe(1)
            is_of_scipy = caller.f_globals.get("__name__", "").startswith("scipy.sparse")
            if is_of_scipy and caller.f_code.co_name == "_matmul_dispatch":
                alone = np.empty((), dtype=object)
                alone[()] = self
                return alone
            raise InvalidArgumentError(
                "cannot make a numpy array: the tensor is encrypted; decrypt it first, or let it "
                "meet arrays of numpy, as by frame.to_numpy() @ x or numpy.stack([x, y])"
            )

    # Python's own answer, whether they are one object, would pass for an answer.
    def __eq__(self, other: object) -> NoReturn:
        refuse_comparison()

    def __ne__(self, other: object) -> NoReturn:
        refuse_comparison()

    def __lt__(self, other: Any) -> Self:
        return self._added(other, (-1, 1), "x < y").applied("step", "x < y")

    def __le__(self, other: Any) -> Self:
        return self._added(other, (-1, 1), "x <= y").applied("step", "x <= y")

    def __gt__(self, other: Any) -> Self:
        return self._added(other, (1, -1), "x > y").applied("step", "x > y")

    def __ge__(self, other: Any) -> Self:
        return self._added(other, (1, -1), "x >= y").applied("step", "x >= y")

    def __and__(self, other: Any) -> Self:
        return self._connected(other, conjunction, "x & y")

    def __rand__(self, other: Any) -> Self:
        return self._connected(other, conjunction, "x & y")

    def __or__(self, other: Any) -> Self:
        return self._connected(other, disjunction, "x | y")

    def __ror__(self, other: Any) -> Self:
        return self._connected(other, disjunction, "x | y")

    def __xor__(self, other: Any) -> Self:
        return self._connected(other, exclusion, "x ^ y")

    def __rxor__(self, other: Any) -> Self:
        return self._connected(other, exclusion, "x ^ y")

    def __invert__(self) -> Self:
        _require_truths(self, "~x")
        return self._computed(negation(self.node(), users_origin()), "~x")

    def __hash__(self) -> int:
        return object.__hash__(self)

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(type(self).__name__, name)

    def __contains__(self, _item: object) -> NoReturn:
        refuse_comparison()

    def __abs__(self) -> Self:
        is_positive = are_zeros_and_ones(self.node())
        return self if is_positive else self.applied("absolute", "abs(x)")

    def __int__(self) -> NoReturn:
        _refuse("int")

    def __round__(self, _digits: object = None) -> NoReturn:
        _refuse("round")

    def __trunc__(self) -> NoReturn:
        _refuse("trunc")

    def __floordiv__(self, _other: object) -> NoReturn:
        _refuse("//")

    def __rfloordiv__(self, _other: object) -> NoReturn:
        _refuse("//")

    def __mod__(self, _other: object) -> NoReturn:
        _refuse("%")

    def __rmod__(self, _other: object) -> NoReturn:
        _refuse("%")

    def __divmod__(self, _other: object) -> NoReturn:
        _refuse("divmod")

    def __rdivmod__(self, _other: object) -> NoReturn:
        _refuse("divmod")

    def __lshift__(self, _other: object) -> NoReturn:
        _refuse("<<")

    def __rlshift__(self, _other: object) -> NoReturn:
        _refuse("<<")

    def __rshift__(self, _other: object) -> NoReturn:
        _refuse(">>")

    def __rrshift__(self, _other: object) -> NoReturn:
        _refuse(">>")

    def __format__(self, how: str) -> str:
        if how:
            raise InvalidArgumentError(
                f"cannot format by {shown(how)}: the numbers are encrypted; decrypt first"
            )
        return str(self)

    def __setitem__(self, index: object, _value: object) -> NoReturn:
        raise InvalidArgumentError(
            f"cannot set the elements {shown(index)}: a tensor never changes; put another together "
            "by numpy.where(mask, value, x), with a mask in the clear, or numpy.concatenate"
        )

    def __rtruediv__(self, other: Any) -> Self:
        inverse = self.applied("reciprocal", "1 / x")
        is_one = isinstance(other, int | float) and other == 1
        return inverse if is_one else inverse._multiplied(other, "y / x")

    def __rpow__(self, other: Any) -> Self:
        is_number = isinstance(other, Real) and not isinstance(other, bool)
        if not is_number or not 0 < other < math.inf:
            raise InvalidArgumentError(
                "cannot raise to an encrypted exponent: expected a number above 0, got "
                f"{shown(other)}"
            )
        if other == 2:
            return self.applied("exp2", "2 ** x")
        return self._multiplied(math.log(other), "x * y").applied("exp", f"{shown(other)} ** x")

    def __iter__(self) -> Iterator[Self]:
        return iter([self[number] for number in range(len(self))])

    def __neg__(self) -> Self:
        refuse_of_truths("-x", self)
        return self._computed(Sum((self.node(),), (-1,), None, self.shape, users_origin()), "-x")

    def __pos__(self) -> Self:
        refuse_of_truths("+x", self)
        return self

    # Of two comparisons sums and products are numpy's of booleans.
    def __add__(self, other: Any) -> Self:
        return self | other if are_all_truths(self, other) else self._added(other, (1, 1), "x + y")

    def __radd__(self, other: Any) -> Self:
        made: Self = self + other
        return made

    def __sub__(self, other: Any) -> Self:
        refuse_of_truths("x - y", self, other)
        return self._added(other, (1, -1), "x - y")

    def __rsub__(self, other: Any) -> Self:
        refuse_of_truths("y - x", self, other)
        return self._added(other, (-1, 1), "y - x")

    def __mul__(self, other: Any) -> Self:
        _refuse_matrix_product(other)
        return self & other if are_all_truths(self, other) else self._multiplied(other, "x * y")

    def __rmul__(self, other: Any) -> Self:
        made: Self = self * other
        return made

    def __truediv__(self, other: Any) -> Self:
        if isinstance(other, TensorMethods):
            return self._multiplied(other.applied("reciprocal", "1 / x"), "x / y")
        divisor = clear_operand(other, "divide")
        if (divisor == 0).any():
            raise InvalidArgumentError("cannot divide by zero")
        return self._multiplied(1 / divisor, "x / y")

    def __pow__(self, exponent: Any, modulus: object = None) -> Self:
        if modulus is not None:
            _refuse("pow(x, y, z)")
        is_number = isinstance(exponent, Real) and not isinstance(exponent, bool)
        if is_number and exponent in (0.5, -0.5):
            return self.applied("sqrt" if exponent > 0 else "rsqrt", f"x ** {exponent}")
        if is_number and not isinstance(exponent, Integral) and 2 * exponent % 2 == 1:
            if exponent < 0:
                inverse: Self = (self**-0.5) ** int(-2 * exponent)
                return inverse
            rooted: Self = self ** int(exponent - 0.5) * self**0.5
            return rooted
        is_whole = is_number and (isinstance(exponent, Integral) or float(exponent).is_integer())
        if not is_whole:
            raise InvalidArgumentError(
                f"cannot raise to a power: expected a whole number, or half an odd one such as "
                f"1.5 or -0.5, got {shown(exponent)}"
            )
        if exponent == 0:
            none = self._added(self, (1, -1), "x ** 0")
            return none._added(1.0, (1, 1), "x ** 0").within(1.0, 1.0, claimed=False)
        if exponent < 0:
            made: Self = self.applied("reciprocal", "1 / x") ** -exponent
            return made
        if exponent > _LARGEST_POWER:
            raise InvalidArgumentError(
                f"cannot raise to a power: expected at most {_LARGEST_POWER}, which takes "
                f"{_LARGEST_POWER.bit_length() - 1} levels, got {shown(exponent)}"
            )
        node = power(self._numbers(), int(exponent), users_origin())
        return self._computed(node, f"x ** {int(exponent)}")

    def __matmul__(self, other: Any) -> Self:
        return self.matmul(other)

    def __rmatmul__(self, other: Any) -> Self:
        product = self._by_diagonals(other)
        if product is not None:
            return product
        refuse_sums_of_truths("matmul", self, other)
        return self._matrix_product(as_operand(other, "matmul"), self)

    def matmul(self, other: Any) -> Self:
        """The matrix product, as `numpy.matmul`; leading axes are a batch.

        Raises:
            ShapeMismatchError: The shapes do not fit.
            InvalidArgumentError: Both are comparisons.
        """
        product = self.transpose()._by_diagonals(other.T) if is_sparse(other) else None
        if product is not None:
            return product.transpose()
        refuse_sums_of_truths("matmul", self, other)
        return self._matrix_product(self, as_operand(other, "matmul"))

    @with_arguments_of(np.sum)
    def sum(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Self:
        """The sum along axes, by default all, as `numpy.sum`.

        Raises:
            InvalidArgumentError: There is no such axis.
        """
        gone = axes_of(axis, self.ndim, "sum")
        return self._summed(gone, (), keepdims, "sum")

    @with_arguments_of(np.mean)
    def mean(self, axis: int | Sequence[int] | None = None, *, keepdims: bool = False) -> Self:
        """The mean along axes, by default all, as `numpy.mean`. Takes a level.

        Raises:
            InvalidArgumentError: There is no such axis.
        """
        gone = axes_of(axis, self.ndim, "mean")
        count = math.prod(self.shape[number] for number in gone)
        return self._summed(gone, (np.array(1 / count),), keepdims, "mean")

    def _summed(
        self,
        gone: set[int],
        factors: tuple[NDArray[np.float64], ...],
        keepdims: bool,
        title: str,
    ) -> Self:
        labels = LABELS[: self.ndim]
        kept = "".join(label for number, label in enumerate(labels) if number not in gone)
        shape = tuple(size for number, size in enumerate(self.shape) if number not in gone)
        terms = (labels, *("" for _ in factors))
        node: Node = Contract((self.node(), *factors), terms, kept, shape, users_origin())
        if keepdims:
            stretched = tuple(
                1 if number in gone else size for number, size in enumerate(self.shape)
            )
            node = _reshaped(node, stretched)
        return self._computed(node, title)

    @with_arguments_of(np.var)
    def var(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """The variance along axes, by default all, as `numpy.var`. Takes three levels.

        Raises:
            InvalidArgumentError: There is no such axis, or `ddof` leaves no degree of freedom.
        """
        gone = axes_of(axis, self.ndim, "var")
        count = math.prod(self.shape[number] for number in gone)
        if not isinstance(ddof, Integral) or not 0 <= ddof < count:
            raise InvalidArgumentError(
                f"cannot var: expected a ddof from 0 to {count - 1}, got {shown(ddof)}"
            )
        axes = tuple(gone)
        away = self - self.mean(axes, keepdims=True)
        factors = (np.array(1 / (count - ddof)),)
        made = (away * away)._summed(gone, factors, keepdims, "var")
        low, high = self.runner.interval_of(self.node()).ends
        # No numbers of a range vary more than those at its ends (Popoviciu).
        # Beyond all doubles it is an infinity, and no error of Python's.
        most = (high - low) * (high - low) / 4 * count / (count - ddof)
        return made.within(0.0, most, claimed=False)

    @with_arguments_of(np.std)
    def std(
        self,
        axis: int | Sequence[int] | None = None,
        *,
        ddof: int = 0,
        keepdims: bool = False,
    ) -> Self:
        """The standard deviation along axes, by default all, as `numpy.std`.

        Raises:
            InvalidArgumentError: As `var`.
            ActivationFitError: The range of the variance is too wide for a square root as precise.
        """
        return self.var(axis, ddof=ddof, keepdims=keepdims).applied("sqrt", "std")

    @with_arguments_of(np.trace)
    def trace(self, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Self:
        """The sum along a diagonal of two axes, by default the first two, as `numpy.trace`.

        Raises:
            ShapeMismatchError: The tensor has fewer than two axes, or no such diagonal.
            InvalidArgumentError: There is no such axis, or it comes twice.
        """
        if self.ndim < 2:
            raise ShapeMismatchError(
                f"cannot trace: expected two axes or more, got shape {self.shape}"
            )
        one, other = (axis_number(axis, self.ndim, "trace") for axis in (axis1, axis2))
        axes_of((one, other), self.ndim, "trace")
        if offset or self.shape[one] != self.shape[other]:
            elements = np.diagonal(numbered(self.shape), offset, one, other)
            diagonal: Self = rearranged(self, elements, "trace")
            return diagonal.sum(-1)
        labels = LABELS[: self.ndim]
        terms = labels.replace(labels[other], labels[one])
        rest = labels.replace(labels[one], "").replace(labels[other], "")
        shape = tuple(self.shape[labels.index(label)] for label in rest)
        node = Contract((self.node(),), (terms,), rest, shape, users_origin())
        return self._computed(node, "trace")

    def applied(
        self, function: str, title: str, bits: int | None = None, gap: float | None = None
    ) -> Self:
        """A function of every element, approximated over the range that the elements have.

        Args:
            function: One of `programs.functions`.
            title: What it is called in messages.
            bits: Bits after the binary point that are to be right; by default those of the program.
            gap: Of a comparison, how close to 0 its values may be between 0 and 1.

        Raises:
            ActivationFitError: The function is not defined on the range, or nothing is as near.
        """
        return self._computed(Apply(function, self.node(), bits, users_origin(), gap), title)

    def within(self, low: float, high: float, *, claimed: bool = True) -> Self:
        """The same tensor, whose elements are said to lie in a range; see `cloakwork.within`."""
        return self._computed(Within(self.node(), low, high, claimed), "within")

    @property
    def T(self) -> Self:  # noqa: N802  (numpy's name)
        """The tensor with its axes in reverse; nothing moves."""
        return self.transpose()

    @with_arguments_of(np.transpose)
    def transpose(self, *axes: int | Sequence[int]) -> Self:
        """The tensor with its axes in another order, as `numpy.transpose`; nothing moves.

        Raises:
            InvalidArgumentError: The axes are not a permutation.
        """
        wanted: Any = axes[0] if len(axes) == 1 and isinstance(axes[0], Sequence) else axes
        wanted = () if wanted == (None,) else wanted
        order = [axis_number(each, self.ndim, "transpose") for each in wanted]
        order = order or list(range(self.ndim))[::-1]
        if sorted(order) != list(range(self.ndim)):
            raise InvalidArgumentError(
                f"cannot transpose: expected each of {self.ndim} axes once, got {shown(axes)}"
            )
        labels = LABELS[: self.ndim]
        output = "".join(labels[number] for number in order)
        shape = tuple(self.shape[number] for number in order)
        node = Contract((self.node(),), (labels,), output, shape, users_origin())
        return self._computed(node, "transpose")

    @with_arguments_of(np.reshape)
    def reshape(self, *shape: int | Sequence[int], order: str = "C") -> Self:
        """The same elements in C order, or Fortran's, in another shape, as `numpy.reshape`.

        Raises:
            ShapeMismatchError: The shape has another number of elements.
            InvalidArgumentError: The order is neither "C", "A" nor "F".
        """
        if order not in ("C", "A", "F"):
            raise InvalidArgumentError(
                f"cannot reshape: expected the order 'C', 'A' or 'F', got {shown(order)}"
            )
        wanted: Any = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
        try:
            # Arrays of C order have order "A" as well.
            elements = numbered(self.shape).reshape(
                tuple(wanted), order="F" if order == "F" else "C"
            )
        except (TypeError, ValueError) as error:
            raise ShapeMismatchError(
                f"cannot reshape: expected a shape of {self.size} elements as {self.shape} has, "
                f"got {shown(wanted)}"
            ) from error
        return self._computed(Rearrange(self.node(), elements, users_origin()), "reshape")

    def __getitem__(self, index: Index | tuple[Index, ...]) -> Self:
        several = isinstance(index, tuple)
        parts = tuple(map(_known, index if isinstance(index, tuple) else (index,)))
        for part in parts:
            if isinstance(part, bool | np.bool_) or not (
                part is None
                or part is ...
                or isinstance(part, slice | SupportsIndex | list | tuple | range)
            ):
                raise InvalidArgumentError(
                    "cannot index: expected whole numbers, slices, arrays and masks that are known "
                    "in the clear, "
                    f"got {shown(part)}"
                )
        try:
            chosen = numbered(self.shape)[parts if several else parts[0]]
        except TypeError as error:
            raise InvalidArgumentError(
                f"cannot index a tensor of shape {self.shape}: {error}"
            ) from error
        except (IndexError, ValueError) as error:
            raise ShapeMismatchError(
                f"cannot index a tensor of shape {self.shape}: {error}"
            ) from error
        made: Self = rearranged(self, chosen, "x[...]")
        return made

    def _added(self, other: Any, signs: tuple[int, int], title: str) -> Self:
        operand = as_operand(other, "add")
        shape = _broadcast(self.shape, operand.shape, title)
        origin = users_origin()
        if isinstance(operand, TensorMethods):
            _require_same_runner(self, operand)
            node = Sum((self.node(), operand.node()), signs, None, shape, origin)
        else:
            constant = np.broadcast_to(signs[1] * operand, shape)
            node = Sum((self.node(),), (signs[0],), constant, shape, origin)
        return self._computed(node, title)

    def _multiplied(self, other: Any, title: str) -> Self:
        operand = as_operand(other, "multiply")
        if not isinstance(operand, TensorMethods) and operand.ndim == 0:
            factor = float(operand)
            if factor.is_integer() and 0 < abs(factor) <= _FEW:
                return self._multiple(int(factor))
        shape = _broadcast(self.shape, operand.shape, title)
        labels = LABELS[: len(shape)]
        terms = [labels[len(shape) - len(each.shape) :] for each in (self, operand)]
        return self._contracted((self, operand), terms, labels, shape, title)

    def _multiple(self, factor: int) -> Self:
        """A small whole multiple, by additions."""
        node = multiple(self._numbers(), factor, users_origin())
        return self._computed(node, f"{factor} * x")

    def _numbers(self) -> Node:
        """The node, of truths as the numbers 1 and 0."""
        node = self.node()
        return numbers(node, users_origin()) if are_truths(node) else node

    def _connected(self, other: Any, connective: Connective, title: str) -> Self:
        _require_truths(self, title)
        _require_truths(other, title)
        operand = as_operand(other, title)
        shape = _broadcast(self.shape, operand.shape, title)
        if isinstance(operand, TensorMethods):
            _require_same_runner(self, operand)
        right = operand.node() if isinstance(operand, TensorMethods) else operand
        return self._computed(connective(self.node(), right, shape, users_origin()), title)

    def _matrix_product(
        self, left: TensorMethods | NDArray[np.float64], right: TensorMethods | NDArray[np.float64]
    ) -> Self:
        a, b = left.shape, right.shape
        columns = b[-2] if len(b) > 1 else b[0] if b else 0
        if not a or not b or a[-1] != columns:
            raise ShapeMismatchError(f"cannot matmul: the shapes {a} and {b} do not fit")
        if 0 in a + b:
            raise ShapeMismatchError(
                f"cannot matmul: expected matrices with elements, got the shapes {a} and {b}; "
                "compute with those that have some"
            )
        batch = _broadcast(a[:-2], b[:-2], "matmul")
        labels = _BATCH_LABELS[: len(batch)]
        terms = [
            labels[len(batch) - max(len(a) - 2, 0) :] * (len(a) > 2)
            + ("yx" if len(a) > 1 else "x"),
            labels[len(batch) - max(len(b) - 2, 0) :] * (len(b) > 2)
            + ("xz" if len(b) > 1 else "x"),
        ]
        output = labels + "y" * (len(a) > 1) + "z" * (len(b) > 1)
        shape = batch + a[-2:-1] + (b[-1:] if len(b) > 1 else ())
        return self._contracted((left, right), terms, output, shape, "matmul")

    def _by_diagonals(self, matrix: Any) -> Self | None:
        """The product of a sparse matrix with this one by its diagonals, where that costs less."""
        diagonals = diagonals_of(matrix, self.ndim, "matmul")
        if diagonals is None:
            return None
        refuse_sums_of_truths("matmul", self, np.empty(0, matrix.dtype))
        product: Self = diagonals.times(self)
        return product

    def _contracted(
        self,
        operands: Sequence[TensorMethods | NDArray[np.float64]],
        terms: Sequence[str],
        output: str,
        shape: tuple[int, ...],
        title: str,
    ) -> Self:
        nodes: list[Node | NDArray[np.float64]] = []
        for each in operands:
            if isinstance(each, TensorMethods):
                _require_same_runner(self, each)
            nodes.append(each.node() if isinstance(each, TensorMethods) else each)
        node = Contract(tuple(nodes), tuple(terms), output, shape, users_origin())
        return self._computed(node, title)

    def _computed(self, node: Node, title: str) -> Self:
        result: Self = self.runner.compute(node, title)
        return result


def _known(part: Any) -> Any:
    """A part of an index, of frames an array of it."""
    return clear_numbers(part, "index") if is_frame(part) else part


def _refuse(what: str) -> NoReturn:
    raise InvalidArgumentError(
        f"cannot compute {what}: no polynomial of the numbers does this exactly; decrypt first, or "
        "use sums, differences and products"
    )


def is_truths(operand: Any) -> bool:
    """Whether an operand is true and false, as numpy's booleans are: a comparison, or clear."""
    if isinstance(operand, TensorMethods):
        return are_truths(operand.node())
    return real_numbers(operand, "compute").dtype.kind == "b"


def are_all_truths(*operands: Any) -> bool:
    """Whether numpy would take all operands for booleans."""
    return all(map(is_truths, operands))


def _refuse_matrix_product(other: object) -> None:
    """Refuse `*` of what numpy and scipy multiply as matrices: a tensor's own is elementwise."""
    if is_of_matrix_products(other):
        raise InvalidArgumentError(
            f"cannot multiply by *: expected numbers or an array, got {type(other).__name__}, of "
            "which * is the matrix product; write @ for that, or make it an array, by "
            "numpy.asarray(matrix) or sparse.toarray(), for the product of elements"
        )


def _require_truths(operand: Any, what: str) -> None:
    if not is_truths(operand):
        raise InvalidArgumentError(
            f"cannot compute {what}: expected comparisons of encrypted tensors, such as x > 0, or "
            f"clear booleans, got {shown(operand)}; compare it first, or write x * y and 1 - x of "
            "numbers that are known to be 0 or 1"
        )


def refuse_of_truths(what: str, *operands: Any) -> None:
    """Refuse what numpy refuses of booleans, or does otherwise than of numbers.

    Raises:
        InvalidArgumentError: All operands are truths.
    """
    if are_all_truths(*operands):
        raise InvalidArgumentError(
            f"cannot compute {what}: expected numbers, got comparisons, which are booleans as "
            "numpy's are; write 1.0 * (x > 0) for the number 1 or 0, ~ for its contrary, and x ^ y "
            "for where two differ"
        )


def refuse_sums_of_truths(action: str, *operands: Any) -> None:
    """Refuse sums of products that are disjunctions as numpy has it.

    Raises:
        InvalidArgumentError: All operands are truths.
    """
    if are_all_truths(*operands):
        raise InvalidArgumentError(
            f"cannot {action}: expected numbers, got comparisons, whose sums of products are "
            "numpy's of booleans: true where any is; multiply one by 1.0 first to count them, as "
            "in 1.0 * (x > 0)"
        )


def numbered(shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The numbers of the elements of a tensor, in its shape."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(shape)


def rearranged(x: TensorMethods, elements: Any, title: str) -> Any:
    """The tensor of the elements that are named, in the shape of their numbers.

    Raises:
        ShapeMismatchError: Nothing is left.
    """
    chosen = np.asarray(elements, dtype=np.int64)
    if not chosen.size:
        what = "index" if title == "x[...]" else title
        raise ShapeMismatchError(f"cannot {what} a tensor of shape {x.shape}: nothing is left")
    return x.runner.compute(Rearrange(x.node(), chosen, users_origin()), title)


def _reshaped(node: Node, shape: tuple[int, ...]) -> Rearrange:
    count = math.prod(shape)
    return Rearrange(node, np.arange(count, dtype=np.int64).reshape(shape), users_origin())


def as_operand(other: Any, action: str) -> TensorMethods | NDArray[np.float64]:
    """A tensor as it is, and anything else as a clear array.

    Raises:
        NotRealError: It is neither a tensor nor real numbers.
        NotFiniteError: There is a NaN or an infinity.
        InputNameError: It is a frame with labels of an argument's columns in another order.
    """
    return other if isinstance(other, TensorMethods) else clear_operand(other, action)


def _require_same_runner(left: TensorMethods, right: TensorMethods) -> None:
    if left.runner != right.runner:
        raise ParametersMismatchError(
            "cannot compute: the operands are of different sessions or evaluators"
        )


def _broadcast(left: tuple[int, ...], right: tuple[int, ...], title: str) -> tuple[int, ...]:
    if 0 in left + right:
        raise ShapeMismatchError(f"cannot compute {title}: an operand has no elements")
    try:
        return np.broadcast_shapes(left, right)
    except ValueError as error:
        raise ShapeMismatchError(
            f"cannot compute {title}: the shapes {left} and {right} do not fit"
        ) from error


def axes_of(axis: int | Sequence[int] | None, ndim: int, action: str) -> set[int]:
    """The numbers of axes from 0 on; of all where None is given.

    Raises:
        InvalidArgumentError: There is no such axis, or one comes twice.
    """
    if axis is None:
        return set(range(ndim))
    several = axis if isinstance(axis, Sequence) else (axis,)
    found = [axis_number(each, ndim, action) for each in several]
    if len(set(found)) < len(found):
        raise InvalidArgumentError(f"cannot {action}: an axis comes twice in {shown(axis)}")
    return set(found)


def axis_number(axis: Any, ndim: int, action: str) -> int:
    """The number of an axis from 0 on.

    Raises:
        InvalidArgumentError: There is no such axis.
    """
    if not ndim:
        raise InvalidArgumentError(
            f"cannot {action} along the axis {shown(axis)}: the tensor is one number, without axes"
        )
    try:
        number = operator.index(axis)
    except TypeError:
        number = ndim
    if isinstance(axis, bool) or not -ndim <= number < ndim:
        raise InvalidArgumentError(
            f"cannot {action}: expected an axis from {-ndim} to {ndim - 1}, got {shown(axis)}"
        )
    return number % ndim
