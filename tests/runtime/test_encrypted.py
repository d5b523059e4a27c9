"""What passes between client and evaluator: bytes, files, pickles, and what they refuse."""

from __future__ import annotations

import copy
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    MalformedBytesError,
    ProgramMismatchError,
)
from cloakwork.runtime import container
from cloakwork.runtime.encrypted import KIND
from tests.families import BITS, BY_NAME, CIRCUITS, ENCRYPTED, FAMILIES, TENSORS, Family, same
from tests.runtime.records import HOSTILE, Place, at, changed, places, record_of
from tests.thoroughness import part

every_family = pytest.mark.parametrize("family", FAMILIES, ids=str)
NAMES = ("program", "role", "ports", "runs", "count", "key_id")


def record_of_inputs(family: Family, folder: Path) -> Any:
    family.encrypted().save(folder / "inputs")
    return record_of(folder / "inputs", KIND, NAMES)


def read(record: Any) -> cw.Encrypted:
    return cw.Encrypted.from_bytes(container.to_bytes(KIND, record))


@every_family
def test_it_says_what_it_is(family: Family) -> None:
    _, evaluator = family.keys()
    inputs, outputs = family.encrypted(), evaluator.run(family.encrypted())
    assert (inputs.role, outputs.role) == ("inputs", "outputs")
    assert inputs.ports == tuple(port.name for port in family.program.inputs)
    assert outputs.ports == tuple(port.name for port in family.program.outputs)
    for each in (inputs, outputs):
        assert each.program == family.program.fingerprint
        assert (each.count, each.runs) == (None, 1)
        assert len(each.key_id) == 16
        assert each.warning == family.program.warning
        assert each.nbytes > 0
        names = ", ".join(each.ports)
        warning = f"; {each.warning}" if each.warning else ""
        assert repr(each) == f"Encrypted({each.role} {names}, {each.nbytes} bytes{warning})"
        assert cw.explain(each) == repr(each)


def test_a_warning_is_what_the_program_says_and_not_what_a_file_says(tmp_path: Path) -> None:
    for family in (TENSORS, BY_NAME["tensors, clear"]):
        record = record_of_inputs(family, tmp_path)
        assert read({**record, "warning": ""}).warning == family.program.warning != ""
        unmarked = {**record, "program": record["program"].partition("-")[0]}
        if not family.hides:
            with pytest.raises(MalformedBytesError, match="expected no arrays"):
                read(unmarked)
            continue
        assert read(unmarked).warning == ""
        _, evaluator = family.keys()
        with pytest.raises(ProgramMismatchError, match="belong to another program"):
            evaluator.run(read(unmarked))


