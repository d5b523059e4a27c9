"""Products of two encrypted matrices of integers compiled to programs, exact or modulo a prime."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from cloakwork._native import (
    BGV_FAILURE_BITS,
    BGV_LEAST_FAILURE_BITS,
    BGV_MOST_FAILURE_BITS,
)
from cloakwork.base.arguments import bytes_limit, integer, truth
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidArgumentError, InvalidParametersError
from cloakwork.frontends.matmul.shapes import NAMES, shape_in_words, shaped
from cloakwork.plan.matmul.integers import IntegerProductOptions, cheapest_integer_choice
from cloakwork.plan.matmul.planned import planned_product
from cloakwork.plan.matmul.program import integer_product_program
from cloakwork.plan.parameters.bgv import is_prime, plaintext_moduli
from cloakwork.plan.parameters.rings import RINGS
from cloakwork.programs.packing.scalar import MAX_BITS
from cloakwork.programs.port import Port
from cloakwork.programs.slots import MAX_INTEGER
from cloakwork.programs.spec import Spec
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import require_agreement

_ACTION = "compile a product of integer matrices"
# The engine's largest plaintext modulus is below, and there are primes from this many bits on.
_MAX_MODULUS = 1 << 30
_MODULUS_BITS = 29


@names_memory("compile")
def compile_integer_matmul(
    left: Spec | tuple[int, ...],
    right: Spec | tuple[int, ...],
    *,
    modulus: int | None = None,
    public_inputs: bool = False,
    memory_limit: int | None = None,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    failure_bits: int = BGV_FAILURE_BITS,
) -> Program:
    """Plan the product of two encrypted matrices of integers, or of batches, as one program.

    Results are exact: they are computed modulo as many primes as their bounds need, or modulo the
    one that is given. Of batches the axes before the last two are the same for both; a matrix
    without such axes is one for all of a batch.

    Args:
        left: Shape, or shape and bound or range, of the left matrices. Integers outside are refused
            when they are encrypted.
        right: Those of the right ones.
        modulus: A prime that results are modulo, as the representatives nearest to 0; by default
            results are integers.
        public_inputs: Whether inputs may be encrypted by a public key, whose noise is greater.
        memory_limit: Bytes that the ciphertexts of a run may take; by default any.
        key_budget: Bytes for all evaluation keys; the fewer, the more ciphertexts.
        log_n: Base-2 logarithm of the ring degree; by default the cheapest.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        failure_bits: Each bound on noise, of an encryption or a key switch, fails with a
            probability of at most 2^-failure_bits, from 40 to 128. More take larger moduli;
            `Program.log2_failure` says what a run comes to.

    Returns:
        A program with the inputs `a` and `b` and one result.

    Raises:
        ShapeMismatchError: The matrices do not fit one another.
        InvalidParametersError: No ring has a modulus that holds the noise, or the modulus is no
            prime that is 1 modulo 2N for a ring degree N.
        InsecureParametersError: The ring asked for falls short of 128-bit security.
        KeyBudgetError: The fewest keys take more than the budget.
        MemoryBudgetError: The fewest ciphertexts take more than the memory limit.
        ProgramTooLargeError: The matrices take more ciphertexts than a program can have.
        InvalidArgumentError: A bound or an end of a range is no integer, results may have too
            many bits, or a number is out of range.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> program = cw.compile_integer_matmul(cw.Spec((2, 3), bound=9), cw.Spec((3, 2), bound=9))
        >>> a = np.arange(6).reshape(2, 3)
        >>> program.run_clear(a, a.T).tolist()
        [[5, 14], [14, 50]]
    """
    specs = [each if isinstance(each, Spec) else Spec(each) for each in (left, right)]
    of_shapes = shaped(specs[0].shape, specs[1].shape, _ACTION)
    product = of_shapes.product
    ranges = [_whole_range(spec) for spec in specs]
    largest = [max(map(abs, each)) for each in ranges]
    bound = product.inner * largest[0] * largest[1]
    rings: Sequence[int] = RINGS
    if log_n is not None:
        rings = [integer(log_n, "log_n", _ACTION, least=5, most=17)]
    bits = None
    if modulus is not None:
        modulus = integer(modulus, "modulus", _ACTION, least=2, most=_MAX_MODULUS)
        rings = _rings_of(modulus, rings)
        bound = modulus // 2
    else:
        bits = bound.bit_length() + 1
        if bits > MAX_BITS:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: its results have up to {bits} bits, and a result has up to "
                f"{MAX_BITS}; give tighter bounds, or multiply in parts"
            )
    options = IntegerProductOptions(
        bits,
        modulus,
        truth(insecure, "insecure", _ACTION),
        truth(public_inputs, "public_inputs", _ACTION),
        bytes_limit(key_budget, "key_budget", _ACTION),
        bytes_limit(memory_limit, "memory_limit", _ACTION),
        integer(
            failure_bits,
            "failure_bits",
            _ACTION,
            least=BGV_LEAST_FAILURE_BITS,
            most=BGV_MOST_FAILURE_BITS,
        ),
    )
    title = f"matmul {shape_in_words(specs[0].shape)} by {shape_in_words(specs[1].shape)}"
    choice = cheapest_integer_choice(title, product, options, rings)
    planned = planned_product(
        title, product, choice.blocks, NAMES, of_shapes.views, numbers="integer"
    )
    names = (*NAMES, "result")
    ends = (*ranges, (-bound, bound))
    one, other, result = (
        Port(name, "integer", 0, each, low, high)
        for name, each, (low, high) in zip(names, of_shapes.shapes, ends, strict=True)
    )
    program = integer_product_program(
        planned,
        choice.parameter_sets,
        (one, other, result),
        modulus=modulus,
        public_inputs=options.public_inputs,
    )
    require_agreement(program, partial(_in_numpy, modulus), error=0.0)
    return program


def _in_numpy(modulus: int | None, given: Mapping[str, Any]) -> Any:
    """The product of arrays of integers, modulo a modulus the nearest to 0."""
    product = given["a"] @ given["b"]
    if modulus is None:
        return product
    return (product + modulus // 2) % modulus - modulus // 2


def _rings_of(modulus: int, rings: Sequence[int]) -> list[int]:
    """The rings whose slots hold numbers modulo a prime."""
    found = [log_n for log_n in rings if modulus % (2 << log_n) == 1]
    if not (found and is_prime(modulus)):
        step = 2 << min(rings)
        other = plaintext_moduli(min(modulus.bit_length(), _MODULUS_BITS), min(rings))[0]
        raise InvalidParametersError(
            f"cannot {_ACTION}: expected a modulus that is a prime below 2^30 and 1 modulo {step}, "
            f"twice the least ring degree, got {modulus}; take {other}, or leave modulus out for "
            "exact integers"
        )
    return found


def _whole_range(spec: Spec) -> tuple[int, int]:
    """The ends of what a matrix may hold."""
    assert spec.low is not None
    assert spec.high is not None
    for end in (spec.low, spec.high):
        if end != math.floor(end) or abs(end) > MAX_INTEGER:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected bounds and ends of ranges that are integers of up to "
                f"63 bits, got {end:g}; round them outward"
            )
    return int(spec.low), int(spec.high)
