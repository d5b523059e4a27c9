"""einsum on encrypted tensors: parse the expression, find the order, hand it to the planner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.source_line import users_origin
from cloakwork.errors import (
    EinsumSyntaxError,
    LevelExhaustedError,
    ParametersMismatchError,
)
from cloakwork.frontends.tensors.clear_operands import clear_operand
from cloakwork.frontends.tensors.einsum_syntax import Expression, from_sublists, parse, sizes
from cloakwork.frontends.tensors.methods import Runner, TensorMethods, refuse_sums_of_truths
from cloakwork.plan.tensors.path import Step, contraction_path
from cloakwork.programs.ir.tensors import Contract, Node

if TYPE_CHECKING:
    from cloakwork.frontends.tensors.tensor import Tensor

# Slots by which the order of contractions is judged; what a session has makes no difference
# to which order is best but where sizes lie between the two.
_TYPICAL_SLOTS = 1 << 13


def einsum(expression: str, *operands: Tensor | ArrayLike, optimize: Any = None) -> Tensor:
    """Contract tensors, encrypted or not, as `numpy.einsum` does.

    Sums, transposes, diagonals, traces, products slot by slot, matrix products and
    outer products are all einsums; docs/einsum.md tells what a plan costs.

    Args:
        expression: As in numpy: "bi,ci->bc", "...ij,jk", "ii->i". numpy's other form,
            operands and lists of axis numbers in turn, is taken too.
        operands: Encrypted tensors of one session, or clear real arrays.
        optimize: As numpy's callers write it; the order of contractions is planned by the cost of
            encrypted operations in any case.

    Returns:
        An encrypted tensor of the result's shape: mostly one or two levels below the operands,
        at most three, for every contraction of two of them. Where no operand is encrypted, what
        `numpy.einsum` returns.

    Raises:
        EinsumSyntaxError: The expression does not follow the language.
        ShapeMismatchError: The operands do not fit the expression.
        LevelExhaustedError: The operands have too few levels left.
        MemoryBudgetError: The plan needs more memory than the session may take.
        ParametersMismatchError: The operands are of different sessions.
        MissingKeyError: The evaluator lacks a key that the plan needs.
        NotRealError: A clear operand is complex, text or objects.
        NotFiniteError: A clear operand has a NaN or an infinity.
        BoundOverflowError: By the bounds of the operands a number may wrap around the modulus;
            it is refused before anything is computed.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, backend="clear")
        >>> x = session.encrypt([[1.0, 2.0], [3.0, 4.0]])
        >>> session.decrypt(cw.einsum("ij,j->i", x, [10.0, 1.0])).tolist()
        [12.0, 34.0]
    """
    del optimize
    if not isinstance(expression, str):
        return _einsum_of_sublists(expression, *operands)
    read: list[TensorMethods | NDArray[np.float64]] = [
        operand
        if isinstance(operand, TensorMethods)
        else clear_operand(operand, f"einsum {expression!r}")
        for operand in operands
    ]
    shapes = [operand.shape for operand in read]
    parsed = parse(expression, tuple(len(shape) for shape in shapes))
    if len(operands) > 1 or set(parsed.inputs[0]) != set(parsed.output):
        refuse_sums_of_truths(f"einsum {expression!r}", *operands)
    size_of = dict(sizes(parsed, shapes))
    tensors = [each for each in read if isinstance(each, TensorMethods)]
    if not tensors:
        # A type checker, to which tensors are arrays, cannot tell this case.
        return cast("Tensor", np.einsum(expression, *cast(Any, operands), optimize=True))
    runner = _runner(parsed, tensors)
    encrypted = tuple(isinstance(each, TensorMethods) for each in read)
    steps = contraction_path(parsed.inputs, parsed.output, size_of, encrypted, _TYPICAL_SLOTS)
    node = _graph(read, steps)
    try:
        return cast("Tensor", runner.compute(node, f"einsum {expression}"))
    except LevelExhaustedError as error:
        raise LevelExhaustedError(parsed.at(0, f"{error.reason}; {error.remedy}")) from None


def _einsum_of_sublists(*arguments: Any) -> Tensor:
    if not any(isinstance(each, list | tuple) for each in arguments[1:2]):
        raise EinsumSyntaxError(
            "cannot einsum: expected an expression such as 'ij->ji' first and the operands after "
            f"it, got {shown(arguments[0])} first"
        )
    text, operands = from_sublists(arguments)
    return einsum(text, *cast(Any, operands))


def _runner(expression: Expression, encrypted: Sequence[TensorMethods]) -> Runner:
    runner = encrypted[0].runner
    if any(tensor.runner != runner for tensor in encrypted):
        raise ParametersMismatchError(
            expression.at(0, "the operands are of different sessions or evaluators")
        )
    return runner


def _graph(
    operands: Sequence[TensorMethods | NDArray[np.float64]],
    steps: Sequence[Step],
) -> Node:
    """The steps as nodes; those of clear operands alone are done at once."""
    origin = users_origin()
    made: list[Node | NDArray[np.float64]] = [
        each.node() if isinstance(each, TensorMethods) else each for each in operands
    ]
    for step in steps:
        numbers = [step.left] if step.right is None else [step.left, step.right]
        parts = [made[number] for number in numbers]
        arrays = [each for each in parts if isinstance(each, np.ndarray)]
        if len(arrays) == len(parts):
            made.append(_clear_product(arrays, step))
            continue
        shape = _shape(parts, step)
        made.append(Contract(tuple(parts), step.labels, step.output, shape, origin))
    last = made[-1]
    assert not isinstance(last, np.ndarray)
    return last


def _clear_product(arrays: Sequence[NDArray[np.float64]], step: Step) -> NDArray[np.float64]:
    letters: dict[str, int] = {}
    numbered = [[letters.setdefault(label, len(letters)) for label in term] for term in step.labels]
    arguments: list[object] = []
    for array, term in zip(arrays, numbered, strict=True):
        arguments += [array, term]
    output = [letters[label] for label in step.output]
    return np.asarray(np.einsum(*arguments, output), dtype=np.float64)  # type: ignore[call-overload]


def _shape(parts: Sequence[Node | NDArray[np.float64]], step: Step) -> tuple[int, ...]:
    size_of: dict[str, int] = {}
    for part, labels in zip(parts, step.labels, strict=True):
        for label, size in zip(labels, part.shape, strict=True):
            size_of[label] = max(size, size_of.get(label, 1))
    return tuple(size_of[label] for label in step.output)
