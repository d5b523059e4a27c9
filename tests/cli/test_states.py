"""States, keys of several interfaces and what runs took, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import cloakwork as cw
from tests.cli.command import Cloakwork


def test_a_state_is_replaced_by_the_next_alone(tmp_path: Path) -> None:
    cloakwork = Cloakwork(tmp_path)
    program = cw.compile(
        lambda count: count + 1, cw.state((2,), bound=9, steps=9), log_n=10, insecure=True
    )
    program.save(tmp_path / "p.cw")
    cloakwork("keygen", "p.cw", "--client", "c", "--evaluator", "e", "--insecure")
    assert "give --insecure" in cloakwork.refusal("encrypt", "c", "--first-state", "state")
    cloakwork("encrypt", "c", "--first-state", "state", "--insecure")
    (tmp_path / "link").symlink_to("state")
    for step in ("0", "1"):
        asked = ("--state", "link", "--step", step, "--insecure")
        cloakwork("run", "e", "-o", "out", *asked)
    assert (tmp_path / "link").is_symlink()
    assert (
        np.abs(np.subtract(json.loads(cloakwork("decrypt", "c", "out", "--insecure")), 2)).max()
        < 2.0**-15
    )
    found = cloakwork("inspect", "state").splitlines()
    assert found[0].startswith("state file, ")
    assert found[1:3] == [
        "holds     encrypted inputs: count",
        f"program   {program.fingerprint}",
    ]
    assert "step      2" in found
    refused = cloakwork.refusal("encrypt", "c", "--first-state", "state", "--insecure")
    assert "a state that is replaced is lost" in refused
    assert cw.load(tmp_path / "state", cw.EncryptedState).step == 2
    assert "Missing argument 'INPUTS...'" in cloakwork.refusal("run", "e", "-o", "out")


def test_clients_of_several_interfaces_have_one_key(tmp_path: Path) -> None:
    cloakwork = Cloakwork(tmp_path)
    first = cw.compile(lambda x: x * x, (4,), log_n=11, insecure=True)
    second = cw.compile(lambda y: y.sum(), cw.result(first), log_n=11, insecure=True)
    for name, each in zip(("1", "2"), cw.together(first, second, insecure=True), strict=True):
        each.save(tmp_path / f"{name}.cw")
        cw.Interface.of(each).save(tmp_path / f"{name}.if")
    asked = ("keygen", "1.if", "--serving", "2.if", "--client", "c", "--keys", "k", "--insecure")
    cloakwork(*asked)
    cloakwork("evaluator", "1.cw", "k", "-o", "e", "--insecure")
    client, evaluator = (
        cw.load(tmp_path / name, kind, insecure=True)
        for name, kind in (("c", cw.Client), ("e", cw.Evaluator))
    )
    assert isinstance(client, cw.Client)
    assert isinstance(evaluator, cw.Evaluator)
    second = cw.load(tmp_path / "2.cw", cw.Program, insecure=True)
    made = evaluator.serving(second).run(evaluator.run(client.encrypt([1, 0.5, 0, -0.5])))
    assert abs(client.serving(second).decrypt(made) - 1.5) < 2.0**-12


def test_what_a_row_took_is_refused_before_it_runs(tmp_path: Path) -> None:
    cloakwork = Cloakwork(tmp_path)
    first = cw.compile(lambda x: x * x, (4,), log_n=11, insecure=True)
    second = cw.compile(lambda y: y.sum(), cw.result(first), log_n=11, insecure=True)
    row = cw.in_a_row(first, second, insecure=True)
    client, evaluator = row.keygen()
    evaluator.save(tmp_path / "e")
    client.encrypt([1, 0.5, 0, -0.5]).save(tmp_path / "in")
    asked = ("run", "e", "in", "-o", "out", "--insecure")
    assert "leave --profile out" in cloakwork.refusal(*asked, "--profile")
    assert not (tmp_path / "out").exists()
    cloakwork(*asked)
    assert (tmp_path / "out").exists()


def test_a_rekeying_key_says_between_which_keys_it_leads(tmp_path: Path) -> None:
    program = cw.compile(lambda x: x * 2, (2,), log_n=10, insecure=True)
    old, new = (program.keygen()[0] for _ in range(2))
    key = old.rekeying_key(new)
    key.save(tmp_path / "key")
    found = Cloakwork(tmp_path)("inspect", "key").splitlines()
    assert found[1] == "holds     the old secret key, encrypted under the new one"
    assert found[-2:] == [f"from      key {key.from_id.hex()}", f"to        key {key.to_id.hex()}"]
