"""What a reader takes of memory: no more than 64 times the file and a mebibyte, whatever it is."""

from __future__ import annotations

import gc
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import CloakworkError, MalformedBytesError
from cloakwork.plan.boolean.cache import KIND as MAPPED
from cloakwork.programs.records import read_slots
from cloakwork.runtime import container
from cloakwork.runtime.container import VERSION
from tests.families import BY_NAME, ENCRYPTED, FAMILIES, Family
from tests.fuzz.containers import seeds

FACTOR, BASE = 64, 1 << 20
KINDS: dict[str, type[Any]] = {
    each.__name__: each
    for each in (
        cw.Program,
        cw.Client,
        cw.Encryptor,
        cw.Evaluator,
        cw.EvaluationKeys,
        cw.Encrypted,
        cw.Session,
        cw.SessionEvaluator,
    )
}
# Text of a header that takes the most memory for its length.
REPEATED = {
    "lists": "[]",
    "nested lists": "[" * 90 + "]" * 90,
    "records": '{"record":{}}',
    "nested records": '{"record":{"a":' * 40 + "0" + "}}" * 40,
    "words": '"ab"',
    "long words": '"' + "a" * 50 + "😀" + '"',
    "numbers": "1234",
    "small numbers": "0",
    "fractions": "0.5",
    "bytes": '{"bytes":"0","length":0}',
}


@pytest.fixture(scope="module", autouse=True)
def _what_others_made_is_left_alone() -> None:
    """Garbage is collected before every reading, which takes as long as there are objects."""
    gc.collect()
    gc.freeze()


def taken(read: Callable[[], Any]) -> int:
    """Bytes that a reader takes at its peak, refusals included."""
    gc.collect()
    tracemalloc.start()
    try:
        with suppress(CloakworkError):
            read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def reader_of(kind: str, path: Path) -> Callable[[], Any]:
    """What reads a file of a kind, by its name."""
    if kind == MAPPED:
        return lambda: container.read_bytes(path.read_bytes(), MAPPED).raw("program")
    if kind == "bytes":
        return lambda: cw.Encrypted.from_bytes(path.read_bytes())
    return lambda: cw.load(path, KINDS[kind], insecure=True, max_log_n=12)


