"""A fuzz target for the files of Cloakwork: reads and uses what nobody saved.

    pip install atheris
    python -m tests.fuzz.containers -rss_limit_mb=2048 -timeout=30 -runs=1000000

A file is taken that was saved for each kind of each family; its record, its arrays or its bytes are
changed; it is read, and what was read is used. Nothing but the library's own errors may come of it.
"""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import cloakwork as cw
from cloakwork.cli.inspection import inspected
from cloakwork.errors import CloakworkError
from tests.families import ENCRYPTED, Family
from tests.fuzz.choices import Choices, feed

# What stands in for numbers, words and entries of a record.
ODD: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 63, 64, 255, 1 << 20, 1 << 31, 1 << 32, 1 << 63, 1 << 64, -(1 << 70)),
    *(0.0, -0.0, 0.5, 1e-320, 1e308, float("inf"), float("nan"), True, False, None),
    *("", "a", "\ud800", "1" * 500, "-1", "real", "bits", "inputs", "outputs", "ckks", "bgv"),
    *("tfhe", "clear bits", "space16", [], [[]], {}, {"record": {}}, [0, 0], [1 << 40]),
)
# Of an array that grows.
_MOST_BYTES = 1 << 26
# Values that a program is run on in the clear, at most.
_MOST_NUMBERS = 4096


class Seed(NamedTuple):
    """A file that was saved.

    Args:
        family: Of which family.
        kind: What reads it.
        data: Its bytes.
    """

    family: Family
    kind: type[Any]
    data: bytes


@cache
def seeds() -> tuple[Seed, ...]:
    """One file of every kind of every family, and those of a session."""
    made: list[Seed] = []
    with tempfile.TemporaryDirectory() as folder:

        def add(family: Family, kind: type[Any], thing: Any) -> None:
            path = Path(folder) / str(len(made))
            thing.save(path)
            made.append(Seed(family, kind, path.read_bytes()))

        for family in ENCRYPTED:
            client, evaluator = family.keys()
            inputs = family.encrypted()
            things: list[Any] = [family.program, client, client.public_key(), evaluator]
            things += [client.evaluation_keys(), cw.Interface.of(family.program)]
            things += [inputs, evaluator.run(inputs)]
            for thing in things:
                add(family, type(thing), thing)
        other = ENCRYPTED[0].program.keygen()[0]
        add(ENCRYPTED[0], cw.RekeyingKey, ENCRYPTED[0].keys()[0].rekeying_key(other))
        add(ENCRYPTED[0], cw.EncryptedState, _counter()[0].start())
        session = _session()
        tensor = session.encrypt([[0.5, 0.25], [1.0, -1.0]])
        for thing, kind in ((session, cw.Session), (session.evaluator(), cw.SessionEvaluator)):
            add(ENCRYPTED[0], kind, thing)
        add(ENCRYPTED[0], cw.Tensor, tensor)
    return tuple(made)


@cache
def _counter() -> tuple[cw.Client, cw.Evaluator]:
    state = cw.state((2,), bound=4, steps=4)
    return cw.compile(lambda total, x: total + x, state, (2,), log_n=9, insecure=True).keygen()


@cache
def _session() -> cw.Session:
    return cw.Session(depth=1, log_n=9, insecure=True)


def attempt_in_folder(choices: Choices, folder: Path) -> None:
    """Encrypt inputs into a folder, change one of its files, read the folder and use it.

    Raises:
        Exception: Anything but the library's own errors.
    """
    family = ENCRYPTED[choices.number(len(ENCRYPTED))]
    client, evaluator = family.keys()
    client.encrypt_into(folder, **family.arguments)
    files = sorted(each for each in folder.iterdir() if each.is_file())
    path = files[choices.number(len(files))]
    path.write_bytes(changed(path.read_bytes(), choices))
    with suppress(CloakworkError):
        inspected(folder)
    with suppress(CloakworkError):
        client.decrypt(evaluator.run(cw.load(folder, cw.Encrypted)))


def attempt(choices: Choices, path: Path) -> None:
    """Change a file, read it and use it.

    Raises:
        Exception: Anything but the library's own errors.
    """
    seed = seeds()[choices.number(len(seeds()))]
    path.touch(mode=0o600)
    path.write_bytes(changed(seed.data, choices))
    with suppress(CloakworkError):
        inspected(path)
    with suppress(CloakworkError):
        if seed.kind is cw.Tensor:
            _session().decrypt(_session().load(path))
        else:
            _use(cw.load(path, seed.kind, insecure=True, max_log_n=12), seed.family)


