"""Programs as records: round trips through containers, and hostile records."""

import random
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from cloakwork.base.record import Fields, Record, digest_of, record_of
from cloakwork.errors import MalformedBytesError
from cloakwork.plan.boolean.gate_by_gate import gate_by_gate
from cloakwork.programs.bootstraps import QUARTER, BootstrapProgram
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.patterns import Patterns
from cloakwork.programs.port import Port
from cloakwork.programs.records import (
    meaning_record,
    read_slots,
    slots_record,
)
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    Input,
    Linear,
    Neg,
    Output,
    Rescale,
    SlotProgram,
)
from cloakwork.programs.text import from_text
from cloakwork.runtime import container
from tests.programs import bootstrap_facts, random_gates
from tests.programs.random_programs import damage, facts, programs
from tests.thoroughness import part

T = TypeVar("T")


def fields_of(record: Record) -> Fields:
    """A record as it comes out of a file."""
    return container.read_bytes(container.to_bytes("test", record), "test")


def slots_again(program: SlotProgram) -> SlotProgram:
    return read_slots(fields_of(slots_record(program)))


def read_bootstraps(fields: Fields) -> BootstrapProgram:
    return fields.made(BootstrapProgram)


def bootstraps_again(program: BootstrapProgram) -> BootstrapProgram:
    return read_bootstraps(fields_of(record_of(program)))


@given(programs())
def test_slot_programs_come_back(program: SlotProgram) -> None:
    assert facts(slots_again(program)) == facts(program)


@given(random_gates.gate_programs())
@settings(deadline=None)
def test_bootstrap_programs_come_back(gates: GateProgram) -> None:
    program = gate_by_gate(gates)
    assert bootstrap_facts.facts(bootstraps_again(program)) == bootstrap_facts.facts(program)


@given(random_gates.gate_programs(), random_gates.gate_programs())
@settings(deadline=None, max_examples=part(50))
def test_gate_programs_are_told_apart_by_their_records(a: GateProgram, b: GateProgram) -> None:
    assert digest_of(record_of(a)) == digest_of(record_of(a))
    same = random_gates.facts(a) == random_gates.facts(b)
    assert (digest_of(record_of(a)) == digest_of(record_of(b))) == same


