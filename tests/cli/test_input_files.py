"""Files of inputs: what is read, and what is refused with what is in it."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import threading
import tracemalloc
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloakwork.cli import input_files
from cloakwork.cli.input_files import read_inputs, read_samples
from cloakwork.errors import InputNameError, InvalidArgumentError, MalformedBytesError
from cloakwork.programs.port import Port

PAIR = (Port("a", "integer"), Port("b", "integer"))
ROW = (Port("x", "real", shape=(3,)),)
KEY = (Port("key", "bytes", 16),)


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def huge() -> bytes:
    """An array of 72 TiB, says its header."""
    file = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**13,)}
    np.lib.format.write_array_header_1_0(file, header)
    return file.getvalue() + bytes(24)


def broken_header() -> bytes:
    return npy(np.zeros(3)).replace(b"(3,), }", b"(3,),  ")


def zipped(name: str, data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, data)
    return file.getvalue()


READ: tuple[tuple[str, bytes, Sequence[Port], Any], ...] = (
    ("in.json", b'{"a": 3, "b": [1, 2]}', PAIR, {"a": 3, "b": [1, 2]}),
    ("in.json", b'\xef\xbb\xbf{"a": 3}', PAIR, {"a": 3}),
    ("in.JSON", b"[1, 2, 3]", ROW, {"x": [1, 2, 3]}),
    ("in.json", b'{"key": ["00ff", "0102"]}', KEY, {"key": [b"\0\xff", b"\1\2"]}),
    ("in.csv", b"a,b\n1,2\n", PAIR, {"a": 1, "b": 2}),
    ("in.csv", b"\xef\xbb\xbfa,b\r\n1,2\r\n3,4\r\n", PAIR, {"a": [1, 3], "b": [2, 4]}),
    ("in.csv", b"0.5,1,-2\n", ROW, {"x": [0.5, 1, -2]}),
    ("in.csv", b"key\n00ff\n", KEY, {"key": b"\0\xff"}),
    ("in.json", b"{}", (), {}),
)
REFUSED: tuple[tuple[str, bytes, Sequence[Port], str], ...] = (
    ("in.npz", npz(a=1)[:-30], PAIR, "expected what numpy.savez writes"),
    ("in.npz", flipped(npz(a=1), 120), PAIR, "got a file that is damaged or not an archive"),
    ("in.npz", b"a,b\n1,2\n", PAIR, "got a file that is damaged or not an archive"),
    ("in.npz", b"", PAIR, "got a file that is damaged or not an archive"),
    ("in.npz", npz(a=np.array([1, None])), PAIR, "got an array of Python objects"),
    ("in.npz", zipped("a.npy", huge()), PAIR, "in 24 bytes, where it has 80000000000000"),
    ("in.npz", zipped("a.npy", broken_header()), PAIR, "expected what numpy.savez writes"),
    ("in.npz", zipped("a.txt", b"1"), PAIR, "got bytes that are not an array of numpy"),
    ("in.npy", npy(np.zeros(3))[:-1], ROW, "of shape (3,) in 23 bytes, where it has 24"),
    ("in.npy", huge(), ROW, "in 24 bytes, where it has 80000000000000"),
    ("in.npy", b"\x93NUMPY\x09\x00", ROW, "an array in version (9, 0)"),
    ("in.json", b"[" * 100_000, ROW, "got lists that are nested too deeply"),
    ("in.json", b'{"a": [', PAIR, "line 1 column 8"),
    ("in.json", b'{"a": "\xff"}', PAIR, "got text that is not in UTF-8"),
    ("in.json", b'{"a": 1, "b": 2, "a": 3}', PAIR, "got the name 'a' 2 times"),
    ("in.json", b"{}", PAIR, "expected values for a, b, got none"),
    ("in.json", b'{"key": "zz"}', KEY, "expected two hexadecimal digits for each byte of key"),
    ("in.csv", b"a,b\n" + b"1" * 200_000 + b",2", PAIR, "131072"),
    ("in.csv", b"a,b\n1,2\n3\n", PAIR, "got 1 cells in row 3, 2 in row 1"),
    ("in.csv", b"a,a\n1,2\n", PAIR, "got the name 'a' 2 times"),
    ("in.csv", b"a,b\n", PAIR, "a row of names, and no row of values"),
    ("in.csv", b"a,b\n1,x\n", PAIR, "got 'x' in row 2, which is not a number"),
    ("in.csv", b"a,z\n1,2\n", PAIR, "got 'a' in row 1, which is neither a number nor the name"),
    ("in.csv", b"\n", PAIR, "got no rows"),
)


@pytest.mark.parametrize(("name", "data", "ports", "expected"), READ)
def test_values_are_read_by_name(
    tmp_path: Path, name: str, data: bytes, ports: Sequence[Port], expected: Any
) -> None:
    (tmp_path / name).write_bytes(data)
    assert read_inputs(tmp_path / name, ports) == expected


def test_arrays_are_read_by_name(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3, order="F")
    (tmp_path / "in.npz").write_bytes(npz(x=array))
    (tmp_path / "in.npy").write_bytes(npy(array))
    for name in ("in.npz", "in.npy"):
        np.testing.assert_array_equal(read_inputs(tmp_path / name, ROW)["x"], array)
        np.testing.assert_array_equal(read_samples(tmp_path / name), array)


@pytest.mark.parametrize(("name", "data", "ports", "words"), REFUSED)
def test_damaged_files_are_refused(
    tmp_path: Path, name: str, data: bytes, ports: Sequence[Port], words: str
) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(MalformedBytesError) as refusal:
        read_inputs(tmp_path / name, ports)
    assert words in str(refusal.value)
    assert str(refusal.value).count("cannot read") == 1
    assert "pickle" not in str(refusal.value)


@pytest.mark.parametrize("data", [npz(x=np.zeros(3)), npy(np.zeros(3))])
def test_flipped_bytes_are_refused_or_change_values(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / ("in.npz" if data.startswith(b"PK") else "in.npy")
    for at in range(len(data)):
        path.write_bytes(flipped(data, at))
        # Any other error fails the test.
        with contextlib.suppress(MalformedBytesError, InputNameError):
            assert isinstance(read_inputs(path, ROW)["x"], np.ndarray)


@pytest.mark.parametrize("order", ["C", "F"])
def test_large_arrays_stay_in_their_files(
    tmp_path: Path, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_files, "_LARGE", 1 << 10)
    arrays = {"a": np.arange(2000.0).reshape(40, 50, order=order), "b": np.arange(3.0)}
    (tmp_path / "in.npz").write_bytes(npz(**arrays))
    found = read_inputs(tmp_path / "in.npz", PAIR)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
    assert isinstance(found["a"], np.memmap)
    assert not isinstance(found["b"], np.memmap)
    (tmp_path / "in.npy").write_bytes(npy(arrays["a"]))
    whole = read_inputs(tmp_path / "in.npy", ROW)["x"]
    assert isinstance(whole, np.memmap)
    np.testing.assert_array_equal(whole, arrays["a"])
    data = npz(**arrays)
    for at in [*range(300), 5000, *range(len(data) - 300, len(data))]:
        (tmp_path / "in.npz").write_bytes(flipped(data, at))
        with contextlib.suppress(MalformedBytesError, InputNameError):
            for name, array in read_inputs(tmp_path / "in.npz", PAIR).items():
                np.testing.assert_array_equal(array, arrays[name])


def test_inputs_may_come_through_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "in.npy"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=[npy(np.ones(3))])
    writer.start()
    assert read_inputs(path, ROW)["x"].tolist() == [1.0, 1.0, 1.0]
    writer.join()


def test_a_header_makes_no_memory_be_taken(tmp_path: Path) -> None:
    (tmp_path / "in.npy").write_bytes(huge())
    tracemalloc.start()
    with pytest.raises(MalformedBytesError):
        read_inputs(tmp_path / "in.npy", ROW)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_refusals_of_values_without_a_name_are_said_once(tmp_path: Path) -> None:
    (tmp_path / "in.npy").write_bytes(npy(np.zeros(3)))
    with pytest.raises(InvalidArgumentError, match="the program has 2 inputs") as refusal:
        read_inputs(tmp_path / "in.npy", PAIR)
    assert str(refusal.value).count("cannot") == 1
    with pytest.raises(InvalidArgumentError, match="cannot read in: expected a name") as refusal:
        read_inputs(Path("in"), PAIR)
    assert str(refusal.value).count("cannot") == 1


def test_samples_are_read_without_names(tmp_path: Path) -> None:
    with (tmp_path / "in.csv").open("w") as file:
        csv.writer(file).writerows([[1, 2], [3, 4]])
    assert read_samples(tmp_path / "in.csv") == [[1, 2], [3, 4]]
    (tmp_path / "in.csv").write_text("x,y\n1,2\n")
    with pytest.raises(MalformedBytesError, match="'x' in row 1"):
        read_samples(tmp_path / "in.csv")


def test_columns_of_a_table_are_taken_by_their_names(tmp_path: Path) -> None:
    port = Port("x", "real", shape=(2, 3), columns=("a", "b", "c"))
    path = tmp_path / "in.csv"
    path.write_text("c, a,b\n3,1,2\n6,4,5\n")
    assert read_inputs(path, [port])["x"] == [[1, 2, 3], [4, 5, 6]]
    path.write_text("c,a,b\n3,1,2\n")
    assert read_inputs(path, [replace(port, shape=(3,))])["x"] == [1, 2, 3]
    assert read_inputs(path, [replace(port, shape=(1, 3))])["x"] == [[1, 2, 3]]
    path.write_text("c,a,b\n3,,2\n")
    with pytest.raises(MalformedBytesError, match="'' in row 2, which is not a number"):
        read_inputs(path, [port])
    filling = replace(port, missing=(0.5,))
    np.testing.assert_array_equal(read_inputs(path, [filling])["x"], [[np.nan, 2, 3]])
    for text, words in (("c,a\n3,1\n", "neither a number nor"), ("c,a,b\n", "no row of values")):
        path.write_text(text)
        with pytest.raises(MalformedBytesError, match=words):
            read_inputs(path, [port])