@cache
def zeros(size: int) -> bytes:
    """An archive of zeros alone, whose header is to come."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0.array", bytes(size))
    return made.getvalue()


def headed(kind: str, content: Any) -> str:
    said = KINDS[kind]._kind if kind in KINDS else MAPPED if kind == MAPPED else cw.Encrypted._kind
    return json.dumps({"version": VERSION, "kind": said, "content": content})


def bomb(kind: str, entry: str, repeated: str) -> bytes:
    """A file of a kind one entry of which is a long list."""
    listed = ",".join([repeated] * (30_000 // len(repeated)))
    run: dict[str, Any] = {"numbers": [0], "values": [0]}
    record: dict[str, Any] = {
        "program": "p",
        "role": "inputs",
        "ports": [],
        "count": None,
        "key_id": {"bytes": "0", "length": 16},
        "runs": [{"record": run}],
    }
    (run if entry in run else record)[entry] = ["@"]
    header = headed(kind, {"record": record}).replace('"@"', listed)
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("0", bytes(16))
        archive.writestr("header.json", header)
    return made.getvalue()


@pytest.mark.parametrize("repeated", REPEATED)
@pytest.mark.parametrize("entry", ["ports", "runs", "values", "numbers"])
def test_long_lists(repeated: str, entry: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(bomb("Encrypted", entry, REPEATED[repeated]))
    assert taken(reader_of("Encrypted", path)) <= FACTOR * path.stat().st_size + BASE


@pytest.mark.parametrize("kind", [*KINDS, "bytes", MAPPED])
def test_long_lists_in_files_of_every_kind(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    for repeated in ("lists", "nested lists", "records"):
        path.write_bytes(bomb(kind, "x", REPEATED[repeated]))
        assert taken(reader_of(kind, path)) <= FACTOR * path.stat().st_size + BASE


@pytest.mark.parametrize("kind", [*KINDS, "bytes", MAPPED])
def test_arrays_of_zeros_are_refused_or_not_made(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    for size, of, shape in ((64 << 20, "|u1", [64 << 20]), (32 << 20, "<f8", [4, 1 << 20])):
        array = {"array": "0.array", "of": of, "shape": shape}
        path.write_bytes(zeros(size))
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("header.json", headed(kind, {"record": {"x": array}}))
        assert path.stat().st_size < size // 500
        assert taken(reader_of(kind, path)) <= FACTOR * path.stat().st_size + BASE
        with pytest.raises(MalformedBytesError, match=r"its arrays take \d+ bytes"):
            container.read_any(path)


def test_arrays_as_large_as_allowed_are_made_once_they_are_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "zeros"
    container.write(path, "note", {"a": np.zeros((16, 1 << 16)), "b": np.zeros(1 << 16)})
    size = path.stat().st_size
    assert size < (16 << 16) * 8 // 10
    fields = container.read(path, "note")
    assert taken(lambda: container.read(path, "note")) < 4 * size
    assert taken(lambda: fields.array("a", "float64", ndim=2, most=1000)) < 1 << 16
    assert taken(lambda: fields.array("a", "float64", ndim=1)) < 1 << 16
    assert taken(lambda: fields.array("a", "float64", ndim=2)) <= FACTOR * size + BASE
    assert not fields.array("b", "float64").any()


def write_privately(path: Path, data: bytes) -> None:
    """A file that its owner alone may read, as those with secret keys are to be."""
    path.write_bytes(data)
    path.chmod(0o600)


@pytest.mark.parametrize("kind", ["Encrypted", "Session", "SessionEvaluator"])
def test_kinds_without_arrays_refuse_them(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    (seed,) = [each for each in seeds() if each.kind.__name__ == kind][:1]
    write_privately(path, seed.data)
    fields = container.read(path, KINDS[kind]._kind)
    record = {**fields._entries, "more": np.zeros(3)}
    container.write(path, KINDS[kind]._kind, record)
    with pytest.raises(MalformedBytesError, match="expected no arrays, got one"):
        cw.load(path, KINDS[kind], insecure=True)


# Sessions are of tensors alone.
SAVED = [
    (family, kind)
    for family in ENCRYPTED
    for kind in KINDS
    if family is ENCRYPTED[0] or "Session" not in kind
]


@pytest.mark.parametrize(("family", "kind"), SAVED, ids=str)
def test_files_that_were_saved_take_no_more(family: Family, kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    found = [each for each in seeds() if each.family is family and each.kind is KINDS[kind]]
    assert found
    for seed in found:
        write_privately(path, seed.data)
        reader = reader_of(kind, path)
        reader()
        assert taken(reader) <= FACTOR * len(seed.data) + BASE


def lines(form: str, first: str = '%0=input""at 1') -> str:
    """Text of thousands of operations of one form."""
    return "\n".join([first, *(form.format(number) for number in range(1, 4000))])


VECTORS = {
    "one vector, used often": ((1, 8192), lines("%{}=constant v0", "%0=constant v0")),
    "short vectors": ((1 << 18, 1), "%0=constant v0"),
    "short operations": ((0, 64), lines("%{}=sub%0%0")),
    "inputs": ((0, 64), lines('%{}=input""at 1')),
    "layouts": ((0, 64), lines("%{}=sub%0%0layout(1@1)")),
}


@pytest.mark.parametrize("name", VECTORS)
def test_operations_and_vectors(name: str, tmp_path: Path) -> None:
    shape, text = VECTORS[name]
    path = tmp_path / "body"
    body = {
        "title": "",
        "numbers": "real",
        "slots": shape[1],
        "operations": text.encode(),
        "vectors": np.zeros(shape),
        "transforms": [],
    }
    container.write(path, "body", body)
    most = FACTOR * path.stat().st_size + BASE
    assert taken(lambda: read_slots(container.read(path, "body"))) <= most


def test_transforms(tmp_path: Path) -> None:
    path, slots = tmp_path / "body", 1 << 15
    transform = {
        "numbers": np.arange(slots, dtype=np.int32),
        "counts": np.ones(slots, dtype=np.uint32),
        "targets": np.zeros(slots, dtype=np.uint16),
        "places": None,
        "weights": None,
    }
    body = {
        "title": "",
        "numbers": "real",
        "slots": slots,
        "operations": b'%0=input""at 1\n%1=output %0',
        "vectors": np.zeros((0, slots)),
        "transforms": [transform] * 8,
    }
    container.write(path, "body", body)
    read_slots(container.read(path, "body"))
    most = FACTOR * path.stat().st_size + BASE
    assert taken(lambda: read_slots(container.read(path, "body"))) <= most


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_programs_of_every_family_are_written_as_they_are_read(family: Any, tmp_path: Path) -> None:
    family.program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert loaded.fingerprint == BY_NAME[str(family)].program.fingerprint