def test_vectors_are_kept_once_and_packed() -> None:
    slots = 4096
    builder = Builder("", slots)
    x = builder.append(Input("x", 1))
    for _ in range(10):
        diagonals = {d: np.tile([1.0, 0.0], slots // 2) for d in range(10)}
        builder.append(Rescale(builder.append(Linear(x, diagonals, 4))))
    program = builder.finish()
    assert slots_record(program)["vectors"].shape == (1, slots)
    assert len(container.to_bytes("test", slots_record(program))) < slots
    first = slots_again(program).operations[1]
    assert isinstance(first, Linear)
    assert first.diagonals[0] is first.diagonals[9]


def test_any_text_comes_back() -> None:
    builder = Builder("é", 2)
    builder.append(Output(builder.append(Input("\ud800", 0))))
    program = builder.finish()
    assert facts(slots_again(program)) == facts(program)


def sparse(weights: NDArray[np.float64] | None = None) -> SparseDiagonals:
    """A transform of 4 slots: slots 0 and 1 swapped, slot 2 in its place."""
    return SparseDiagonals(4, np.array([0, 1, 2]), np.array([1, 0, 2]), weights)


def with_transform(diagonals: SparseDiagonals) -> SlotProgram:
    operations = (Input("x", 1), Linear(0, diagonals, 1), Linear(0, diagonals, 2))
    rescaled = (Rescale(1), Rescale(2), Add(3, 4), Output(5))
    return SlotProgram("t", 4, (*operations, *rescaled), (None,) * 7)


@pytest.mark.parametrize("weights", [None, np.array([0.5, -2.0, 3.0])])
def test_sparse_transforms_come_back_and_are_kept_once(
    weights: NDArray[np.float64] | None,
) -> None:
    program = with_transform(sparse(weights))
    assert len(slots_record(program)["transforms"]) == 1
    again = slots_again(program)
    assert facts(again) == facts(program)
    one, two = (each.diagonals for each in again.operations if isinstance(each, Linear))
    assert one is two
    assert isinstance(one, SparseDiagonals)
    x = np.array([5.0, 6.0, 7.0, 8.0])
    assert one.applied(x).tolist() == sparse(weights).applied(x).tolist()


def with_patterns() -> SlotProgram:
    """Two transforms of 4 slots that share two patterns: a slot, and two with one between them."""
    patterns = Patterns(np.array([0, 0, 2]), np.array([1, 2]))
    one, two = (
        SparseDiagonals.repeated(4, numbers, np.array([3, 1]), weights, patterns, np.array([0, 1]))
        for numbers, weights in [
            (np.array([0, 1]), np.array([2.0, 3.0])),
            (np.array([2, 2]), np.array([5.0, 7.0])),
        ]
    )
    operations = (Input("x", 1), Linear(0, one, 1), Linear(0, two, 2))
    rescaled = (Rescale(1), Rescale(2), Add(3, 4), Output(5))
    return SlotProgram("t", 4, (*operations, *rescaled), (None,) * 7)


def test_transforms_with_patterns_come_back_and_these_are_kept_once() -> None:
    program = with_patterns()
    assert len(slots_record(program)["patterns"]) == 1
    again = slots_again(program)
    assert facts(again) == facts(program)
    one, two = (each.diagonals for each in again.operations if isinstance(each, Linear))
    assert isinstance(one, SparseDiagonals)
    assert isinstance(two, SparseDiagonals)
    assert one.patterns is two.patterns
    assert {number: each.tolist() for number, each in one.items()} == {
        0: [0, 0, 0, 2],
        1: [0, 3, 0, 3],
    }
    assert {number: each.tolist() for number, each in two.items()} == {2: [0, 7, 0, 12]}
    x = np.array([5.0, 6.0, 7.0, 8.0])
    assert one.applied(x).tolist() == [0, 3 * 7, 0, 2 * 8 + 3 * 5]


@pytest.mark.parametrize(
    "changed",
    [
        {"steps": np.array([0, 0, 4], dtype=np.uint16)},
        {"steps": np.array([0, 0], dtype=np.uint16)},
        {"steps": np.array([0, 0, 2], dtype=np.int64)},
        {"sizes": np.array([3, 0], dtype=np.uint32)},
        {"sizes": np.array([2**32 - 1, 4], dtype=np.uint32)},
        {"sizes": np.zeros(0, dtype=np.uint32)},
    ],
    ids=str,
)
def test_hostile_patterns_are_refused(changed: Record) -> None:
    record = slots_record(with_patterns())
    (patterns,) = record["patterns"]
    with pytest.raises(MalformedBytesError, match="cannot read"):
        read_slots(fields_of({**record, "patterns": [{**patterns, **changed}]}))


@pytest.mark.parametrize(
    "changed",
    [
        {"patterns": 1},
        {"patterns": -1},
        {"patterns": None},
        {"pattern_of": None},
        {"pattern_of": np.array([0], dtype=np.uint16)},
        {"pattern_of": np.array([0, 2], dtype=np.uint16)},
    ],
    ids=str,
)
def test_elements_of_patterns_that_do_not_exist_are_refused(changed: Record) -> None:
    record = slots_record(with_patterns())
    transforms = [{**each, **changed} for each in record["transforms"]]
    with pytest.raises(MalformedBytesError, match="cannot read"):
        read_slots(fields_of({**record, "transforms": transforms}))


# What a record of a slot program has, each entry to be replaced.
SLOTS: Record = {
    "title": "t",
    "numbers": "real",
    "slots": 4,
    "operations": b'%0 = input "x" at 1',
    "vectors": np.zeros((0, 4)),
    "transforms": [],
}
CONSTANT = b"%0 = constant v0"


@given(programs())
def test_what_a_program_means_is_what_it_is_without_names(program: SlotProgram) -> None:
    unnamed = (None,) * len(program.operations)
    bare = SlotProgram("", program.slots, program.operations, unnamed, numbers=program.numbers)
    assert digest_of(meaning_record(program)) == digest_of(slots_record(bare))


def test_records_read_are_those_written() -> None:
    program = read_slots(fields_of(SLOTS))
    (only,) = program.operations
    assert isinstance(only, Input)
    assert (only.name, only.level, program.title) == ("x", 1, "t")
    assert digest_of(slots_record(program)) == digest_of(SLOTS)
    constant = {"operations": CONSTANT, "vectors": np.ones((1, 4))}
    assert isinstance(read_slots(fields_of({**SLOTS, **constant})).operations[0], Constant)


def without(record: Record, name: str) -> Record:
    return {key: value for key, value in record.items() if key != name}


@pytest.mark.parametrize("name", SLOTS)
@pytest.mark.parametrize("value", [None, -1, 1.5, "x", b"x", [], {}, np.zeros(3), True, ...])
def test_entries_of_other_kinds_are_refused(name: str, value: Any) -> None:
    right = {"title": (str,), "transforms": (list,)}.get(name, ())
    if isinstance(value, right):
        return
    record = without(SLOTS, name) if value is ... else {**SLOTS, name: value}
    with pytest.raises(MalformedBytesError, match="cannot read"):
        read_slots(fields_of(record))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"slots": 0}, "slots to be an integer from 1"),
        ({"slots": 65537}, "slots to be an integer from 1"),
        ({"slots": 8}, "vectors to be of 8 slots"),
        ({"numbers": "complex"}, "numbers to be one of"),
        ({"numbers": "integer"}, "vectors to be an array of int64"),
        ({"vectors": np.zeros((0, 4), dtype=np.int64)}, "vectors to be an array of float64"),
        ({"vectors": np.zeros(4)}, "with 2 axes"),
        ({"vectors": np.full((1, 4), np.nan), "operations": CONSTANT}, "not finite"),
        ({"vectors": np.full((1, 4), np.inf), "operations": CONSTANT}, "not finite"),
        ({"operations": CONSTANT}, "v0 is not given"),
        ({"operations": b""}, "expected %0"),
        ({"operations": b'%0 = input "x" at 1\n'}, "expected %1"),
        ({"operations": b'%0 = input "x" at 1 4'}, "end of the line"),
        ({"operations": b"%0 = neg %0"}, "comes later"),
        ({"operations": b'%1 = input "x" at 1'}, "expected %0"),
        ({"operations": b"%0 = linear %0 t0 by 1"}, "cannot read"),
        ({"operations": b"\xff" * 9}, "decode"),
        ({"operations": b" " * ((1 << 24) + 1)}, "up to 16777216 bytes"),
    ],
)
def test_what_is_wrong_is_said(changed: Record, reason: str) -> None:
    with pytest.raises(MalformedBytesError, match=reason):
        read_slots(fields_of({**SLOTS, **changed}))


