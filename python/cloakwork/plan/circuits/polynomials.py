"""Functions of one integer of a small range as polynomials modulo primes, in a scalar circuit.

A function of n values is a polynomial of a degree below n. Where it is even or odd about the middle
of its range it is one of half the degree in the square of the distance from there (Iliashenko and
Zucca, PoPETs 2021, section 4). It is evaluated with about twice the square root of its degree in
products, and as deep as the logarithm of it (Paterson and Stockmeyer, SIAM Journal on Computing 2,
1973).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from cloakwork.plan.circuits.interpolation import interpolated_modulo
from cloakwork.programs.ir.circuits import CircuitBuilder, Difference, Integer, ScalarProduct, Sum

# Values of even and odd functions up to which a polynomial in the number itself may be cheaper.
_FEW = 16


@dataclass(frozen=True, slots=True)
class Column:
    """The values of a function at consecutive integers.

    Args:
        least: The first of these.
        values: The value at each.
    """

    least: int
    values: tuple[int, ...]

    @property
    def twice_middle(self) -> int:
        """Twice the middle of its range."""
        return 2 * self.least + len(self.values) - 1


def step_column(most: int) -> Column:
    """Whether a number up to so far from 0 is less than that.

    It has one more below, so that both sides of the step are as long.
    """
    return Column(-most - 1, (1,) * (most + 1) + (0,) * (most + 1))


def unit_column(most: int) -> Column:
    """Whether a number up to so far from 0 is 0."""
    return Column(-most, (0,) * most + (1,) + (0,) * most)


@dataclass(frozen=True, slots=True)
class _Form:
    """A function as constant + odd * p(variable), where odd is 1 or the distance from the middle.

    Args:
        coefficients: Of p, the constant one first.
        is_square: Whether the variable is the square of the distance, or the number itself.
        is_odd: Whether p is multiplied by the distance.
        constant: What is added.
    """

    coefficients: tuple[int, ...]
    is_square: bool = False
    is_odd: bool = False
    constant: int = 0

    def products(self, sharing: int) -> int:
        """Products that it takes, with so many of its kind to share powers of the variable."""
        count = _cheapest_split(len(self.coefficients) - 1, sharing)[0]
        return count + self.is_square + (self.is_odd and len(self.coefficients) > 1)


class Polynomials:
    """Writes functions into a circuit as polynomials modulo primes.

    Args:
        builder: The circuit.
        primes: The primes, each greater than twice as many values as a function may have.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitInput
        >>> builder = CircuitBuilder("is it 0")
        >>> (x,) = builder.input(CircuitInput("x"))
        >>> polynomials = Polynomials(builder, [17])
        >>> builder.output("y", (), (polynomials.value(x, Column(-1, (0, 1, 0))),))
        >>> print(builder.finish())
        is it 0
          input x: scalar
          %0 = x
          %1 = %0 * %0
          %2 = 1
          %3 = -1
          %4 = %1 * %3
          %5 = %4 + %2
          output y: scalar = %5
    """

    def __init__(self, builder: CircuitBuilder, primes: Sequence[int]) -> None:
        self._builder = builder
        self._primes = primes
        self._forms: dict[tuple[Column, int], _Form] = {}

    def value(self, number: int, column: Column, sharing: int = 1) -> int:
        """A function of a value of the circuit, which is in the range of the column.

        Args:
            number: The value.
            column: What the function makes of it.
            sharing: How many functions of it there are, which share powers.
        """
        form = self._form(column, sharing)
        distance = self._distance(number, column) if form.is_square else number
        variable = self._times(distance, distance) if form.is_square else number
        made = self._polynomial(variable, form.coefficients, sharing)
        if form.is_odd:
            made = self._times(distance, made)
        return self._plus(made, form.constant)

    def _form(self, column: Column, sharing: int) -> _Form:
        known = self._forms.get((column, sharing))
        if known is None:
            forms = self._forms_of(column)
            known = min(forms, key=lambda each: (each.products(sharing), len(each.coefficients)))
            self._forms[column, sharing] = known
        return known

    def _forms_of(self, column: Column) -> Iterator[_Form]:
        """The forms that a function has."""
        values, count = column.values, len(column.values)
        half = range(count // 2, count)
        opposite = [(values[place], values[count - 1 - place]) for place in half]
        is_even = all(one == other for one, other in opposite)
        is_odd = all(one + other == values[0] + values[-1] for one, other in opposite)
        if count <= _FEW or not (is_even or is_odd):
            points = range(column.least, column.least + count)
            yield _Form(self._interpolated(points, values))
        distances = [_distance(column.least + place, column) for place in half]
        if is_even:
            squares = [each * each for each in distances]
            yield _Form(self._interpolated(squares, [one for one, _ in opposite]), is_square=True)
        if is_odd:
            apart = [one - other for one, other in opposite]
            yield self._odd_form(distances, apart, values[0] + values[-1])

    def _odd_form(self, distances: Sequence[int], apart: Sequence[int], total: int) -> _Form:
        """A function whose values on both sides of the middle have one total."""
        modulus = self.modulus
        pairs = [pair for pair in zip(distances, apart, strict=True) if pair[0]]
        squares = [distance * distance for distance, _ in pairs]
        slopes = [each * pow(2 * distance, -1, modulus) for distance, each in pairs]
        constant = self._centred(total * self.half)
        return _Form(self._interpolated(squares, slopes), True, True, constant)

    def _interpolated(self, points: Sequence[int], values: Sequence[int]) -> tuple[int, ...]:
        """The coefficients modulo the product of the primes, centred."""
        rows = [interpolated_modulo(points, values, prime) for prime in self._primes]
        return tuple(self._joined(residues) for residues in zip_longest(*rows, fillvalue=0))

    def _joined(self, residues: Sequence[int]) -> int:
        """An integer by its residues modulo the primes."""
        made, product = 0, 1
        for residue, prime in zip(residues, self._primes, strict=True):
            made += (residue - made) * pow(product, -1, prime) % prime * product
            product *= prime
        return self._centred(made)

    @property
    def modulus(self) -> int:
        """The product of the primes."""
        return math.prod(self._primes)

    @property
    def half(self) -> int:
        """What twice is 1 modulo the primes."""
        return (self.modulus + 1) // 2

    def _centred(self, number: int) -> int:
        half = self.modulus // 2
        return (number + half) % self.modulus - half

    def _distance(self, number: int, column: Column) -> int:
        """The distance from the middle; twice that, where it ends in a half."""
        if column.twice_middle % 2:
            number = self._times(number, self._known(2))
            return self._plus(number, -column.twice_middle)
        return self._plus(number, -column.twice_middle // 2)

    def _polynomial(self, variable: int, coefficients: Sequence[int], sharing: int) -> int:
        baby = _cheapest_split(len(coefficients) - 1, sharing)[1]
        return self._split(variable, coefficients, baby)

    def _split(self, variable: int, coefficients: Sequence[int], baby: int) -> int:
        """A polynomial with powers up to one written out, and those beyond by a giant step."""
        degree = len(coefficients) - 1
        if degree <= baby:
            return self._sum_of_powers(variable, coefficients)
        giant = _giant(degree, baby)
        high = self._split(variable, coefficients[giant:], baby)
        low = self._split(variable, _trimmed(coefficients[:giant]), baby)
        return self._plus_value(self._times(high, self._power(variable, giant)), low)

    def _sum_of_powers(self, variable: int, coefficients: Sequence[int]) -> int:
        made = self._known(coefficients[0])
        for exponent, coefficient in enumerate(coefficients):
            if exponent and coefficient:
                power = self._power(variable, exponent)
                term = self._times(power, self._known(coefficient))
                made = self._plus_value(term, made)
        return made

    def _power(self, variable: int, exponent: int) -> int:
        """A power as deep as the logarithm of its exponent."""
        if exponent == 1:
            return variable
        half = 1 << (exponent - 1).bit_length() - 1
        return self._times(self._power(variable, half), self._power(variable, exponent - half))

    def _known(self, number: int) -> int:
        return self._builder.append(Integer(number))

    def _is(self, number: int, value: int) -> bool:
        return self._builder.operations[number] == Integer(value)

    def _times(self, left: int, right: int) -> int:
        for one, other in ((left, right), (right, left)):
            if self._is(one, 1):
                return other
        return self._builder.append(ScalarProduct(left, right))

    def _plus(self, number: int, constant: int) -> int:
        if not constant:
            return number
        if constant < 0:
            return self._builder.append(Difference(number, self._known(-constant)))
        return self._builder.append(Sum(number, self._known(constant)))

    def _plus_value(self, left: int, right: int) -> int:
        return left if self._is(right, 0) else self._builder.append(Sum(left, right))


def _distance(point: int, column: Column) -> int:
    """The distance of an integer from the middle, doubled where that ends in a half."""
    if column.twice_middle % 2:
        return 2 * point - column.twice_middle
    return point - column.twice_middle // 2


def _giant(degree: int, baby: int) -> int:
    """The largest power of two times the largest exponent written out, up to a degree."""
    giant = baby
    while 2 * giant <= degree:
        giant *= 2
    return giant


def _cheapest_split(degree: int, sharing: int) -> tuple[int, int]:
    """The fewest products for polynomials of a degree, each with its share, and up to which power.

    Example:
        >>> _cheapest_split(255, 1)
        (33, 16)
    """
    exponents = [1 << place for place in range(max(degree, 1).bit_length())]
    return min((_products(degree, baby, sharing), baby) for baby in exponents)


def _products(degree: int, baby: int, sharing: int) -> int:
    """Products of so many polynomials that share their powers."""
    if degree < 1:
        return 0
    giants = _giant(degree, baby).bit_length() - baby.bit_length() if degree > baby else 0
    return min(degree, baby) - 1 + giants + sharing * _steps(degree, baby)


def _steps(degree: int, baby: int) -> int:
    """Products with giant steps; a constant times one is not counted."""
    if degree <= baby:
        return 0
    giant = _giant(degree, baby)
    return (degree > giant) + _steps(degree - giant, baby) + _steps(giant - 1, baby)


def _trimmed(coefficients: Sequence[int]) -> Sequence[int]:
    """Without zeros at the end."""
    count = max((place for place, each in enumerate(coefficients) if each), default=0) + 1
    return coefficients[:count]
