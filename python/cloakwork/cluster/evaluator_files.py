"""The evaluator of a run in a folder: what it is in a head, and every key in a file of its own.

So a worker reads the keys that its tasks need, and no others (key pruning: FHE4DMM). The head is
written last: where it is, all files are, until someone removes one.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import Any

from cloakwork.base.record import Fields
from cloakwork.errors import MalformedBytesError
from cloakwork.runtime.encrypted import read_key_id
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.program import Program
from cloakwork.runtime.stored import read_part, record_bytes, write_part
from cloakwork.schemes.base import ReadLimits

EVALUATOR_KIND = "evaluator folder"

_MOST_KEYS = 1 << 20
_KEYS = "evaluation_keys"


def write_evaluator(folder: Folder, name: str, evaluator: Any) -> None:
    """Write an evaluator under a name that says what is in it.

    Raises:
        StorageFullError: There is no space left for it.
    """
    scheme = evaluator.program.scheme
    served: list[list[str]] = []
    for number, (names, part) in enumerate(scheme.key_parts(evaluator._key)):
        write_part(folder, _key_file(name, number), name, {_KEYS: scheme.dump(part)})
        served.append(sorted(names))
    head = {
        "program": evaluator.program.to_record(),
        "key_id": evaluator._key_id,
        "serves": served,
    }
    folder.write(name, EVALUATOR_KIND, head)


def is_whole(folder: Folder, name: str) -> bool:
    """Whether an evaluator is there, all files of which can be read.

    Raises:
        ClusterFolderError: Something else is where a file should be.
    """
    there = folder.names()
    try:
        files = len(_served(folder.read(name, EVALUATOR_KIND))) if name in there else 0
        for number in range(files):
            if _key_file(name, number) not in there:
                return False
            read_part(folder, _key_file(name, number), name)
    except MalformedBytesError:
        return False
    return files > 0


class EvaluatorFiles:
    """An evaluator that is read from a folder, with the keys that were asked for so far.

    Args:
        folder: The folder.
        name: The name of its head.
        limits: Which programs are accepted.

    Raises:
        ClusterFolderError: It is not seen from here.
        MalformedBytesError: It is damaged.
    """

    def __init__(self, folder: Folder, name: str, limits: ReadLimits) -> None:
        self._folder = folder
        self._name = name
        fields = folder.read(name, EVALUATOR_KIND)
        self.program = Program.from_fields(fields.within("program"), limits)
        self._key_id = read_key_id(fields)
        # The keys of each file that was not read.
        self._left = dict(enumerate(_served(fields)))
        self._evaluator: Evaluator | None = None
        self._reading = threading.Lock()

    def with_keys(self, names: Collection[str]) -> tuple[Evaluator, int]:
        """The evaluator with keys of these names, and bytes of keys that were read for that.

        Raises:
            ClusterFolderError: A file is not seen from here.
            MalformedBytesError: One is damaged.
            KeyMismatchError: One has a key of another client.
        """
        with self._reading:
            return self._with_keys(names)

    def _with_keys(self, names: Collection[str]) -> tuple[Evaluator, int]:
        numbers = [number for number, own in self._left.items() if not own.isdisjoint(names)]
        if self._evaluator is None and not numbers:
            # Additions take no key, but what holds keys says whose ciphertexts are added.
            numbers = [0]
        nbytes = 0
        for number in numbers:
            fields = read_part(self._folder, _key_file(self._name, number), self._name)
            nbytes += record_bytes(fields.raw(_KEYS))
            key = self.program.scheme.read_key(_KEYS, fields.within(_KEYS))
            if self._evaluator is None:
                self._evaluator = Evaluator(self.program, key, self._key_id)
            else:
                self._evaluator._extend_keys(key)
            del self._left[number]
        assert self._evaluator is not None
        return self._evaluator, nbytes


def _key_file(name: str, number: int) -> str:
    return f"{name}-{number}"


def _served(fields: Fields) -> list[frozenset[str]]:
    """What the keys of each file are called."""
    found = fields.value("serves", tuple[tuple[str, ...], ...])
    if not 0 < len(found) <= _MOST_KEYS:
        raise fields.wrong("serves", "the names of keys")
    return [frozenset(each) for each in found]
