"""Sums of more terms than a vector has slots, as sums of shorter ones side by side."""

from __future__ import annotations

from cloakwork.plan.circuits.forms import (
    FormBuilder,
    Forms,
    InputNode,
    IntegerForm,
    Node,
    ProductNode,
    SumNode,
    forms_of,
)


def with_short_sums(forms: Forms, most_terms: int) -> Forms:
    """The same circuit without sums of more terms than that.

    The terms of a longer one are dealt out to as many sums as it may have terms, each in a slot of
    its own, whose sum it then is.

    Example:
        >>> from cloakwork.plan.circuits.forms import forms_of_circuit
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput, Sum
        >>> builder = CircuitBuilder("sum")
        >>> first, *others = builder.input(CircuitInput("v", (5,)))
        >>> for each in others:
        ...     first = builder.append(Sum(first, each))
        >>> builder.output("s", (), (first,))
        >>> forms = forms_of_circuit(builder.finish(), factors=False, shares_inputs=False)
        >>> made = with_short_sums(forms, 2)
        >>> [len(each.form.terms) for each in made.nodes if isinstance(each, SumNode)]
        [3, 2, 2]
    """
    longest = max((len(form.terms) for node in forms.nodes for form in forms_of(node)), default=0)
    if longest <= most_terms:
        return forms
    builder = FormBuilder(forms.circuit)
    numbers: list[int] = []

    def short(form: IntegerForm) -> IntegerForm:
        terms = tuple((numbers[node], coefficient) for node, coefficient in form.terms)
        if len(terms) <= most_terms:
            return IntegerForm(terms, form.constant)
        parts = [builder.shared(IntegerForm(terms[at::most_terms])) for at in range(most_terms)]
        return IntegerForm(tuple(part.terms[0] for part in parts), form.constant)

    for node in forms.nodes:
        made: Node = node
        match node:
            case ProductNode(left=left, right=right):
                made = ProductNode(short(left), short(right))
            case SumNode(form=form):
                made = SumNode(short(form))
            case InputNode():
                pass
        numbers.append(builder.node(made))
    builder.forms.outputs = [short(form) for form in forms.outputs]
    return builder.forms
