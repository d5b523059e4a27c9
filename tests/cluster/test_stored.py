"""Encrypted values in folders: read in parts, refused where they are not what they say."""

from __future__ import annotations

import errno
import os
import pickle
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.cluster import placing
from cloakwork.cluster.evaluator_files import kept_in
from cloakwork.cluster.placing import ReadyJob
from cloakwork.errors import (
    ClusterFolderError,
    FileMissingError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    MissingDependencyError,
    ProgramMismatchError,
    StorageFullError,
    ValueOutOfRangeError,
)
from cloakwork.runtime import container, encrypted, stored
from cloakwork.runtime.folder import Folder
from cloakwork.runtime.stored import HEAD, HEAD_KIND, StoredEncrypted, parts_of
from tests.cluster.local import FREE, holders
from tests.cluster.test_products import A, B, product
from tests.families import BITS, ENCRYPTED, TENSORS, Family
from tests.runtime.test_client import secret_bytes, share_16_bytes

every_family = pytest.mark.parametrize("family", ENCRYPTED, ids=str)


def written(folder: Path, like: cw.Encrypted, runs: list[dict[int, Any]]) -> StoredEncrypted:
    """Records of values in a folder, each in a file of its own."""
    return stored.write_values(
        Folder.at(folder, "test"),
        stored.PREFIX,
        stored.new_mark(),
        like,
        [[((number,), partial(list, [record])) for number, record in run.items()] for run in runs],
    )


@every_family
def test_values_in_a_folder_are_those_in_memory(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    given = family.encrypted()
    records = given.records()
    kept = written(tmp_path, given, records)
    again = cw.load(tmp_path, cw.Encrypted)
    assert (again.ports, again.count, again.runs) == (given.ports, given.count, given.runs)
    # Values in a folder are not signed.
    assert again.to_bytes() == kept.to_bytes()
    assert again.records() == records
    assert again.nbytes == pytest.approx(given.nbytes, rel=0.2)
    assert pickle.loads(pickle.dumps(again)).to_bytes() == again.to_bytes()
    assert evaluator.run(again).to_bytes() == evaluator.run(given).to_bytes()
    made = evaluator.run(again, on=cw.cluster.Files(tmp_path / "jobs"))
    assert isinstance(made, StoredEncrypted)
    assert given.place is None
    assert cw.load(made.place, cw.Encrypted).to_bytes() == made.to_bytes()
    assert made.to_bytes() == evaluator.run(given).to_bytes()
    assert family.is_right(client.decrypt(made))


def test_a_client_encrypts_into_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program, client, evaluator = product()
    monkeypatch.setattr(stored, "_FILE_BYTES", 40_000)
    sent = client.encrypt_into(tmp_path / "in", A, b=B)
    names = {each.name for each in (tmp_path / "in").iterdir()}
    assert HEAD in names
    assert len(names) == 1 + len(parts_of(program, sent.numbers())) > 4
    result = client.decrypt(evaluator.run(sent))
    assert np.abs(result - A @ B).max() < 2**-7
    # Both operands may come apart, from different folders.
    left, right = client.encrypt_into(tmp_path / "a", a=A), client.encrypt(b=B)
    made = evaluator.run([left, right], on=cw.cluster.Files(tmp_path / "jobs"))
    assert np.abs(client.decrypt(made) - A @ B).max() < 2**-7
    # What is encrypted anew takes the place of what was there.
    client.encrypt_into(tmp_path / "in", a=2 * A / 2)
    assert cw.load(tmp_path / "in", cw.Encrypted).ports == ("a",)


def test_files_hold_what_the_same_products_need() -> None:
    program, client, _ = product()
    numbers = client.encrypt(A, B).numbers()
    parts = parts_of(program, numbers)
    assert sorted(number for part in parts for number in part) == sorted(numbers)
    assert len(parts) < len(numbers)


def test_several_evaluations_stay_in_a_folder(tmp_path: Path) -> None:
    _, client, evaluator = product()
    many = np.stack([A, -A / 2])
    sent = client.encrypt_into(tmp_path / "in", many, B)
    assert (sent.runs, sent.count) == (2, 2)
    made = evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))
    assert isinstance(made, StoredEncrypted)
    assert np.abs(client.decrypt(made) - many @ B).max() < 2**-7
    assert made.to_bytes() == evaluator.run(sent).to_bytes()