@every_family
def test_evaluations_are_counted(family: Family) -> None:
    client, _ = family.keys()
    several = client.encrypt(
        **{
            name: np.stack([value] * 3) if isinstance(value, np.ndarray) else [value] * 3
            for name, value in family.arguments.items()
        }
    )
    assert several.count == 3
    assert several.runs == -(-3 // family.program.batch)
    assert ", 3 evaluations, " in repr(several)


@every_family
def test_it_comes_back_from_bytes_files_and_pickles(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    encrypted = family.encrypted()
    encrypted.save(tmp_path / "inputs")
    for again in (
        cw.Encrypted.from_bytes(encrypted.to_bytes()),
        cw.load(tmp_path / "inputs", cw.Encrypted),
        pickle.loads(pickle.dumps(encrypted)),
        copy.copy(encrypted),
        copy.deepcopy(encrypted),
    ):
        # Nothing of the program or of keys is at hand, and the sizes are told.
        assert repr(again) == repr(encrypted)
        assert again.to_bytes() == encrypted.to_bytes()
        assert family.is_right(client.decrypt(evaluator.run(again)))
        assert again.to_bytes() == encrypted.to_bytes()


@every_family
def test_its_size_is_that_of_what_is_sent(family: Family) -> None:
    encrypted = family.encrypted()
    again = cw.Encrypted.from_bytes(encrypted.to_bytes())
    assert again.nbytes == encrypted.nbytes
    if family.hides:
        assert 0 < len(encrypted.to_bytes()) - encrypted.nbytes < 4096


def test_fresh_ciphertexts_differ_and_are_no_larger_for_it() -> None:
    for family in ENCRYPTED:
        client, _ = family.keys()
        one, two = (client.encrypt(**family.arguments).to_bytes() for _ in range(2))
        assert one != two
        assert len(one) == len(two)


@pytest.mark.parametrize("data", [None, 3, "bytes", bytearray(b"x"), np.zeros(3)])
def test_what_is_no_bytes_is_refused(data: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="cannot read bytes: got"):
        cw.Encrypted.from_bytes(data)


@pytest.mark.parametrize("data", [b"", b"x", b"PK\3\4" + b"x" * 99])
def test_bytes_of_something_else_are_refused(data: bytes) -> None:
    with pytest.raises(MalformedBytesError, match="cannot read the bytes"):
        cw.Encrypted.from_bytes(data)


def each_of(place: Place, *values: Any) -> list[tuple[Place, Any]]:
    return [(place, value) for value in values]


LIES = [
    *each_of(("program",), ..., None, 1, [], "\x1b[2J"),
    *each_of(("role",), ..., None, "output", "results", 1, ["inputs"]),
    *each_of(("ports",), ..., None, "ab", [3], [["a"]], {"a": 1}, ["\n"]),
    *each_of(("count",), ..., 0, -1, 1.5, True, 1 << 40, "1"),
    *each_of(("key_id",), ..., None, b"", b"x" * 15, "x" * 16),
    *each_of(("runs",), ..., None, [], {}, [3], [None]),
    *each_of(("runs", 0, "numbers"), ..., [], [0], [0, 0], [-1, 0], [0, 1 << 40], [True, 0]),
    *each_of(("runs", 0, "values"), ..., [], [{}], None),
]


@pytest.mark.parametrize("name", ["tensors", "bits"])
@pytest.mark.parametrize(("place", "value"), LIES, ids=lambda each: f"{each!s:.40}")
def test_records_that_lie_are_refused(name: str, place: Place, value: Any, tmp_path: Path) -> None:
    record = record_of_inputs(BY_NAME[name], tmp_path)
    with pytest.raises(MalformedBytesError, match="cannot read") as refusal:
        read(changed(record, place, value))
    assert str(refusal.value).isprintable()


@every_family
def test_a_count_is_that_of_the_runs(family: Family) -> None:
    client, evaluator = family.keys()
    inputs = family.encrypted()
    for values in (inputs, evaluator.run(inputs)):
        found = cw.Encrypted.from_bytes(values.to_bytes())
        found.count = 1 + 3 * family.program.batch
        use: Any = evaluator.run if found.role == "inputs" else client.decrypt
        with pytest.raises(MalformedBytesError, match="to be those of 4 runs, got 1; have"):
            use(found)


def test_runs_have_the_same_values_each(tmp_path: Path) -> None:
    record = record_of_inputs(TENSORS, tmp_path)
    (run,) = record["runs"]
    fewer = {"numbers": run["numbers"][1:], "values": run["values"][1:]}
    with pytest.raises(MalformedBytesError, match="values of the same numbers"):
        read({**record, "runs": [run, fewer], "count": 2})


VALUES: dict[str, list[Any]] = {
    "tensors": [..., {}, None, {"data": b""}, {"data": "x"}, {"data": b"x" * 99}, {"data": None}],
    "networks": [..., {}, {"data": b"\0" * 2000}],
    "circuits": [..., {}, {"data": b""}, {"data": []}, {"data": [b""]}, {"data": [b"x"] * 9}],
    "bits": [..., {}, {"data": b""}, {"data": b"x" * 99}],
    "tensors, clear": [
        {"slots": np.zeros(3), "level": 1},
        {"slots": np.zeros(512), "level": 99},
        {"slots": np.zeros((2, 256)), "level": 1},
        {"level": 1},
    ],
    "circuits, clear": [
        {"rows": [], "level": 0},
        {"rows": [["1"]], "level": 0},
        {"rows": [["x"] * 1024] * 2, "level": 0},
        {"rows": [["1"] * 1024] * 2, "level": 7},
        {"rows": [["9" * 4001] * 1024] * 2, "level": 0},
        {"rows": [["1"] * 1024] * 3, "level": 0},
        {"rows": [["1"] * 1024], "level": 0},
    ],
    "bits, clear": [
        {"bits": np.zeros(2, dtype=np.uint8)},
        {"bits": np.full(3, 2, dtype=np.uint8)},
        {"bits": np.zeros(3)},
        {},
    ],
}


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in VALUES.items() for value in values],
    ids=lambda each: f"{each!s:.30}",
)
def test_values_that_are_none_are_refused_where_they_are_used(
    name: str, value: Any, tmp_path: Path
) -> None:
    family = BY_NAME[name]
    record = record_of_inputs(family, tmp_path)
    place = ("runs", 0, "values", 0)
    client, evaluator = family.keys()
    with pytest.raises(MalformedBytesError, match="cannot read") as refusal:
        evaluator.run(read(changed(record, place, value)))
    assert str(refusal.value).isprintable()
    with pytest.raises(CloakworkError):
        client.decrypt(read({**changed(record, place, value), "role": "outputs"}))


