"""einsum on encrypted tensors: parse the expression, plan it, apply the plan."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cloakwork.errors import (
    EinsumSyntaxError,
    InvalidArgumentError,
    LevelExhaustedError,
    ParametersMismatchError,
    TooManySlotsError,
)
from cloakwork.frontends.einsum_syntax import Expression, parse, sizes
from cloakwork.plan.contraction import Clear, Encrypted, Gather, Recipe, Weigh, plan
from cloakwork.plan.layout import Axis, Layout
from cloakwork.plan.permute import StridedMap, diagonals
from cloakwork.plan.rotate import cheapest_split, sum_steps
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Output,
    Program,
    Rescale,
    Rotate,
    Vector,
)
from cloakwork.runtime.arguments import shown
from cloakwork.runtime.arrays import real_array
from cloakwork.runtime.tensor import Runner, Tensor


def einsum(expression: str, *operands: Tensor | ArrayLike) -> Tensor:
    """Contract one or two tensors, at least one of them encrypted, as `numpy.einsum` does.

    Sums, transposes, diagonals, traces, products slot by slot, matrix products and
    outer products are all einsums. Everything must fit one ciphertext; see
    docs/einsum.md for what a plan costs.

    Args:
        expression: As in numpy, without ellipsis: "bi,ci->bc".
        operands: One or two; encrypted tensors of one session, or clear real arrays.

    Returns:
        An encrypted tensor of the result's shape, up to two levels below the operands.

    Raises:
        EinsumSyntaxError: The expression does not follow the language.
        ShapeMismatchError: The operands do not fit the expression.
        TooManySlotsError: The contraction needs more slots than one ciphertext has.
        LevelExhaustedError: The operands have too few levels left.
        ParametersMismatchError: The operands are of different sessions.
        MissingKeyError: The evaluator lacks a key that the plan needs.
        NotRealError: A clear operand is complex, text or objects.
        NotFiniteError: A clear operand has a NaN or an infinity.
        InvalidArgumentError: No operand is encrypted, or one has nobody to run on.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, backend="clear")
        >>> x = session.encrypt([[1.0, 2.0], [3.0, 4.0]])
        >>> session.decrypt(cw.einsum("ij,j->i", x, [10.0, 1.0])).tolist()
        [12.0, 34.0]
    """
    if not isinstance(expression, str):
        raise EinsumSyntaxError(
            "cannot einsum: expected an expression such as 'ij->ji' first and the operands after "
            f"it, got {shown(expression)} first"
        )
    parsed = parse(expression)
    read = [
        operand if isinstance(operand, Tensor) else real_array(operand, f"einsum {expression!r}")
        for operand in operands
    ]
    size_of = sizes(parsed, [operand.shape for operand in read])
    encrypted = [operand for operand in read if isinstance(operand, Tensor)]
    clear = [
        (labels, operand)
        for labels, operand in zip(parsed.inputs, read, strict=True)
        if not isinstance(operand, Tensor)
    ]
    runner = _runner(parsed, encrypted)
    described = tuple(
        Encrypted(labels, operand.layout, operand.level)
        if isinstance(operand, Tensor)
        else Clear(labels, operand.shape)
        for labels, operand in zip(parsed.inputs, read, strict=True)
    )
    try:
        recipe = plan(described, parsed.output, size_of)
    except (TooManySlotsError, LevelExhaustedError) as error:
        raise type(error)(parsed.at(0, str(error))) from None
    weights = (
        _summed(clear[0][1], clear[0][0], recipe.weigh.kept)
        if recipe.weigh is not None
        else np.ones(1)
    )
    program = _lower(parsed, recipe, encrypted, weights)
    (value,) = runner.run(program, [tensor.value for tensor in encrypted])
    return Tensor(value, recipe.output, runner.parameters, runner, program)


def _lower(
    expression: Expression, recipe: Recipe, encrypted: Sequence[Tensor], weights: Vector
) -> Program:
    slots = recipe.output.slots
    builder = Builder(f"einsum {expression.text}", slots)
    inputs = [
        builder.append(Input(f"operand{number}", tensor.level), tensor.layout)
        for number, tensor in enumerate(encrypted)
    ]
    values = [
        _gathered(builder, value, gather, slots)
        for value, gather in zip(inputs, recipe.gathers, strict=True)
    ]
    value = values[0]
    if recipe.weigh is not None:
        value = _weighed(builder, value, recipe.weigh, weights, slots)
    if len(values) == 2:
        value = _product(builder, values[0], values[1])
    for axis in recipe.reduce:
        value = _summed_along(builder, value, axis, slots)
    builder.append(Output(value), recipe.output)
    return builder.finish()


def _runner(expression: Expression, encrypted: Sequence[Tensor]) -> Runner:
    if not encrypted:
        raise InvalidArgumentError(
            expression.at(0, "no operand is encrypted; numpy.einsum does this")
        )
    runner = encrypted[0].runner
    if any(tensor.runner is not runner for tensor in encrypted):
        raise ParametersMismatchError(
            expression.at(0, "the operands are of different sessions or evaluators")
        )
    if runner is None:
        raise InvalidArgumentError(
            expression.at(0, "a client's tensor has nobody to run on; load it with an evaluator")
        )
    return runner


def _summed(array: Vector, labels: str, kept: str) -> Vector:
    return np.ascontiguousarray(np.einsum(f"{labels}->{kept}", array)).ravel()


def _gathered(builder: Builder, value: int, gather: Gather, slots: int) -> int:
    for axis in gather.sums:
        value = _summed_along(builder, value, axis, slots)
    if gather.move is not None:
        value = _moved(builder, value, gather.move, np.ones(1), None, slots)
    for axis in gather.copies:
        value = _summed_along(builder, value, Axis(axis.size, -axis.stride), slots)
    return value


def _weighed(builder: Builder, value: int, weigh: Weigh, weights: Vector, slots: int) -> int:
    return _moved(builder, value, weigh.strided, weights, weigh.layout, slots)


def _moved(
    builder: Builder,
    value: int,
    strided: StridedMap,
    weights: Vector,
    layout: Layout | None,
    slots: int,
) -> int:
    vectors = diagonals(strided, slots, weights)
    if set(vectors) == {0}:
        constant = builder.append(Constant(vectors[0]))
        product = builder.append(Mul(value, constant))
    else:
        baby_steps = cheapest_split(vectors, slots).baby_steps
        product = builder.append(Linear(value, vectors, baby_steps))
    return builder.append(Rescale(product), layout)


def _product(builder: Builder, left: int, right: int) -> int:
    level = min(builder.level(left), builder.level(right))
    factors = [
        builder.append(DropLevel(value, level)) if builder.level(value) > level else value
        for value in (left, right)
    ]
    return builder.append(Rescale(builder.append(Mul(factors[0], factors[1]))))


def _summed_along(builder: Builder, value: int, axis: Axis, slots: int) -> int:
    first = value
    for step in sum_steps(axis):
        turned = builder.append(Rotate(value, step.rotation % slots))
        value = builder.append(Add(first if step.onto_first else value, turned))
    return value