@pytest.mark.parametrize(
    "changed",
    [
        {"numbers": np.array([0, 4], dtype=np.int32)},
        {"numbers": np.array([0], dtype=np.int32)},
        {"numbers": np.array([1, 0], dtype=np.int32)},
        {"numbers": np.array([0, 0], dtype=np.int32)},
        {"numbers": np.zeros(0, dtype=np.int32)},
        {"numbers": np.array([0, 1], dtype=np.int64)},
        {"counts": np.array([3, 0], dtype=np.uint32)},
        {"counts": np.array([1, 3], dtype=np.uint32)},
        {"counts": np.array([2**32 - 1, 4], dtype=np.uint32)},
        {"targets": np.array([1, 0, 4], dtype=np.uint32)},
        {"targets": np.array([1, 0], dtype=np.uint32)},
        {"weights": np.ones(2)},
        {"weights": np.array([1.0, np.nan, 1.0])},
        {"weights": np.array([1.0, np.inf, 1.0])},
        {"weights": np.ones(3, dtype=np.int64)},
        {"weights": 3},
    ],
    ids=str,
)
def test_hostile_transforms_are_refused(changed: Record) -> None:
    record = slots_record(with_transform(sparse()))
    (transform,) = record["transforms"]
    hostile = {**record, "transforms": [{**transform, **changed}]}
    with pytest.raises(MalformedBytesError, match="cannot read"):
        read_slots(fields_of(hostile))


def test_elements_of_one_place_add_up() -> None:
    record = slots_record(with_transform(sparse()))
    twice = {
        "numbers": np.array([1], dtype=np.int32),
        "counts": np.array([2], dtype=np.uint32),
        "targets": np.array([2, 2], dtype=np.uint32),
        "places": None,
        "weights": np.array([0.5, 1.0]),
    }
    program = read_slots(fields_of({**record, "transforms": [twice]}))
    (diagonals, _) = (each.diagonals for each in program.operations if isinstance(each, Linear))
    assert isinstance(diagonals, SparseDiagonals)
    assert diagonals[1].tolist() == [0, 0, 1.5, 0]
    assert diagonals.applied(np.array([0.0, 0.0, 0.0, 2.0])).tolist() == [0, 0, 3, 0]


# A record of a bootstrap program, each entry to be replaced.
BOOTSTRAPS = record_of(bootstrap_facts.made())
PORT = record_of(Port("a", "bits", 2))