def test_a_run_in_this_process_goes_on_where_it_was(tmp_path: Path) -> None:
    _, client, evaluator = product()
    sent = client.encrypt_into(tmp_path / "in", A, B)
    first, second, third = cw.Profile(), cw.Profile(), cw.Profile()
    made = evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"), profile=first).to_bytes()
    assert (
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"), profile=second).to_bytes()
        == made
    )
    assert second.operations == []
    (lost, *_) = sorted((tmp_path / "jobs").glob("*/results-*"))
    lost.unlink()
    assert (
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"), profile=third).to_bytes()
        == made
    )
    assert 0 < len(third.operations) <= len(first.operations)


@pytest.mark.parametrize("name", ["cut", "results-*"])
def test_a_damaged_file_of_an_earlier_attempt_is_made_again(name: str, tmp_path: Path) -> None:
    _, client, evaluator = product()
    sent = client.encrypt_into(tmp_path / "in", A, B)
    made = evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs")).to_bytes()
    (damaged, *_) = sorted((tmp_path / "jobs").glob(f"*/{name}"))
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[:-30])
    profile = cw.Profile()
    assert (
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"), profile=profile).to_bytes()
        == made
    )
    assert damaged.read_bytes() == whole
    assert bool(profile.operations) == (name != "cut")


@pytest.mark.parametrize("name", ["input-0-0-0", "input-0-head"])
def test_a_damaged_file_of_inputs_is_made_again(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, client, evaluator = product()
    sent = client.encrypt(A, B)
    with monkeypatch.context() as interrupted:
        interrupted.setattr(ReadyJob, "remove_kept", lambda self: None)
        made = evaluator.run(sent, on=cw.cluster.Files(tmp_path)).to_bytes()
    (damaged,) = tmp_path.glob(f"*/{name}")
    damaged.write_bytes(damaged.read_bytes()[:-30])
    for lost in tmp_path.glob("*/results-*"):
        lost.unlink()
    assert evaluator.run(sent, on=cw.cluster.Files(tmp_path)).to_bytes() == made


def test_no_secret_is_in_a_folder(tmp_path: Path) -> None:
    _, client, evaluator = product()
    sent = client.encrypt_into(tmp_path / "in", A, B)
    evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))
    kept_in(Folder(str(tmp_path)), evaluator, "test")
    secret = secret_bytes(client)
    files = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 4
    for data in files:
        assert not share_16_bytes(data, secret)


def test_a_folder_of_another_program_or_key_is_refused(tmp_path: Path) -> None:
    _, _, evaluator = product()
    other, _ = TENSORS.keys()
    other.encrypt_into(tmp_path, **TENSORS.arguments)
    with pytest.raises(ProgramMismatchError, match="belong to another program"):
        evaluator.run(cw.load(tmp_path, cw.Encrypted), on=cw.cluster.Files(tmp_path / "jobs"))
    stranger, _ = evaluator.program.keygen()
    theirs = stranger.encrypt_into(tmp_path / "theirs", A, B)
    with pytest.raises(KeyMismatchError, match="another client"):
        evaluator.run(theirs, on=cw.cluster.Files(tmp_path / "jobs"))


def test_a_ciphertext_with_a_larger_bound_is_refused(tmp_path: Path) -> None:
    program, client, evaluator = product()
    (records,) = client.encrypt(A, B).records()
    key: Any = client._key
    scheme: Any = program.scheme
    parameters = scheme.parameters
    large = key.encrypt(parameters.encode(np.ones(parameters.slots), level=1, bound=64.0))
    changed = {**records, 3: scheme.dump(large)}
    kept = written(tmp_path, client.encrypt(A, B), [changed])
    with pytest.raises(ValueOutOfRangeError, match="expected ciphertext 3 to hold numbers"):
        evaluator.run(kept, on=cw.cluster.Files(tmp_path / "jobs"))


