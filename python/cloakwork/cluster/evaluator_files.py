"""The evaluator of a run in a folder: what it is in a head, and every key in a file of its own.

So a worker reads the keys that its tasks need, and no others (key pruning: FHE4DMM). The head is
written last: where it is, all files are, until someone removes one.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Collection
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, finalize

from cloakwork.base.record import Fields, digest_of
from cloakwork.errors import MalformedBytesError, MissingKeyError
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.encrypted import read_key_id
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.program import Program
from cloakwork.runtime.stored import read_part, record_bytes, write_part
from cloakwork.schemes.base import ReadLimits

EVALUATOR_KIND = "evaluator folder"

_MOST_KEYS = 1 << 20
_KEYS = "evaluation_keys"
_folders: WeakKeyDictionary[Evaluator, str] = WeakKeyDictionary()
_names: WeakKeyDictionary[Evaluator, str] = WeakKeyDictionary()
# Evaluators that have been looked at: a large program has keys for a tenth of a second's search.
_with_all_keys: WeakSet[Evaluator] = WeakSet()


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


def own_folder(evaluator: Evaluator) -> str:
    """A temporary folder for the runs of an evaluator on clusters of this machine."""
    if evaluator not in _folders:
        _folders[evaluator] = folder = tempfile.mkdtemp(prefix="cloakwork-")
        finalize(evaluator, shutil.rmtree, folder, ignore_errors=True)
    return _folders[evaluator]


def file_name(evaluator: Evaluator) -> str:
    """What an evaluator's files are called where workers read them: by what is in them."""
    if evaluator not in _names:
        _names[evaluator] = f"evaluator-{digest_of(evaluator._record())[:32]}"
    return _names[evaluator]


def kept_in(folder: Folder, evaluator: Evaluator, action: str) -> str:
    """The name of an evaluator's files in a folder, written where they are not there."""
    name = file_name(evaluator)
    if not folder.has(name):
        _write(folder, evaluator, action)
    return name


def restored_in(folder: Folder, evaluator: Evaluator, action: str) -> bool:
    """Write an evaluator's files anew where those there cannot be read; whether that was so."""
    if is_whole(folder, file_name(evaluator)):
        return False
    _write(folder, evaluator, action)
    return True


def _write(folder: Folder, evaluator: Evaluator, action: str) -> None:
    folder.require_space(evaluator.key_bytes, action)
    write_evaluator(folder, file_name(evaluator), evaluator)


def require_all_keys(evaluator: Evaluator, action: str) -> None:
    """Refuse an evaluator whose keys are fewer than its program needs; each is looked at once.

    Raises:
        MissingKeyError: They are.
    """
    body = evaluator.program.body
    if evaluator in _with_all_keys or not isinstance(body, SlotProgram):
        return
    scheme = evaluator.program.scheme
    needed = scheme.required_keys(body)
    for held in scheme.held_keys(evaluator._key):
        missing = needed.beyond(held)
        if missing:
            steps = ", ".join(map(str, list(missing.rotations)[:5]))
            what = f"rotations by {steps}" if steps else "products"
            raise MissingKeyError(
                f"cannot {action}: the evaluation keys lack {len(missing)} of {len(needed)} keys, "
                f"of {what}; make the evaluator by client.evaluator() for this very program"
            )
    _with_all_keys.add(evaluator)