@pytest.mark.parametrize("name", BOOTSTRAPS)
@pytest.mark.parametrize("value", [None, -1, "x", b"x", [3], {}, np.zeros(3), True, ...])
def test_entries_of_bootstrap_programs_are_checked(name: str, value: Any) -> None:
    if name == "title" and isinstance(value, str):
        return
    record = without(BOOTSTRAPS, name) if value is ... else {**BOOTSTRAPS, name: value}
    with pytest.raises(MalformedBytesError, match="cannot read"):
        read_bootstraps(fields_of(record))


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"kinds": np.array([1, 0], dtype=np.int64)}, "kinds to be an array of uint8"),
        ({"kinds": np.array([1, 3], dtype=np.uint8)}, "unknown kind 3"),
        ({"inputs": [PORT, PORT]}, "comes twice"),
        ({"inputs": [{**PORT, "width": 1}]}, "bit 1, of 1 bits"),
        ({"inputs": [{**PORT, "width": 2**21}]}, "expected up to 1048576 bits, got 2097152"),
        ({"inputs": [{**PORT, "shape": [2**40]}]}, "bits"),
        ({"inputs": [{**PORT, "shape": [2**41]}]}, "expected sizes from 1 on, got 2199"),
        ({"inputs": [{**PORT, "shape": [1] * 65}]}, "a shape of up to 64 axes"),
        ({"inputs": [{**PORT, "kind": "word"}]}, "kind to be one of"),
        ({"inputs": [{**PORT, "name": "\x1b[2J"}]}, "control characters"),
        ({"inputs": [{**PORT, "name": 3}]}, "name to be text"),
        ({"inputs": [{**PORT, "low": "nan"}]}, "low to be a finite number"),
        ({"inputs": [{**PORT, "low": 10**401}]}, "low to be a finite number"),
        ({"inputs": [{**PORT, "low": float("nan")}]}, "low to be a finite number"),
        ({"inputs": [{**PORT, "low": 1, "high": 0}]}, "its range from 1 to 0 is empty"),
        ({"input_encodings": np.array([QUARTER, 3], dtype=np.uint32)}, "in the encoding 3"),
        ({"term_signals": np.array([0, 1, 4], dtype=np.uint32)}, "not before it"),
        ({"output_signals": np.array([4, 5], dtype=np.uint32)}, "an output is %5, of 5 signals"),
    ],
)
def test_what_is_wrong_with_bootstraps_is_said(changed: Record, reason: str) -> None:
    with pytest.raises(MalformedBytesError, match=reason):
        read_bootstraps(fields_of({**BOOTSTRAPS, **changed}))


def read_or_refused(read: Callable[[Fields], T], record: Record) -> T | None:
    """What a record makes, None where it is refused."""
    try:
        return read(fields_of(record))
    except MalformedBytesError:
        return None


def flipped(array: NDArray[Any], rng: random.Random) -> NDArray[Any]:
    """An array with one bit changed."""
    data = bytearray(array.tobytes())
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return np.frombuffer(bytes(data), dtype=array.dtype).reshape(array.shape)


@settings(max_examples=part(60), deadline=None)
@given(programs(), st.integers(0, 2**32))
def test_damaged_slot_programs_are_refused_or_legal(program: SlotProgram, seed: int) -> None:
    rng = random.Random(seed)
    record = slots_record(program)
    for _ in range(10):
        text = damage(record["operations"].decode("utf-8", "surrogatepass"), rng)
        changed: dict[str, Any] = {"operations": text.encode("utf-8", "surrogatepass")}
        if record["vectors"].size:
            changed["vectors"] = flipped(record["vectors"], rng)
        made = read_or_refused(read_slots, {**record, **changed})
        if made is not None:
            assert facts(slots_again(made)) == facts(made)


@settings(max_examples=part(60), deadline=None)
@given(random_gates.gate_programs(), st.integers(0, 2**32))
def test_damaged_bootstraps_are_refused_or_legal(gates: GateProgram, seed: int) -> None:
    rng = random.Random(seed)
    record = record_of(gate_by_gate(gates))
    arrays = [name for name, value in record.items() if isinstance(value, np.ndarray)]
    for _ in range(10):
        name = rng.choice(arrays)
        if not record[name].size:
            continue
        made = read_or_refused(read_bootstraps, {**record, name: flipped(record[name], rng)})
        if made is not None:
            assert bootstrap_facts.facts(bootstraps_again(made)) == bootstrap_facts.facts(made)


def test_programs_of_text_and_of_records_are_the_same() -> None:
    builder = Builder("t", 2)
    builder.append(Output(builder.append(Neg(builder.append(Input("x", 0))))))
    program = builder.finish()
    text = 'cloakwork slot program 1\ntitle "t"\nslots 2\n%0 = input "x" at 0\n%1 = neg %0\n'
    assert facts(from_text(text + "%2 = output %1\n")) == facts(slots_again(program))
