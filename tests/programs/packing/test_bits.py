"""Values of ports as bits and back, and what is refused."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork.errors import (
    CloakworkError,
    InputNameError,
    InvalidArgumentError,
    NotRealError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.packing import bound_arguments
from cloakwork.programs.packing.bits import BitPacking, Bits, results_of_bits
from cloakwork.programs.port import Port, PortKind


def bits_of_arguments(ports: Sequence[Port], arguments: Mapping[str, Any]) -> tuple[Bits, bool]:
    """The bits of all inputs, a row per run, and whether there is an axis of runs."""
    packed = BitPacking(tuple(ports), ()).pack(arguments, "pack")
    rows = [np.concatenate([run[number] for number in sorted(run)]) for run in packed.runs]
    return np.stack(rows), packed.count is not None


@given(
    st.sampled_from(["unsigned", "signed"]),
    st.sampled_from([1, 2, 8, 31, 63, 64, 65, 128]),
    st.sampled_from([None, 1, 3]),
    st.integers(1, 3),
    st.data(),
)
@settings(deadline=None)
def test_integers_round_trip(
    kind: PortKind, width: int, length: int | None, runs: int, data: st.DataObject
) -> None:
    port = Port("a", kind, width, () if length is None else (length,))
    low = -(2 ** (width - 1)) if kind == "signed" else 0
    number = st.integers(low, low + 2**width - 1)
    element: st.SearchStrategy[Any] = (
        number if length is None else st.lists(number, min_size=length, max_size=length)
    )
    value: Any = data.draw(element)
    bits, many = bits_of_arguments([port], {"a": value})
    assert not many
    whole = [value] if isinstance(value, int) else value
    assert bits.tolist() == [[each >> place & 1 for each in whole for place in range(width)]]
    result = results_of_bits([port], bits, many=False)["a"]
    assert (result if length is None else result.tolist()) == value
    batch = data.draw(st.lists(element, min_size=runs, max_size=runs))
    bits, many = bits_of_arguments([port], {"a": batch})
    assert many
    assert results_of_bits([port], bits, many=True)["a"].tolist() == batch
    packing = BitPacking((port,), (port,))
    packed = packing.pack({"a": batch}, "pack")
    assert packing.unpack([[run[0]] for run in packed.runs], packed.count)["a"].tolist() == batch


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.int64, np.uint64, bool])
@pytest.mark.parametrize("width", [1, 7, 64, 70])
def test_arrays_of_all_integers(dtype: type, width: int) -> None:
    numbers: NDArray[Any] = np.array([0, 1], dtype=dtype)
    bits, _ = bits_of_arguments([Port("a", "unsigned", width)], {"a": numbers})
    assert bits.tolist() == [[0] * width, [1] + [0] * (width - 1)]


def test_negative_numbers_of_small_types() -> None:
    bits, _ = bits_of_arguments([Port("a", "signed", 12)], {"a": np.array([-2], dtype=np.int8)})
    assert bits.tolist() == [[0] + [1] * 11]


def test_bytes_and_bits() -> None:
    word, row = Port("b", "bytes", 16), Port("r", "bits", 3)
    bits, many = bits_of_arguments([word, row], {"b": b"\x01\x80", "r": [1, 0, 1]})
    assert bits.tolist() == [[1] + [0] * 7 + [0] * 7 + [1] + [1, 0, 1]]
    single = results_of_bits([word, row], bits, many=many)
    assert single["b"] == b"\x01\x80"
    assert single["r"].tolist() == [1, 0, 1]
    bits, many = bits_of_arguments([word, row], {"b": [b"ab", b"cd"], "r": [1, 0, 1]})
    assert many
    assert results_of_bits([word], bits[:, :16], many=True)["b"].tolist() == [[97, 98], [99, 100]]
    vector = Port("v", "bytes", 8, shape=(2,))
    bits, many = bits_of_arguments([vector], {"v": [b"a", b"b"]})
    assert not many
    assert results_of_bits([vector], bits, many=False)["v"].tolist() == [[97], [98]]


@pytest.mark.parametrize(
    ("port", "value", "error"),
    [
        (Port("a", "unsigned", 3), 8, ValueOutOfRangeError),
        (Port("a", "unsigned", 3), -1, ValueOutOfRangeError),
        (Port("a", "signed", 3), 4, ValueOutOfRangeError),
        (Port("a", "signed", 3), np.array([-5]), ValueOutOfRangeError),
        (Port("a", "unsigned", 64), 2**64, ValueOutOfRangeError),
        (Port("a", "unsigned", 64), np.array([-1]), ValueOutOfRangeError),
        (Port("a", "bits", 2), [0, 2], ValueOutOfRangeError),
        (Port("a", "bytes", 8), [256], ValueOutOfRangeError),
        (Port("a", "unsigned", 3), 1.0, NotRealError),
        (Port("a", "unsigned", 3), np.array([1.0]), NotRealError),
        (Port("a", "unsigned", 3), "1", NotRealError),
        (Port("a", "unsigned", 3), None, NotRealError),
        (Port("a", "unsigned", 3), [[1], [1, 2]], NotRealError),
        (Port("a", "unsigned", 3), np.ma.MaskedArray([1, 2], mask=[False, True]), NotRealError),
        pytest.param(Port("a", "unsigned", 3), 10**5000, ValueOutOfRangeError, id="5001 digits"),
        (Port("a", "unsigned", 20000), -1, ValueOutOfRangeError),
        pytest.param(Port("a", "signed", 20000), 1 << 19999, ValueOutOfRangeError, id="wide"),
        (Port("a", "bytes", 8), "a", NotRealError),
        (Port("a", "unsigned", 3), [[1]], ShapeMismatchError),
        (Port("a", "unsigned", 3), [np.eye(2), np.zeros((2, 3))], ShapeMismatchError),
        (Port("a", "unsigned", 3, shape=(2,)), [1, 2, 3], ShapeMismatchError),
        (Port("a", "unsigned", 3, shape=(2,)), 1, ShapeMismatchError),
        (Port("a", "bits", 2), 1, ShapeMismatchError),
        (Port("a", "bytes", 16), b"a", ShapeMismatchError),
    ],
)
def test_values_that_do_not_fit(port: Port, value: Any, error: type[CloakworkError]) -> None:
    with pytest.raises(error, match=r"cannot give 'a' its value: .*expected"):
        bits_of_arguments([port], {"a": value})


def test_arguments_are_inputs_with_as_many_runs_each() -> None:
    ports = [Port("a", "unsigned", 3), Port("b", "unsigned", 3)]
    with pytest.raises(ShapeMismatchError, match="got 2 of a, 3 of b"):
        bits_of_arguments(ports, {"a": [1, 2], "b": [1, 2, 3]})
    with pytest.raises(ShapeMismatchError, match="one evaluation or more, got none"):
        bits_of_arguments(ports, {"a": [], "b": 1})
    bits, many = bits_of_arguments(ports, {"a": 1, "b": [1, 2, 3]})
    assert many
    assert bits[:, :3].tolist() == [[1, 0, 0]] * 3


def test_some_inputs_may_be_packed_without_the_others() -> None:
    ports = (Port("a", "unsigned", 3), Port("b", "unsigned", 3))
    packed = BitPacking(ports, ()).pack({"b": 6}, "pack")
    assert (packed.ports, packed.count) == (("b",), None)
    assert [{number: bits.tolist() for number, bits in run.items()} for run in packed.runs] == [
        {1: [0, 1, 1]}
    ]


def test_arguments_by_place_and_by_name() -> None:
    ports = [Port("a", "unsigned", 3), Port("b", "unsigned", 3)]
    assert bound_arguments(ports, [1], {"b": 2}, "run") == {"a": 1, "b": 2}
    with pytest.raises(InputNameError, match="no input 'c'; expected a, b"):
        bound_arguments(ports, [1], {"c": 1}, "run")
    with pytest.raises(InputNameError, match="the input 'a' is given twice"):
        bound_arguments(ports, [1], {"a": 1}, "run")
    with pytest.raises(InvalidArgumentError, match=r"expected 2 argument\(s\), a, b, got 3"):
        bound_arguments(ports, [1, 2, 3], {}, "run")
