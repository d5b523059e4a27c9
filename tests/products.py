"""Products of two matrices as users compile them."""

from collections import Counter
from dataclasses import replace
from typing import Any

import cloakwork as cw
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import Rotate, RotatedProducts, SlotProgram, SwitchProduct


def real_product(
    left: cw.Spec | tuple[int, ...],
    right: cw.Spec | tuple[int, ...],
    *,
    precision: int = 7,
    **options: Any,
) -> cw.Program:
    """The product of two matrices of reals."""
    return cw.compile(lambda a, b: a @ b, left, right, precision=precision, **options)


def integer_product(
    left: cw.Spec | tuple[int, ...], right: cw.Spec | tuple[int, ...], **options: Any
) -> cw.Program:
    """The product of two matrices of integers."""
    given = (each if isinstance(each, cw.Spec) else cw.Spec(each) for each in (left, right))
    specs = (replace(each, kind="integer") for each in given)
    return cw.compile(lambda a, b: a @ b, *specs, **options)


def counts_of(program: cw.Program) -> tuple[int, ...]:
    """Ciphertexts in and out, rotated products, their switches, rotations, keys and their bytes."""
    body = program.body
    assert isinstance(body, SlotProgram)
    kinds = Counter(map(type, body.operations))
    operations = (kinds[each] for each in (RotatedProducts, SwitchProduct, Rotate))
    keys = len(required_keys(body)), program.key_bytes
    return *program.packing.vector_counts, *operations, *keys
