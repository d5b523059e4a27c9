"""Products of two encrypted matrices compiled to programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cloakwork._native import Parameters
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidParametersError
from cloakwork.frontends.matmul.shapes import NAMES, Shaped, shape_in_words, shaped
from cloakwork.plan.matmul.choose import Choice, cheapest_choice
from cloakwork.plan.matmul.planned import planned_product
from cloakwork.plan.matmul.program import product_program
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.assemble import least_precision
from cloakwork.programs.packing.matrix import PlacedMatrix
from cloakwork.programs.port import Port
from cloakwork.programs.spec import Spec
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import require_agreement

# Results as large have enough right bits at the default precision.
_LARGE = 2.0


@names_memory("compile")
def compile_matmul(
    left: Spec | tuple[int, ...],
    right: Spec | tuple[int, ...],
    *,
    precision: int = 7,
    memory_limit: int | None = None,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    public_inputs: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
) -> Program:
    """Plan the product of two encrypted matrices, or of batches of them, as one program.

    The matrices lie in blocks; clear modular matrix products do the work, and keys are switched
    once for each ciphertext of the result; see `plan.matmul`. Of batches the axes before the last
    two are the same for both; a matrix without such axes is one for all of a batch.

    Args:
        left: Shape, or shape and bound or range, of the left matrices. Numbers outside are refused
            when they are encrypted.
        right: Those of the right ones.
        precision: Bits after the binary point that results have even with every number at its
            bound. The plan has as many more as take no more primes, and as small results need to
            be decrypted.
        memory_limit: Bytes that the ciphertexts of a run may take; by default any.
        key_budget: Bytes for all evaluation keys; the fewer, the more ciphertexts.
        log_n: Base-2 logarithm of the ring degree; by default the cheapest.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        public_inputs: Whether inputs may be encrypted by a public key, which has more noise.
        costs: What operations cost under given parameters; see `cloakwork.compile`.

    Returns:
        A program with the inputs `a` and `b` and one result.

    Raises:
        ShapeMismatchError: The matrices do not fit one another.
        InvalidParametersError: No parameters have the precision for results of this size.
        InsecureParametersError: Those of the ring asked for fall short of 128-bit security.
        KeyBudgetError: The fewest keys take more than the budget.
        MemoryBudgetError: The fewest ciphertexts take more than the memory limit.
        ProgramTooLargeError: The matrices take more ciphertexts than a program can have.
        InvalidArgumentError: `costs` is no function, or a number is out of range.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> program = cw.compile_matmul((24, 16), (16, 8))
        >>> a, b = np.ones((24, 16)), np.ones((16, 8))
        >>> bool(np.allclose(program.run_clear(a, b), a @ b))
        True
    """
    specs = [each if isinstance(each, Spec) else Spec(each) for each in (left, right)]
    shapes = specs[0].shape, specs[1].shape
    of_shapes = shaped(*shapes, RealOptions.action)
    product, bounds = of_shapes.product, (specs[0].bound, specs[1].bound)
    options = RealOptions(
        title=f"matmul {shape_in_words(shapes[0])} by {shape_in_words(shapes[1])}",
        precision=precision,
        key_budget=key_budget,
        memory_limit=memory_limit,
        log_n=log_n,
        insecure=insecure,
        public_inputs=public_inputs,
        costs=costs,
    )
    least = _least_precision(product.inner * bounds[0] * bounds[1])
    reached = max(options.precision, least)
    choice = cheapest_choice(product, bounds, reached, options)
    program = _program(of_shapes, choice, specs, options)
    require_agreement(program, _in_numpy, 2.0**-reached)
    return program


def _in_numpy(given: Mapping[str, Any]) -> Any:
    return given["a"] @ given["b"]


def _least_precision(largest: float) -> int:
    """Bits after the binary point without which small results would not be decrypted."""
    if largest >= _LARGE:
        return 0
    if largest < sys.float_info.min:
        raise InvalidParametersError(
            "cannot compile a product: expected bounds whose products reach "
            f"{sys.float_info.min:.2g} or more, got results up to {largest:.2g}; scale the "
            "matrices up"
        )
    return least_precision(min(1.0, largest))


def _program(
    of_shapes: Shaped, choice: Choice, specs: Sequence[Spec], options: RealOptions
) -> Program:
    product = of_shapes.product
    planned = planned_product(options.title, product, choice.blocks, NAMES, of_shapes.views)
    inputs = [
        Port(name, "real", 0, spec.shape, spec.low, spec.high)
        for name, spec in zip(NAMES, specs, strict=True)
    ]
    bound = product.bound(choice.blocks, (specs[0].bound, specs[1].bound))
    placed = list(map(PlacedMatrix, range(len(NAMES)), planned.operands))
    return product_program(
        planned.program,
        choice.parameters,
        inputs,
        placed,
        [(planned.result, bound)],
        public_inputs=options.public_inputs,
    )
