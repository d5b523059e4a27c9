"""The kinds of packings, by the words that files have for them."""

from collections.abc import Mapping

from cloakwork.base.record import Fields, Record, record_of
from cloakwork.programs.packing import Packing
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.bit_integers import BitIntegerPacking
from cloakwork.programs.packing.bits import BitPacking, DecisionPacking
from cloakwork.programs.packing.matrix import (
    IntegerMatrixPacking,
    ListedMatrixPacking,
    MatrixPacking,
)
from cloakwork.programs.packing.rows import RowsPacking
from cloakwork.programs.packing.scalar import ScalarPacking
from cloakwork.programs.packing.tensor import TensorPacking

_OF_REALS = (TensorPacking, MatrixPacking, BatchPacking, RowsPacking)
_OF_BITS = (BitPacking, BitIntegerPacking, DecisionPacking)
_OF_INTEGERS = (IntegerMatrixPacking, ListedMatrixPacking, ScalarPacking)
PACKINGS: Mapping[str, type[Packing]] = {
    each.kind: each for each in (*_OF_REALS, *_OF_INTEGERS, *_OF_BITS)
}


def packing_record(packing: Packing) -> Record:
    """A packing as files hold it."""
    return {"kind": packing.kind, **record_of(packing)}


def read_packing(fields: Fields) -> Packing:
    """The packing of a record.

    Raises:
        MalformedBytesError: The record is of another kind.
    """
    return fields.made(PACKINGS[fields.choice("kind", tuple(PACKINGS))])
