"""One key for several programs: clients, evaluators and files of keys that serve further ones."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    DecryptionsSpentError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    MissingKeyError,
    NotPicklableError,
    ParametersMismatchError,
)
from tests.families import ENCRYPTED, TENSORS, Family

BY_FAMILY = pytest.mark.parametrize("family", ENCRYPTED, ids=str)


def pair() -> tuple[cw.Program, cw.Program]:
    first = cw.compile(lambda x: x.sum(), (8,), log_n=10, insecure=True)
    second = cw.compile(lambda x: (x * x)[::-1], (8,), log_n=10, insecure=True)
    made = cw.together(first, second)
    return made[0], made[1]


@BY_FAMILY
def test_all_keys_make_an_evaluator(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    assert client.evaluation_keys(family.program).names == frozenset()
    client.evaluation_keys().save(tmp_path / "keys")
    keys = cw.load(tmp_path / "keys", cw.EvaluationKeys, insecure=True)
    assert keys.names
    assert keys.nbytes > 0
    server = evaluator.serving(family.program, keys)
    assert family.is_right(client.decrypt(server.run(client.encrypt(**family.arguments))))


def test_files_serve_both_programs(tmp_path: Path) -> None:
    first, second = pair()
    client, evaluator = first.keygen()
    further = client.serving(second).evaluation_keys(first)
    further.save(tmp_path / "further")
    client.save(tmp_path / "client")
    evaluator.save(tmp_path / "evaluator")

    keys = cw.load(tmp_path / "further", cw.EvaluationKeys, insecure=True)
    held = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    held.serving(second, keys).save(tmp_path / "evaluator")
    server = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    other = client.serving(second)
    x = np.linspace(-1, 1, 8)
    assert np.abs(other.decrypt(server.run(other.encrypt(x))) - (x * x)[::-1]).max() < 2.0**-15
    total = client.decrypt(server.serving(first).run(client.encrypt(x)))
    assert abs(float(total) - x.sum()) < 2.0**-15
    # The same file holds the client of either program.
    other.save(tmp_path / "client")
    again = cw.load(tmp_path / "client", cw.Client, insecure=True)
    assert again.program.fingerprint == second.fingerprint
    assert again.maker == client.maker


def test_both_clients_count_what_is_given_out_together() -> None:
    first, second = pair()
    client, evaluator = first.keygen()
    other = client.serving(second)
    server = evaluator.serving(second, other.evaluation_keys(first))
    x = np.linspace(-1, 1, 8)
    sums, squares = evaluator.run(client.encrypt(x)), server.run(other.encrypt(x))
    client.decrypt_for_others(sums, statistical_bits=4, decryptions=1)
    with pytest.raises(DecryptionsSpentError):
        other.decrypt_for_others(squares, statistical_bits=4, decryptions=1)


def test_refusals_name_what_is_lacking() -> None:
    first, second = pair()
    client, evaluator = first.keygen()
    with pytest.raises(MissingKeyError, match="expected relinearisation as well"):
        evaluator.serving(second)
    stranger = first.keygen()[0].serving(second).evaluation_keys()
    with pytest.raises(KeyMismatchError, match="made by another client"):
        evaluator.serving(second, stranger)
    alone = cw.compile(lambda x: x * x, (8,), log_n=11, insecure=True)
    for holder in (client, evaluator):
        with pytest.raises(ParametersMismatchError, match=r"cloakwork\.together before keys"):
            holder.serving(alone)
    of_others = alone.keygen()[0].evaluation_keys()
    with pytest.raises(ParametersMismatchError, match="expected evaluation keys of"):
        evaluator.serving(second, of_others)
    for given in ("second", None, client):
        with pytest.raises(InvalidArgumentError, match="expected a program"):
            client.serving(given)  # type: ignore[arg-type]
        with pytest.raises(InvalidArgumentError, match="expected a program"):
            evaluator.serving(given)  # type: ignore[arg-type]
    with pytest.raises(InvalidArgumentError, match="expected keys to be an EvaluationKeys or None"):
        evaluator.serving(first, evaluator)  # type: ignore[arg-type]
    with pytest.raises(ParametersMismatchError):
        client.evaluation_keys(alone)


def test_keys_are_read_as_what_they_are_and_show_no_secret(tmp_path: Path) -> None:
    client, _ = TENSORS.keys()
    client.evaluation_keys().save(tmp_path / "keys")
    with pytest.raises(MalformedBytesError, match="expected an evaluator file"):
        cw.load(tmp_path / "keys", cw.Evaluator, insecure=True)
    client.save(tmp_path / "client")
    with pytest.raises(MalformedBytesError, match="expected an evaluation keys file"):
        cw.load(tmp_path / "client", cw.EvaluationKeys, insecure=True)
    keys: Any = client.evaluation_keys()
    assert "rotation" in repr(keys)
    with pytest.raises(NotPicklableError):
        pickle.dumps(keys)
