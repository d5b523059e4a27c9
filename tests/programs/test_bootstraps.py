"""Bootstrap programs: what makes one legal, and their counts."""

from typing import Any

import numpy as np
import pytest

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.bootstraps import (
    BOOTSTRAP,
    HALF,
    LINEAR,
    QUARTER,
    SIGN,
    bootstrap_statistics_of,
)
from cloakwork.programs.port import Port
from tests.programs.bootstrap_facts import facts, made


def test_counts_and_levels() -> None:
    program = made()
    found = bootstrap_statistics_of(program)
    assert (found.bootstraps, found.linear, found.terms) == (1, 1, 3)
    assert (dict(found.by_outputs), found.depth, found.widths) == ({2: 1}, 1, (1,))
    assert program.levels.tolist() == [1, 1]
    assert program.signal_count == 5
    assert program.table_starts.tolist() == [0, 4, 4]


def test_arrays_cannot_be_changed() -> None:
    program = made()
    with pytest.raises(ValueError, match="read-only"):
        program.tables[0] = 1


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"title": 1}, "title"),
        ({"inputs": ("a",)}, "to be ports"),
        ({"inputs": (Port("a", "bits", 1),) * 2}, "comes twice"),
        ({"inputs": (Port("a", "bits", 1),)}, "bit 1, of 1 bits"),
        ({"input_encodings": [QUARTER]}, "2 encodings of inputs"),
        ({"input_encodings": [QUARTER, 3]}, "in the encoding 3"),
        ({"input_encodings": [QUARTER, 0]}, "in the encoding 0"),
        ({"kinds": [BOOTSTRAP, 3]}, "unknown kind 3"),
        ({"kinds": [SIGN, LINEAR]}, "node 0 has a message space of 2.2"),
        ({"kinds": [[BOOTSTRAP, LINEAR]]}, "list of integers"),
        ({"kinds": [1.0, 0.0]}, "list of integers"),
        ({"kinds": [1, 256]}, "to fit uint8"),
        ({"kinds": [LINEAR, LINEAR]}, "node 0 has 2 outputs"),
        ({"constants": [0]}, "2 constants"),
        ({"message_bits": [2, 0, 0]}, "2 message_bits"),
        ({"message_bits": [0, 0]}, "node 0 has a message space of 2.0"),
        ({"message_bits": [9, 0]}, "node 0 has a message space of 2.9"),
        ({"message_bits": [2, 1]}, "node 1 has a message space of 2.1"),
        ({"message_bits": [3, 0]}, "8 numbers in the tables"),
        ({"term_starts": [0, 3]}, "3 starts of terms"),
        ({"term_starts": [0, 4, 3]}, "rise from 0 to 3"),
        ({"term_starts": [1, 2, 3]}, "rise from 0 to 3"),
        ({"term_weights": [1, 1]}, "3 weights"),
        ({"term_weights": [1, 1, 2**31]}, "to fit int32"),
        ({"term_signals": [0, 2, 2]}, "uses %2, which is not before it"),
        ({"term_signals": [0, 1, 4]}, "uses %4, which is not before it"),
        ({"output_starts": [0, 3, 3]}, "node 1 has 0 outputs"),
        ({"output_constants": [0, 0, 1]}, "a linear node adds a constant"),
        ({"output_signals": [4, 5]}, "an output is %5, of 5 signals"),
        ({"output_signals": [4]}, "2 output_signals"),
        ({"output_encodings": [HALF, 2**31 + 1]}, "an output is in the encoding"),
    ],
)
def test_what_is_not_legal_is_refused(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidProgramError, match=reason):
        made(**changed)


def test_numbers_are_wide_enough_whatever_they_come_as() -> None:
    narrow = made(term_weights=np.array([1, 1, -1], dtype=np.int8))
    assert facts(narrow) == facts(made())