def test_fewer_bits_than_a_port_has_are_refused(tmp_path: Path) -> None:
    record = record_of_inputs(BITS, tmp_path)
    values = BITS.encrypted().values(BITS.program.scheme, BITS.program.body)[0]
    few = values[0].select([0]).to_bytes()
    place = ("runs", 0, "values", 0, "data")
    _, evaluator = BITS.keys()
    with pytest.raises(MalformedBytesError, match=r"expected \d+ ciphertexts, got 1"):
        evaluator.run(read(changed(record, place, few)))


def test_residues_are_of_every_prime(tmp_path: Path) -> None:
    record = record_of_inputs(CIRCUITS, tmp_path)
    place = ("runs", 0, "values", 0, "data")
    first, second = at(record, place)
    _, evaluator = CIRCUITS.keys()
    for wrong in ([first], [first, second, second], [second, first], [first, first]):
        with pytest.raises(CloakworkError, match="cannot"):
            evaluator.run(read(changed(record, place, wrong)))


def test_what_was_encrypted_for_other_inputs_is_refused_or_the_same(tmp_path: Path) -> None:
    """Ciphertexts of one input under the number of another: never a number of another kind."""
    record = record_of_inputs(BITS, tmp_path)
    (run,) = record["runs"]
    swapped = changed(record, ("runs", 0, "numbers"), run["numbers"][::-1])
    client, evaluator = BITS.keys()
    found = client.decrypt(evaluator.run(read(swapped)))
    a, b = (BITS.arguments[name] for name in "ba")
    assert found["above"] == int(a > b)


@every_family
@settings(max_examples=part(25))
@given(seed=st.integers(0, 2**32))
def test_any_change_is_refused_or_says_the_same_of_numbers(
    family: Family, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = random.Random(seed)
    record = record_of_inputs(family, tmp_path_factory.getbasetemp())
    place = rng.choice([each for each in places(record) if each[:1] != ("numbers",)])
    forged = changed(record, place, rng.choice([*HOSTILE, ...]))
    client, evaluator = family.keys()
    refusal = ""
    try:
        found = client.decrypt(evaluator.run(read(forged)))
    except CloakworkError as error:
        refusal = str(error)
    assert "\x1b" not in refusal
    if not refusal and forged["count"] is None and forged["runs"] == record["runs"]:
        assert family.is_right(found)


@pytest.mark.parametrize("family", ENCRYPTED, ids=str)
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_a_flipped_bit_of_a_ciphertext_is_refused_or_another_ciphertext(
    family: Family, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whoever forges a container may forge its checksums: ciphertexts say no more than that."""
    rng = random.Random(seed)
    record = record_of_inputs(family, tmp_path_factory.getbasetemp())
    place: Place = ("runs", 0, "values", 0, "data")
    if family.name == "circuits":
        place = (*place, 0)
    data = bytearray(at(record, place))
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    client, evaluator = family.keys()
    try:
        found = client.decrypt(evaluator.run(read(changed(record, place, bytes(data)))))
    except CloakworkError:
        return
    # A ciphertext that no client made decrypts to something, of the same form.
    assert same(found, found, 0.0)
    assert type(found) is type(family.expected)
