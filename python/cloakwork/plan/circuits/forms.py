"""Circuits as products of linear forms: the shape in which lanes are looked for.

A form is a sum of multiples of nodes plus an integer. A node is a scalar of an input, a product
of two forms, or a sum that is computed once and used in several places. Between products all
sums are one flat sum, whatever order the user added in.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from cloakwork.programs.ir.circuits import (
    Difference,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarProduct,
    Sum,
    operands_of,
)


@dataclass(frozen=True, slots=True)
class IntegerForm:
    """A sum of integer multiples of nodes, each node once in order of appearance, plus an integer.

    Example:
        >>> IntegerForm(((0, 2), (1, -2)), 4).scaled(3)
        IntegerForm(terms=((0, 6), (1, -6)), constant=12)
    """

    terms: tuple[tuple[int, int], ...]
    constant: int = 0

    def scaled(self, factor: int) -> IntegerForm:
        """The form times an integer."""
        if factor == 0:
            return IntegerForm(())
        return IntegerForm(
            tuple((node, coefficient * factor) for node, coefficient in self.terms),
            self.constant * factor,
        )

    def plus(self, other: IntegerForm) -> IntegerForm:
        """The sum of two forms."""
        if not self.terms:
            return IntegerForm(other.terms, self.constant + other.constant)
        total = dict(self.terms)
        for node, coefficient in other.terms:
            total[node] = total.get(node, 0) + coefficient
        terms = tuple((node, coefficient) for node, coefficient in total.items() if coefficient)
        return IntegerForm(terms, self.constant + other.constant)

    @property
    def node(self) -> int | None:
        """The node that the form is, where it is one and nothing else."""
        if len(self.terms) == 1 and self.terms[0][1] == 1 and not self.constant:
            return self.terms[0][0]
        return None


@dataclass(frozen=True, slots=True)
class InputNode:
    """A scalar of an input."""

    input: str
    index: int


@dataclass(frozen=True, slots=True)
class ProductNode:
    """The product of two forms."""

    left: IntegerForm
    right: IntegerForm


@dataclass(frozen=True, slots=True)
class SumNode:
    """A form that is computed once."""

    form: IntegerForm


Node: TypeAlias = InputNode | ProductNode | SumNode


def forms_of(node: Node) -> tuple[IntegerForm, ...]:
    """The forms that a node is made of."""
    match node:
        case InputNode():
            return ()
        case ProductNode(left=left, right=right):
            return (left, right)
        case SumNode(form=form):
            return (form,)


@dataclass
class Forms:
    """A circuit as nodes, in an order of evaluation, and the form of each scalar of its outputs.

    Args:
        circuit: The circuit.
        nodes: The nodes; those that no output needs are left in.
        outputs: The form of every scalar of every output, in order; each is an integer alone
            or a node alone.
    """

    circuit: ScalarCircuit
    nodes: list[Node] = field(default_factory=list)
    outputs: list[IntegerForm] = field(default_factory=list)

    @cached_property
    def live(self) -> list[int]:
        """The nodes that the outputs need, in order."""
        needed = {node for form in self.outputs for node, _ in form.terms}
        for number in range(len(self.nodes) - 1, -1, -1):
            if number in needed:
                for form in forms_of(self.nodes[number]):
                    needed.update(node for node, _ in form.terms)
        return sorted(needed)

    def products(self) -> int:
        """The products that the outputs need."""
        return sum(isinstance(self.nodes[number], ProductNode) for number in self.live)

    @cached_property
    def levels(self) -> list[int]:
        """For every node, the most products on a way from an input to it."""
        levels: list[int] = []
        for node in self.nodes:
            below = [levels[term] for form in forms_of(node) for term, _ in form.terms]
            levels.append(max(below, default=0) + isinstance(node, ProductNode))
        return levels

    def depth(self) -> int:
        """The most products in a row that the outputs need."""
        return max((self.levels[number] for number in self.live), default=0)


@dataclass(frozen=True, slots=True)
class _Share:
    """A term of a sum as factor * cofactor * times + cofactor * rest."""

    factor: IntegerForm
    cofactor: IntegerForm
    times: int
    rest: int


class FormBuilder:
    """Makes nodes, each once."""

    def __init__(self, circuit: ScalarCircuit) -> None:
        self.forms = Forms(circuit)
        self._numbers: dict[Node, int] = {}
        self._levels: list[int] = []

    def node(self, node: Node) -> int:
        """The number of a node."""
        number = self._numbers.get(node)
        if number is None:
            number = self._numbers[node] = len(self.forms.nodes)
            self.forms.nodes.append(node)
            below = [self.level(form) for form in forms_of(node)]
            self._levels.append(max(below, default=0) + isinstance(node, ProductNode))
        return number

    def level(self, form: IntegerForm) -> int:
        """The most products on a way to a form."""
        return max((self._levels[node] for node, _ in form.terms), default=0)

    def shared(self, form: IntegerForm) -> IntegerForm:
        """The form as one node, so that it is computed once."""
        if len(form.terms) < 2 and not form.constant:
            return form
        divisor, primitive = primitive_of(form)
        return IntegerForm(((self.node(SumNode(primitive)), divisor),))

    def product(self, left: IntegerForm, right: IntegerForm) -> IntegerForm:
        """The product of two forms."""
        for one, other in ((left, right), (right, left)):
            if not one.terms:
                return other.scaled(one.constant)
        left_factor, left = primitive_of(left)
        right_factor, right = primitive_of(right)
        if _order(right) < _order(left):
            left, right = right, left
        return IntegerForm(((self.node(ProductNode(left, right)), left_factor * right_factor),))

    def product_of_all(self, factors: Sequence[IntegerForm]) -> IntegerForm:
        """The product of several forms, of the least depth; powers are made by squaring."""
        exponents = Counter(factors)
        halves = [form for form, exponent in exponents.items() for _ in range(exponent // 2)]
        rest = [form for form, exponent in exponents.items() if exponent % 2]
        if halves:
            root = self.product_of_all(halves)
            rest.append(self.product(root, root))
        queue = [(self.level(form), number, form) for number, form in enumerate(rest)]
        heapq.heapify(queue)
        for number in range(len(rest), 2 * len(rest) - 1):
            made = self.product(heapq.heappop(queue)[2], heapq.heappop(queue)[2])
            heapq.heappush(queue, (self.level(made), number, made))
        return queue[0][2]

    def factored(self, form: IntegerForm) -> IntegerForm:
        """The same sum with common factors of its products taken out, the commonest first.

        So b * t + (1 - b) * f becomes f + b * (t - f).
        """
        while True:
            shares: dict[tuple[tuple[int, int], ...], dict[int, _Share]] = {}
            for number, coefficient in form.terms:
                for share in self._shares(number, coefficient):
                    shares.setdefault(share.factor.terms, {}).setdefault(number, share)
            if max(map(len, shares.values()), default=0) < 2:
                return form
            chosen = max(shares.values(), key=len)
            factor = next(iter(chosen.values())).factor
            form = IntegerForm(tuple(t for t in form.terms if t[0] not in chosen), form.constant)
            total = IntegerForm(())
            for share in chosen.values():
                cofactor = self.shared(share.cofactor) if share.rest else share.cofactor
                total = total.plus(cofactor.scaled(share.times))
                form = form.plus(cofactor.scaled(share.rest))
            form = form.plus(self.product(factor, self.factored(total)))

    def _shares(self, number: int, coefficient: int) -> Iterator[_Share]:
        node = self.forms.nodes[number]
        if isinstance(node, ProductNode):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                times, factor = primitive_of(IntegerForm(one.terms))
                yield _Share(factor, other, coefficient * times, coefficient * one.constant)


def forms_of_circuit(circuit: ScalarCircuit, *, factors: bool, shares_inputs: bool) -> Forms:
    """A circuit as products of forms.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput
        >>> builder = CircuitBuilder("one of two")
        >>> b, t, f = builder.input(CircuitInput("x", (3,)))
        >>> chosen, other = ScalarProduct(b, t), Difference(builder.append(Integer(1)), b)
        >>> other = builder.append(ScalarProduct(builder.append(other), f))
        >>> builder.output("y", (), (builder.append(Sum(builder.append(chosen), other)),))
        >>> for factors in (False, True):
        ...     forms_of_circuit(builder.finish(), factors=factors, shares_inputs=False).products()
        2
        1
    """
    return _CircuitReader(circuit, factors, shares_inputs).read()


def written_forms(circuit: ScalarCircuit) -> Iterator[Forms]:
    """A circuit as products of forms in every way, see `forms_of_circuit`; some may be alike."""
    # Without products none have factors in common, and what is used once is not shared.
    factored = any(isinstance(each, ScalarProduct) for each in circuit.operations)
    shared = any(len(users) > 1 for users in _users(circuit))
    ways = ((True, False) if is_open else (False,) for is_open in (factored, shared))
    for factors, shares_inputs in itertools.product(*ways):
        yield forms_of_circuit(circuit, factors=factors, shares_inputs=shares_inputs)


class _CircuitReader:
    def __init__(self, circuit: ScalarCircuit, factors: bool, shares_inputs: bool) -> None:
        self._circuit = circuit
        self._factors = factors
        self._shares_inputs = shares_inputs
        self._builder = FormBuilder(circuit)
        self._users = _users(circuit)

    def read(self) -> Forms:
        # A value whose only user extends it is left to that user: its terms, or its factors.
        terms: dict[int, IntegerForm] = {}
        factors: dict[int, list[IntegerForm]] = {}
        operations = self._circuit.operations
        for number, operation in enumerate(operations):
            if not self._users[number]:
                continue
            is_product = isinstance(operation, ScalarProduct)
            if is_product:
                factors[number] = [
                    factor
                    for operand in operands_of(operation)
                    for factor in factors.get(operand) or [terms[operand]]
                ]
            elif isinstance(operation, Scalar | Integer):
                terms[number] = self._leaf(operation)
            user = operations[self._users[number][0]] if self._users[number][0] >= 0 else None
            if len(self._users[number]) == 1 and user is not None:
                # A square is of one value: to write out its factors would double them each time.
                if is_product and isinstance(user, ScalarProduct) and user.left != user.right:
                    continue
                if not is_product and isinstance(user, Sum | Difference | Negative):
                    continue
            if is_product:
                terms[number] = self._builder.product_of_all(factors.pop(number))
            else:
                form = self._sum(number, terms)
                terms[number] = self._finished(form, len(self._users[number]))
        forms = self._builder.forms
        for output in self._circuit.outputs:
            for value in output.values:
                form = terms[value]
                if form.terms and form.node is None:
                    form = IntegerForm(((self._builder.node(SumNode(form)), 1),))
                forms.outputs.append(form)
        return forms

    def _leaf(self, operation: Scalar | Integer) -> IntegerForm:
        if isinstance(operation, Integer):
            return IntegerForm((), operation.value)
        node = self._builder.node(InputNode(operation.input, operation.index))
        return IntegerForm(((node, 1),))

    def _sum(self, number: int, terms: Mapping[int, IntegerForm]) -> IntegerForm:
        """A value, with the sums written out that are left to it."""
        total: dict[int, int] = {}
        constant = 0
        waiting = [(number, 1)]
        while waiting:
            value, sign = waiting.pop()
            known = terms.get(value)
            if known is not None:
                constant += sign * known.constant
                for node, coefficient in known.terms:
                    total[node] = total.get(node, 0) + sign * coefficient
                continue
            match self._circuit.operations[value]:
                case Sum(left=left, right=right):
                    waiting += [(right, sign), (left, sign)]
                case Difference(left=left, right=right):
                    waiting += [(right, -sign), (left, sign)]
                case Negative(operand=operand):
                    waiting.append((operand, -sign))
                case _:
                    raise AssertionError("products and what they are of are known")
        written = tuple((node, coefficient) for node, coefficient in total.items() if coefficient)
        return IntegerForm(written, constant)

    def _finished(self, form: IntegerForm, users: int) -> IntegerForm:
        if self._factors:
            form = self._builder.factored(form)
        is_worth_it = users > 1 and len(form.terms) > 1
        if is_worth_it and (self._shares_inputs or self._builder.level(form)):
            return self._builder.shared(form)
        return form


def _users(circuit: ScalarCircuit) -> list[list[int]]:
    """The operations that use each value and are needed themselves; -1 is an output."""
    users: list[list[int]] = [[] for _ in circuit.operations]
    for output in circuit.outputs:
        for value in output.values:
            users[value].append(-1)
    for number in range(len(users) - 1, -1, -1):
        if users[number]:
            for operand in set(operands_of(circuit.operations[number])):
                users[operand].append(number)
    return users


def primitive_of(form: IntegerForm) -> tuple[int, IntegerForm]:
    """What all coefficients have in common, with the sign of the first, and the rest."""
    divisor = math.gcd(*(coefficient for _, coefficient in form.terms), form.constant)
    divisor *= -1 if form.terms[0][1] < 0 else 1
    if divisor == 1:
        return 1, form
    terms = tuple((node, coefficient // divisor) for node, coefficient in form.terms)
    return divisor, IntegerForm(terms, form.constant // divisor)


def _order(form: IntegerForm) -> tuple[tuple[tuple[int, int], ...], int]:
    return form.terms, form.constant
