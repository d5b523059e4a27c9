"""Circuits that are linear in an input, computed from both ends at once.

A result that is linear in the scalars of an input is a sum over any cut through what depends on
them: each value at the cut times all that multiplies it on its ways to the result. What lies
above the cut is then multiplied from the result down, beginning while the values below it are
made, so that the two halves of the depth pass at the same time. A chain of choices among values,
each by another bit, becomes choices among choices, weighted by products of bits.

What multiplies a value is the derivative of the result by it, found in reverse order as any
gradient is (Linnainmaa 1976, "Taylor expansion of the accumulated rounding error"; for linear
programs that is transposition, Bordewijk 1956, "Inter-reciprocity applied to electrical networks").
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from cloakwork.plan.circuits.forms import (
    FormBuilder,
    Forms,
    InputNode,
    IntegerForm,
    ProductNode,
    SumNode,
    forms_of,
    primitive_of,
)

# How many times the products of the circuit as it was a cut may take.
_MOST_PRODUCTS = 2.0
# Two products in a row take as many levels however they are cut, and of deep circuits not every
# height is tried.
_LEAST_DEPTH = 3
_MOST_HEIGHTS = 8


def cut_forms(forms: Forms) -> Iterator[Forms]:
    """The circuit cut at every height and along every input where that saves depth.

    Example:
        >>> from cloakwork.plan.circuits.forms import forms_of_circuit
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput
        >>> from cloakwork.programs.ir.circuits import ScalarProduct, Sum
        >>> builder = CircuitBuilder("Horner's rule")
        >>> (x,), bits = builder.input(CircuitInput("x")), builder.input(CircuitInput("b", (3,)))
        >>> value = x
        >>> for bit in bits:
        ...     value = builder.append(Sum(x, builder.append(ScalarProduct(bit, value))))
        >>> builder.output("y", (), (value,))
        >>> forms = forms_of_circuit(builder.finish(), factors=True, shares_inputs=True)
        >>> max(forms.levels), {max(cut.levels) for cut in cut_forms(forms)}
        (3, {2})
    """
    depth = forms.depth()
    if depth < _LEAST_DEPTH:
        return
    most = _MOST_PRODUCTS * forms.products()
    for declared in forms.circuit.inputs:
        depends = _dependent(forms, declared.name)
        if depends is None:
            continue
        heights = range(0, depth, 1 + depth // _MOST_HEIGHTS)
        for height, shares in product(heights, (True, False)):
            cut = _Cut(forms, depends, height, shares).forms()
            if cut.depth() < depth and cut.products() <= most:
                yield cut


def _dependent(forms: Forms, name: str) -> list[bool] | None:
    """Which nodes depend on an input; None where none does, or one not linearly."""
    depends: list[bool] = []
    for node in forms.nodes:
        sides = [any(depends[term] for term, _ in form.terms) for form in forms_of(node)]
        depends.append(any(sides) or (isinstance(node, InputNode) and node.input == name))
    live = [number for number in forms.live if depends[number]]
    for number in live:
        node = forms.nodes[number]
        if isinstance(node, ProductNode) and all(
            any(depends[term] for term, _ in form.terms) for form in forms_of(node)
        ):
            return None
    return depends if live else None


class _Cut:
    """A circuit cut where values that depend on an input have had so many products.

    Args:
        forms: The circuit.
        depends: Which of its nodes depend on the input.
        height: Products that values below the cut have had at most.
        shares: Whether sums that are multiplied are computed once, each by itself, or for every
            product where it lies.
    """

    def __init__(self, forms: Forms, depends: list[bool], height: int, shares: bool) -> None:
        self._old = forms
        self._depends = depends
        self._height = height
        self._shares = shares
        self._builder = FormBuilder(forms.circuit)
        self._copies: dict[int, IntegerForm] = {}
        for number in forms.live:
            if not depends[number] or forms.levels[number] <= height:
                self._copies[number] = self._copy(number)

    def forms(self) -> Forms:
        """The circuit, cut."""
        made = self._builder.forms
        for form in self._old.outputs:
            total = self._result(form)
            if total.terms and total.node is None:
                total = IntegerForm(((self._builder.node(SumNode(total)), 1),))
            made.outputs.append(total)
        return made

    def _result(self, form: IntegerForm) -> IntegerForm:
        # What each node that depends on the input is multiplied by on its ways to the result.
        weights: dict[int, IntegerForm] = {}
        # At the cut, values by what they are multiplied by, so that one product serves all.
        values: dict[IntegerForm, IntegerForm] = {}
        self._spread(form, IntegerForm((), 1), weights, values)
        while weights:
            number = max(weights)
            weight = weights.pop(number)
            node = self._old.nodes[number]
            if isinstance(node, SumNode):
                self._spread(node.form, weight, weights, values)
            elif isinstance(node, ProductNode) and self._old.levels[number] > self._height:
                factor, rest = self._sides(node)
                self._spread(rest, self._times(weight, self._form(factor)), weights, values)
            else:
                _add(values, weight, self._copies[number])
        total = IntegerForm(())
        for weight, value in values.items():
            total = total.plus(self._times(weight, value))
        return total

    def _spread(
        self,
        form: IntegerForm,
        weight: IntegerForm,
        weights: dict[int, IntegerForm],
        values: dict[IntegerForm, IntegerForm],
    ) -> None:
        """Give the terms of a form their weight; what does not depend on the input is a value."""
        clear = IntegerForm((), form.constant)
        for term, coefficient in form.terms:
            if self._depends[term]:
                weights[term] = weights.get(term, IntegerForm(())).plus(weight.scaled(coefficient))
            else:
                clear = clear.plus(self._copies[term].scaled(coefficient))
        _add(values, weight, clear)

    def _sides(self, node: ProductNode) -> tuple[IntegerForm, IntegerForm]:
        """The factor that does not depend on the input, and the one that does."""
        if any(self._depends[term] for term, _ in node.left.terms):
            return node.right, node.left
        return node.left, node.right

    def _times(self, one: IntegerForm, other: IntegerForm) -> IntegerForm:
        builder = self._builder
        if self._shares and one.terms and other.terms:
            one, other = builder.shared(one), builder.shared(other)
        return builder.product(one, other)

    def _form(self, form: IntegerForm) -> IntegerForm:
        """A form of the circuit as it was, in the new one."""
        total = IntegerForm((), form.constant)
        for term, coefficient in form.terms:
            total = total.plus(self._copies[term].scaled(coefficient))
        return total

    def _copy(self, number: int) -> IntegerForm:
        """A node of the circuit as it was, in the new one; what it is made of is there."""
        builder, node = self._builder, self._old.nodes[number]
        match node:
            case InputNode():
                return IntegerForm(((builder.node(node), 1),))
            case SumNode(form=form):
                return builder.shared(self._form(form))
            case ProductNode(left=left, right=right):
                return builder.product(self._form(left), self._form(right))


def _add(values: dict[IntegerForm, IntegerForm], weight: IntegerForm, value: IntegerForm) -> None:
    """One more value that is multiplied by a weight, which may be a multiple of another."""
    if weight.terms:
        times, weight = primitive_of(weight)
    else:
        times, weight = weight.constant, IntegerForm((), 1)
    values[weight] = values.get(weight, IntegerForm(())).plus(value.scaled(times))
