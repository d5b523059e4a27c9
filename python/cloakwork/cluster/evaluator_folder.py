"""The files of an evaluator in the folder of a run: their names, and that they are there."""

from __future__ import annotations

import shutil
import tempfile
from weakref import WeakKeyDictionary, finalize

from cloakwork.base.record import digest_of
from cloakwork.cluster.evaluator_files import is_whole, write_evaluator
from cloakwork.runtime.evaluator import Evaluator
from cloakwork.runtime.folder import Folder

_folders: WeakKeyDictionary[Evaluator, str] = WeakKeyDictionary()
_names: WeakKeyDictionary[Evaluator, str] = WeakKeyDictionary()


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