def _use(loaded: Any, family: Family) -> None:
    """Use what was read as its holder would, with whatever is right beside it."""
    client, evaluator = family.keys()
    match loaded:
        case cw.Program():
            cw.explain(loaded)
            if sum(port.count * max(port.width, 1) for port in loaded.inputs) <= _MOST_NUMBERS:
                loaded.run_clear(**family.arguments)
        case cw.Interface():
            own = loaded.client()
            server = family.program.evaluator(own.evaluation_keys())
            own.decrypt(server.run(own.encrypt(**family.arguments)))
        case cw.Client():
            loaded.decrypt(evaluator.run(loaded.encrypt(**family.arguments)))
        case cw.Encryptor():
            client.decrypt(evaluator.run(loaded.encrypt(**family.arguments)))
        case cw.Evaluator():
            client.decrypt(loaded.run(family.encrypted()))
        case cw.EvaluationKeys():
            client.decrypt(evaluator.serving(family.program, loaded).run(family.encrypted()))
        case cw.RekeyingKey():
            loaded.rekey(family.encrypted())
        case cw.EncryptedState():
            keeper, counter = _counter()
            keeper.decrypt(counter.run(keeper.encrypt(x=[0.5, 1.0]), state=loaded))
        case cw.Encrypted():
            client.decrypt(loaded if loaded.role == "outputs" else evaluator.run(loaded))
        case cw.Session():
            loaded.decrypt(loaded.encrypt([0.5]) * 2.0)


def changed(data: bytes, choices: Choices) -> bytes:
    """A file changed in one of five ways."""
    match choices.number(9):
        case 0:
            return _spliced(data, choices)
        case 8:
            return _grown(data, choices)
        case 1 | 2 | 3:
            return _rezipped(data, lambda name, each: _member_changed(name, each, choices))
        case _:
            return _rezipped(data, lambda name, each: _header_changed(name, each, choices))


def _spliced(data: bytes, choices: Choices) -> bytes:
    """Bytes in place of others, somewhere, often of another length."""
    start = choices.number(len(data))
    end = min(len(data), start + choices.number(16))
    return data[:start] + choices.octets(16) + data[end:]


def _rezipped(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The archive with its members changed and checksums that fit."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as archive, zipfile.ZipFile(made, "w") as written:
        for member in archive.infolist():
            changed = change(member.filename, archive.read(member))
            written.writestr(member.filename, changed, member.compress_type)
    return made.getvalue()


def _grown(data: bytes, choices: Choices) -> bytes:
    """The archive with zeros in place of an array, many times as many, as its header says."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        head = json.loads(archive.read("header.json"))
        arrays = [each for each in _within(head) if isinstance(each, dict) and "array" in each]
        sizes = {each.filename: each.file_size for each in archive.infolist()}
    if not arrays:
        return data
    chosen = arrays[choices.number(len(arrays))]
    times = 1 << choices.number(16)
    # Each array has an axis.
    chosen["shape"][choices.number(len(chosen["shape"]))] *= times
    made = {
        chosen["array"]: bytes(min(sizes[chosen["array"]] * times, _MOST_BYTES)),
        "header.json": json.dumps(head).encode(),
    }
    return _rezipped(data, made.get)


def _within(value: Any) -> Iterator[Any]:
    """A value and all that is in it."""
    yield value
    entries = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list):
        for each in entries:
            yield from _within(each)


def _member_changed(name: str, data: bytes, choices: Choices) -> bytes:
    if name.endswith(".json") or choices.number(3):
        return data
    return _spliced(data, choices) if data else data


def _header_changed(name: str, data: bytes, choices: Choices) -> bytes:
    if not name.endswith(".json"):
        return data
    head = json.loads(data)
    for _ in range(1 + choices.number(2)):
        places = list(_places(head, ()))
        _replace(head, places[choices.number(len(places))], choices)
    return json.dumps(head).encode("utf-8", "surrogatepass")


def _places(value: Any, place: tuple[Any, ...]) -> list[tuple[Any, ...]]:
    """Where anything stands in a record."""
    found = [place] if place else []
    if isinstance(value, dict):
        entries: Sequence[Any] = list(value.items())
    elif isinstance(value, list):
        entries = list(enumerate(value))
    else:
        entries = []
    for key, each in entries:
        found += _places(each, (*place, key))
    return found


def _replace(head: Any, place: tuple[Any, ...], choices: Choices) -> None:
    """Put something else in a place, leave it out, or put it in twice."""
    holder = head
    for key in place[:-1]:
        holder = holder[key]
    key = place[-1]
    match choices.number(6):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.insert(key, holder[key])
        case 2 if isinstance(holder[key], int) and not isinstance(holder[key], bool):
            holder[key] += (-2, -1, 1, 2)[choices.number(4)]
        case 3 if isinstance(holder, list):
            holder.pop(key)
        case _:
            holder[key] = deepcopy(ODD[choices.number(len(ODD))])


def main() -> None:
    """Feed the target by atheris."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "file"
        seeds()
        feed(lambda choices: attempt(choices, path))


if __name__ == "__main__":
    main()