def test_what_is_no_folder_of_values_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ClusterFolderError, match="give the folder that encrypt_into or a run"):
        cw.load(tmp_path, cw.Encrypted)
    with pytest.raises(FileMissingError, match="none"):
        cw.load(tmp_path / "none", cw.Encrypted)
    for place in (f"file://{tmp_path}/none", f"memory://{tmp_path}/none"):
        with pytest.raises(ClusterFolderError, match="give the folder that encrypt_into or a run"):
            cw.load(place, cw.Encrypted)
    assert not [*tmp_path.iterdir()]
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / HEAD).touch()
    with pytest.raises(ClusterFolderError, match=f"wrote them to, such as {tmp_path}/below"):
        cw.load(tmp_path, cw.Encrypted)
    wrong: Any = 3
    with pytest.raises(InvalidArgumentError, match="expected a path"):
        cw.load(wrong, cw.Encrypted)
    with pytest.raises(InvalidArgumentError, match="nothing://bucket"):
        cw.load("nothing://bucket", cw.Encrypted)
    monkeypatch.setattr(encrypted, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'cloakwork\[cluster\]'"):
        cw.load(tmp_path, cw.Encrypted)


def test_a_file_is_no_folder_of_values(tmp_path: Path) -> None:
    _, client, evaluator = product()
    file = tmp_path / "file"
    file.write_text("no folder")
    with pytest.raises(ClusterFolderError, match="expected a folder at"):
        client.encrypt_into(file, A, B)
    with pytest.raises(MalformedBytesError, match="file"):
        cw.load(file, cw.Encrypted)
    sent = client.encrypt_into(tmp_path / "in", A, B)
    with pytest.raises(ClusterFolderError, match="expected a folder at"):
        evaluator.run(sent, on=cw.cluster.Files(file))
    part = tmp_path / "in" / "encrypted-0-0"
    part.unlink()
    part.mkdir()
    with pytest.raises(ClusterFolderError, match="encrypted-0-0: expected a file, got: Is a dir"):
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": ["../../etc/passwd"]}, "expected names to be names of files"),
        ({"folder": "../.."}, "expected names to be names of files"),
        ({"numbers": [[0, 0]]}, "a value is missing or comes twice"),
        ({"numbers": [[0], [1]]}, "a value is missing or comes twice"),
        ({"numbers": [[-1]]}, "numbers"),
        ({"numbers": [[0, 1, 2]]}, "expected values of the numbers 0 to 0, got others"),
    ],
)
def test_a_head_that_lies_is_refused(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    client, evaluator = cw.compile(lambda x: x * 2, (4,), log_n=10, insecure=True).keygen()
    client.encrypt_into(tmp_path, np.ones(4))
    fields = container.read(tmp_path / HEAD, HEAD_KIND)
    record = {name: fields.raw(name) for name in ("values", "runs", "nbytes", "digest")}
    record["runs"] = [{**record["runs"][0], **change}]
    container.write(tmp_path / HEAD, HEAD_KIND, record)
    with pytest.raises(MalformedBytesError, match=message):
        evaluator.run(cw.load(tmp_path, cw.Encrypted), on=cw.cluster.Files(tmp_path / "jobs"))


def exchange(first: Path, second: Path) -> None:
    """Give each of two files the other's name."""
    beside = first.with_name("beside")
    first.rename(beside)
    second.rename(first)
    beside.rename(second)


def in_new_folders(client: cw.Client, folder: Path) -> Path:
    """Other inputs in two folders, the one wanted being `new`."""
    client.encrypt_into(folder / "old", -A, B)
    client.encrypt_into(folder / "new", A, B)
    return folder / "new"


@pytest.mark.parametrize("changed", ["encrypted-0-0", HEAD])
@pytest.mark.parametrize("by_files", [True, False])
def test_files_of_two_writings_are_refused(changed: str, by_files: bool, tmp_path: Path) -> None:
    _, client, evaluator = product()
    place = in_new_folders(client, tmp_path)
    shutil.copy(tmp_path / "old" / changed, place / changed)
    sent = cw.load(place, cw.Encrypted)
    with pytest.raises(MalformedBytesError, match=rf"{place}/encrypted-0-\d: .* another writing"):
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs") if by_files else None)


def test_files_whose_names_are_exchanged_are_refused(tmp_path: Path) -> None:
    _, client, evaluator = product()
    place = in_new_folders(client, tmp_path)
    exchange(place / "encrypted-0-0", place / "encrypted-0-1")
    with pytest.raises(MalformedBytesError, match=r"encrypted-0-\d: .* of another name"):
        evaluator.run(cw.load(place, cw.Encrypted), on=cw.cluster.Files(tmp_path / "jobs"))


def test_results_of_another_run_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(placing, "Network", lambda: FREE)
    client, evaluator = holders()
    x, y = np.full((8, 128), 0.5), np.full((8, 128), 0.25)
    sent = [client.encrypt_into(tmp_path / name, x, y) for name in ("one", "two")]
    one, two = (evaluator.run(each, on=cw.cluster.Files(tmp_path / "jobs")) for each in sent)
    name = min(Path(str(one.place)).glob("results-*")).name
    shutil.copy(f"{two.place}/{name}", f"{one.place}/{name}")
    with pytest.raises(MalformedBytesError, match=rf"{one.place}/{name}: .* another writing"):
        client.decrypt(one)
    assert len(client.decrypt(two)) == 3


def test_a_folder_that_is_moved_is_read(tmp_path: Path) -> None:
    _, client, evaluator = product()
    place = in_new_folders(client, tmp_path)
    place.rename(tmp_path / "moved")
    made = evaluator.run(
        cw.load(tmp_path / "moved", cw.Encrypted), on=cw.cluster.Files(tmp_path / "jobs")
    )
    assert np.abs(client.decrypt(made) - A @ B).max() < 2**-7


@pytest.mark.parametrize("by_files", [True, False])
def test_a_folder_written_anew_is_not_what_was_opened(by_files: bool, tmp_path: Path) -> None:
    _, client, evaluator = product()
    client.encrypt_into(tmp_path / "in", A, B)
    held = cw.load(tmp_path / "in", cw.Encrypted)
    client.encrypt_into(tmp_path / "in", -A, B)
    on = cw.cluster.Files(tmp_path / "jobs") if by_files else None
    with pytest.raises(MalformedBytesError, match=r"/in.*: expected .*, .*open .* once more"):
        evaluator.run(held, on=on)
    made = evaluator.run(cw.load(tmp_path / "in", cw.Encrypted), on=on)
    assert np.abs(client.decrypt(made) + A @ B).max() < 2**-7


@pytest.mark.parametrize("family", [TENSORS, BITS], ids=str)
def test_a_damaged_file_is_refused(family: Family, tmp_path: Path) -> None:
    client, evaluator = family.keys()
    sent = client.encrypt_into(tmp_path, **family.arguments)
    (first, *_) = sorted(tmp_path.glob(f"{stored.PREFIX}0-*"))
    first.write_bytes(first.read_bytes()[:-30])
    with pytest.raises(MalformedBytesError):
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    _, client, evaluator = product()
    sent = client.encrypt_into(tmp_path / "in", A, B)
    monkeypatch.setattr(container, "_write_members", full)
    with pytest.raises(StorageFullError, match="there is no space left"):
        client.encrypt_into(tmp_path / "other", A, B)
    with pytest.raises(StorageFullError, match="there is no space left"):
        evaluator.run(sent, on=cw.cluster.Files(tmp_path / "jobs"))
