"""Functions of integers that are products of whole matrices as programs over slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cloakwork.frontends.circuit.inputs import Declared, signed_range
from cloakwork.frontends.circuit.matrices import Whole
from cloakwork.frontends.circuit.products import Products
from cloakwork.frontends.circuit.result_bits import Results
from cloakwork.plan.circuits.function_ranges import Range
from cloakwork.plan.matmul.expression import Expression
from cloakwork.plan.matmul.integer_expressions import integer_expression, integer_expressions_plan
from cloakwork.plan.parameters.bgv import IntegerOptions
from cloakwork.programs.matrices import MatrixPlace
from cloakwork.programs.packing.matrix import ListedMatrixPacking, PlacedMatrix
from cloakwork.programs.packing.results import Form, Keyed
from cloakwork.programs.port import Port
from cloakwork.runtime.program import Program
from cloakwork.schemes.bgv import Bgv

# Multiplications of numbers up to which a plan of single numbers takes fewer ciphertexts.
_FEW = 1000


@dataclass(frozen=True, slots=True)
class LargeProducts:
    """A function whose products of matrices are planned as such.

    Args:
        products: What it is.
        declared: Its inputs by name.
        expressions: Its results as the planner of matrices reads them.
    """

    products: Products
    declared: Mapping[str, Declared]
    expressions: Sequence[Expression]

    @property
    def results(self) -> Results:
        """Its results."""
        return Results(self.products.title, [*self.declared], self.products.ranges)

    def program(
        self, bounds: Mapping[str, Range], options: IntegerOptions, *, wrapping: bool
    ) -> Program:
        """Its program, of inputs within bounds.

        Raises:
            CircuitTooDeepError: No parameters take as many products in a row.
            KeyBudgetError: The fewest keys that will do take more than the budget.
        """
        assert not wrapping
        products, declared = self.products, self.declared
        plan = integer_expressions_plan(products.title, self.expressions, options)
        inputs = tuple(
            Port(name, "integer", 0, each.shape, *bounds[name]) for name, each in declared.items()
        )
        names = [*declared]
        placed: list[PlacedMatrix] = []
        for source, place in plan.operands:
            name = products.sources[source]
            placed.append(PlacedMatrix(names.index(name), _of_shape(place, declared[name].shape)))
        results = tuple(
            _of_shape(place, whole.shape)
            for place, whole in zip(plan.results, products.results, strict=True)
        )
        packing = ListedMatrixPacking(
            inputs,
            _outputs(products.form, products.results, options.bits),
            tuple(placed),
            results,
            products.form,
            bits=options.bits,
            ranges=products.ranges(bounds),
        )
        scheme = Bgv(plan.parameter_sets, public_inputs=options.public_inputs)
        return Program(scheme, plan.program, packing)


def large_products(
    products: Products | None, declared: Mapping[str, Declared]
) -> LargeProducts | None:
    """Products that are planned as such: large ones of matrices that may lie anywhere.

    Args:
        products: What a function is, if it is products of matrices alone.
        declared: Its inputs by name.
    """
    if products is None or products.multiplications <= _FEW:
        return None
    if {*products.sources.values()} != declared.keys() or any(
        each.slots is not None or each.grouped or not each.replicated for each in declared.values()
    ):
        return None
    read = [integer_expression(each.node) for each in products.results]
    expressions = [each for each in read if each is not None]
    if len(expressions) < len(read):
        return None
    return LargeProducts(products, declared, expressions)


def _of_shape(place: MatrixPlace, shape: tuple[int, ...]) -> MatrixPlace:
    """Where a vector lies whose column is a matrix, or a matrix itself."""
    return place if len(shape) > 1 else replace(place, order=(0,), sizes=shape)


def _outputs(form: Form, results: tuple[Whole, ...], bits: int) -> tuple[Port, ...]:
    """Results as ports, by the names of a dict where there is one."""
    names = [f"result{number}" for number in range(len(results))]
    if isinstance(form, Keyed) and len(form.parts) == len(results):
        names = [*form.parts]
    elif len(results) == 1:
        names = ["result"]
    return tuple(
        Port(name, "integer", 0, each.shape, *signed_range(bits))
        for name, each in zip(names, results, strict=True)
    )
