"""Files of the kinds that no run of a program needs: how they are written, and what they give.

An exchange stays as it is, for files of releases were made by it; a new kind of file is a new one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cloakwork as cw
from cloakwork.frontends.models.answers import Answers
from cloakwork.frontends.models.coding import Coding
from cloakwork.frontends.models.features import Condition, Conditions, Scaling, Steps
from cloakwork.service.run_inputs import RunInputs
from tests.families import same

_NUMBERS = np.array([0.5, -0.25, 0.125, 1.0])
_TABLE = np.array([[0.0, 0.0], [1.0, 0.5], [0.0, 0.25]])
_PASSPHRASE = "tests alone"


@dataclass(frozen=True)
class Exchange:
    """Files that belong together.

    Args:
        write: Writes them into a folder.
        results: What is decrypted, or looked up, by files of a folder.
        expected: What that is.
    """

    write: Callable[[Path], None]
    results: Callable[[Path], Any]
    expected: Any

    def is_right(self, folder: Path) -> bool:
        """Whether the files of a folder give what they have to."""
        return same(self.results(folder), self.expected, 2.0**-8)


def _load(path: Path, kind: type[Any]) -> Any:
    return cw.load(path, kind, insecure=True)


def _doubled(x: Any) -> Any:
    return x + x


def _total(total: Any, x: Any) -> Any:
    return total + x


def _program() -> cw.Program:
    return cw.compile(_doubled, (4,), log_n=6, insecure=True)


def _write_served(folder: Path) -> None:
    program = _program()
    client = cw.Interface.of(program).client()
    program.save(folder / "program")
    client.program.save(folder / "interface")
    client.save(folder / "client")
    client.evaluation_keys().save(folder / "keys")
    client.encrypt(_NUMBERS).save(folder / "inputs")


def _served(folder: Path) -> Any:
    program = _load(folder / "program", cw.Program)
    evaluator = program.evaluator(_load(folder / "keys", cw.EvaluationKeys))
    client = _load(folder / "client", cw.Client)
    interface = _load(folder / "interface", cw.Interface)
    assert interface.fingerprint == client.program.fingerprint
    return client.decrypt(evaluator.run(_load(folder / "inputs", cw.Encrypted)))


def _write_rekeyed(folder: Path) -> None:
    program = _program()
    (old, evaluator), (new, _) = program.keygen(), program.keygen()
    evaluator.run(old.encrypt(_NUMBERS)).save(folder / "outputs")
    old.rekeying_key(new).save(folder / "rekeying")
    new.save(folder / "client")


def _rekeyed(folder: Path) -> Any:
    key = _load(folder / "rekeying", cw.RekeyingKey)
    moved = key.rekey(_load(folder / "outputs", cw.Encrypted))
    return _load(folder / "client", cw.Client).decrypt(moved)


def _write_state(folder: Path) -> None:
    state = cw.state((4,), bound=8, steps=8)
    client, evaluator = cw.compile(_total, state, (4,), log_n=6, insecure=True).keygen()
    first = client.start()
    evaluator.run(client.encrypt(x=_NUMBERS), state=first)
    first.save(folder / "state")
    client.save(folder / "client")
    evaluator.save(folder / "evaluator")


def _state(folder: Path) -> Any:
    client = _load(folder / "client", cw.Client)
    evaluator = _load(folder / "evaluator", cw.Evaluator)
    state = _load(folder / "state", cw.EncryptedState)
    return client.decrypt(evaluator.run(client.encrypt(x=_NUMBERS), state=state, step=1))


def _write_session(folder: Path) -> None:
    session = cw.Session(depth=1, log_n=6, insecure=True)
    tensor = session.encrypt(_NUMBERS)
    cw.einsum("i->", tensor)
    tensor.save(folder / "tensor")
    session.evaluator().save(folder / "evaluator")
    session.save(folder / "session")


def _session(folder: Path) -> Any:
    evaluator = _load(folder / "evaluator", cw.SessionEvaluator)
    cw.einsum("i->", evaluator.load(folder / "tensor")).save(folder / "sum")
    session = _load(folder / "session", cw.Session)
    return np.asarray(session.decrypt(session.load(folder / "sum")))


def _write_words(folder: Path) -> None:
    cw.nn.Lookup("embedded", {"words": _TABLE}, np.zeros((2, 2)), None).save(folder / "lookup")


def _words(folder: Path) -> Any:
    return _load(folder / "lookup", cw.nn.Lookup)([1, 2])


def _write_vocabulary(folder: Path) -> None:
    tables = {"word": _TABLE, "position": np.zeros((4, 2))}
    lookup = cw.nn.Lookup("embedded", tables, np.zeros((1, 2)), None)
    cw.nn.Vocabulary(lookup, 4, _TABLE, error=0.25).save(folder / "vocabulary")


def _vocabulary(folder: Path) -> Any:
    vocabulary = _load(folder / "vocabulary", cw.nn.Vocabulary)
    return vocabulary.inputs(1, 2)["embedded"][0], vocabulary.logits([0.5, 0.25])


def _write_sealed(folder: Path) -> None:
    client, evaluator = _program().keygen()
    evaluator.run(client.encrypt(_NUMBERS)).save(folder / "outputs")
    client.save(folder / "client", passphrase=_PASSPHRASE)


def _sealed(folder: Path) -> Any:
    client = cw.load(folder / "client", cw.Client, insecure=True, passphrase=_PASSPHRASE)
    return client.decrypt(_load(folder / "outputs", cw.Encrypted))


def _write_asked(folder: Path) -> None:
    client, evaluator = _program().keygen()
    RunInputs.of(client.program, client.encrypt(_NUMBERS)).save(folder / "request")
    client.save(folder / "client")
    evaluator.save(folder / "evaluator")


def _asked(folder: Path) -> Any:
    evaluator = _load(folder / "evaluator", cw.Evaluator)
    made = evaluator.run(_load(folder / "request", RunInputs).encrypted)
    return _load(folder / "client", cw.Client).decrypt(made)


def _write_folder(folder: Path) -> None:
    client, evaluator = _program().keygen()
    client.encrypt_into(folder / "inputs", _NUMBERS)
    client.save(folder / "client")
    evaluator.save(folder / "evaluator")


def _folder(folder: Path) -> Any:
    client = _load(folder / "client", cw.Client)
    evaluator = _load(folder / "evaluator", cw.Evaluator)
    return client.decrypt(evaluator.run(_load(folder / "inputs", cw.Encrypted)))


def _write_search(folder: Path) -> tuple[cw.Index, cw.Client]:
    """Write an index, its keys and a query; the table is still to come."""
    options: dict[str, Any] = {"metric": "dot", "radius": 2.0, "rows_in_block": 4}
    index = cw.index(_TABLE, log_n=6, insecure=True, **options)
    client, evaluator = index.keygen()
    index.query(client, _TABLE[1]).save(folder / "query")
    index.save(folder / "index")
    client.save(folder / "client")
    evaluator.save(folder / "evaluator")
    return index, client


def _write_index(folder: Path) -> None:
    index, client = _write_search(folder)
    index.encrypt(client, folder / "table")


def _index(folder: Path) -> Any:
    evaluator = _load(folder / "evaluator", cw.Evaluator)
    query = _load(folder / "query", cw.Encrypted)
    answers = cw.Database(folder / "table").search(evaluator, query)
    client = _load(folder / "client", cw.Client)
    return _load(folder / "index", cw.Index).found(client, answers).scores


def _write_clear_table(folder: Path) -> None:
    index, _ = _write_search(folder)
    index.encode(folder / "table")


def _clear_table(folder: Path) -> Any:
    index = _load(folder / "index", cw.Index)
    evaluator = _load(folder / "evaluator", cw.Evaluator)
    query = _load(folder / "query", cw.Encrypted)
    answers = cw.ClearDatabase(folder / "table", index).search(evaluator, query)
    return index.found(_load(folder / "client", cw.Client), answers).scores


def _codings() -> Mapping[str, Coding]:
    """How features become steps, and how they become conditions."""
    steps = Steps((0.0, -1.0), (0.5, 0.25), 4)
    conditions = Conditions((Condition(0, 0.5), Condition(1, 0.0, reaches=True)), single=True)
    probability = Answers("probability", 8.0, ("no", "yes"), "sigmoid")
    return {
        "steps": Coding(2, ("a", "b"), (Scaling("divide", (2.0, 1.0)),), steps, probability),
        "conditions": Coding(2, (), (), conditions, Answers("class", 1.0, (3, 5), decided=True)),
    }


def _write_coding(folder: Path) -> None:
    for name, coding in _codings().items():
        coding.save(folder / name)


def _coding(folder: Path) -> Any:
    read = {name: cw.models.load_coding(folder / name) for name in _codings()}
    encoded = [read[name].encode([3.0, 0.5])["features"] for name in ("steps", "conditions")]
    return *encoded, read["steps"].decode([[0]])[0], read["conditions"].decode([[1]])


EXCHANGES: Mapping[str, Exchange] = {
    "served": Exchange(_write_served, _served, 2 * _NUMBERS),
    "rekeyed": Exchange(_write_rekeyed, _rekeyed, 2 * _NUMBERS),
    "state": Exchange(_write_state, _state, 2 * _NUMBERS),
    "session": Exchange(_write_session, _session, np.asarray(_NUMBERS.sum())),
    "words": Exchange(_write_words, _words, _TABLE[[1, 2]]),
    "vocabulary": Exchange(_write_vocabulary, _vocabulary, (_TABLE[1], _TABLE @ [0.5, 0.25])),
    "sealed": Exchange(_write_sealed, _sealed, 2 * _NUMBERS),
    "asked": Exchange(_write_asked, _asked, 2 * _NUMBERS),
    "folder": Exchange(_write_folder, _folder, 2 * _NUMBERS),
    "index": Exchange(_write_index, _index, _TABLE @ _TABLE[1]),
    "clear_table": Exchange(_write_clear_table, _clear_table, _TABLE @ _TABLE[1]),
    "coding": Exchange(
        _write_coding,
        _coding,
        (np.array([3, 6]), np.array([1, 1]), np.array([0.5, 0.5]), np.array([5])),
    ),
}
