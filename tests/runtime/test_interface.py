"""Clients of a program's interface alone: no weights, the same ciphertexts, named refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import cloakwork as cw
from cloakwork.errors import (
    InputNameError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidProgramError,
    MalformedBytesError,
    MissingKeyError,
    ProgramMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.runtime import container
from tests.families import BITS, CIRCUITS, ENCRYPTED, NETWORKS, TENSORS, Family

BY_FAMILY = pytest.mark.parametrize("family", ENCRYPTED, ids=str)


@BY_FAMILY
def test_a_client_of_an_interface_does_what_one_of_the_program_does(
    family: Family, tmp_path: Path
) -> None:
    program = family.program
    cw.Interface.of(program).save(tmp_path / "interface")
    interface = cw.load(tmp_path / "interface", cw.Interface, insecure=True)
    assert interface.fingerprint == program.fingerprint
    assert (interface.inputs, interface.outputs) == (program.inputs, program.outputs)
    client = interface.client()
    client.save(tmp_path / "client")
    client.evaluation_keys().save(tmp_path / "keys")

    keys = cw.load(tmp_path / "keys", cw.EvaluationKeys, insecure=True)
    evaluator = program.evaluator(keys)
    assert keys.names == program.keygen()[0].evaluation_keys().names
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    sent = client.encrypt(**family.arguments)
    assert family.is_right(client.decrypt(evaluator.run(cw.Encrypted.from_bytes(sent.to_bytes()))))
    encryptor = client.public_key()
    encryptor.save(tmp_path / "encryptor")
    encryptor = cw.load(tmp_path / "encryptor", cw.Encryptor, insecure=True)
    assert family.is_right(client.decrypt(evaluator.run(encryptor.encrypt(**family.arguments))))
    # With the whole program the same key does the rest.
    whole = client.serving(program)
    assert whole.evaluation_keys(interface_program := client.program).names == frozenset()
    assert isinstance(interface_program, cw.Interface)
    assert family.is_right(whole.decrypt(whole.evaluator().run(sent)))


@pytest.mark.slow
@BY_FAMILY
def test_a_loaded_interface_serves_at_128_bits(family: Family, tmp_path: Path) -> None:
    program = family.make(None)
    assert not program.warning
    cw.Interface.of(program).save(tmp_path / "interface")
    client = cw.load(tmp_path / "interface", cw.Interface).client()
    client.save(tmp_path / "client")
    client.evaluation_keys().save(tmp_path / "keys")
    evaluator = program.evaluator(cw.load(tmp_path / "keys", cw.EvaluationKeys))
    client = cw.load(tmp_path / "client", cw.Client)
    assert family.is_right(client.decrypt(evaluator.run(client.encrypt(**family.arguments))))


@BY_FAMILY
def test_files_do_not_decide_on_security(family: Family, tmp_path: Path) -> None:
    if not family.program.warning:
        return
    cw.Interface.of(family.program).save(tmp_path / "interface")
    cw.Interface.of(family.program).client().save(tmp_path / "client")
    for name, kind in (("interface", cw.Interface), ("client", cw.Client)):
        with pytest.raises(InsecureParametersError):
            cw.load(tmp_path / name, kind)


def test_an_evaluator_has_a_program(tmp_path: Path) -> None:
    _, evaluator = TENSORS.keys()
    record = dict(evaluator._record())
    record["interface"] = cw.Interface.of(TENSORS.program).to_record()
    del record["program"]
    container.write(tmp_path / "evaluator", "evaluator file", record)
    with pytest.raises(MalformedBytesError, match="got one of an interface"):
        cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)


def test_integers_that_are_checked_in_the_clear_have_no_interface() -> None:
    @cw.circuit(a=cw.scalar())
    def square(a: Any) -> Any:
        return a * a

    with pytest.raises(InvalidProgramError, match="ranges of inputs by which results have few"):
        cw.Interface.of(square.compile(bits=16, log_n=11, insecure=True))


def test_estimates_are_those_of_the_program(tmp_path: Path) -> None:
    program = TENSORS.program
    cw.Interface.of(program).save(tmp_path / "interface")
    interface = cw.load(tmp_path / "interface", cw.Interface, insecure=True)
    assert interface.estimated_results == program.estimated_results
    assert interface.output_bounds == program.output_bounds
    assert interface.input_bounds == program.input_bounds


def test_no_byte_of_the_weights_is_in_the_files(tmp_path: Path) -> None:
    torch.manual_seed(3)
    layers = torch.nn.Linear(8, 6), torch.nn.SiLU(), torch.nn.Linear(6, 4)
    module = torch.nn.Sequential(*layers).eval()
    samples = np.random.default_rng(4).uniform(-1, 1, (32, 8))
    program = cw.nn.compile(module, samples, log_n=11, insecure=True)
    interface = cw.Interface.of(program)
    client = interface.client()
    interface.save(tmp_path / "interface")
    client.save(tmp_path / "client")
    program.save(tmp_path / "program")
    # Numbers of the program, such as they stand in its file.
    numbers = {
        vector.tobytes()[at : at + 8]
        for record in (container.read(tmp_path / "program", "program file").raw("body"),)
        for vector in _arrays(record)
        for at in range(0, min(vector.nbytes, 1 << 16), 8)
    }
    telling = {each for each in numbers if len(set(each)) > 4}
    telling |= {
        kind(each).tobytes()
        for parameter in module.parameters()
        for each in parameter.detach().numpy().ravel()
        for kind in (np.float32, np.float64)
    }
    assert len(telling) > 100
    for name in ("interface", "client"):
        found = b"".join(_bytes_within(tmp_path / name))
        assert not [each for each in telling if each in found]
    image = samples[0]
    scores = module(torch.tensor(image).float()).detach().numpy()
    evaluator = program.evaluator(client.evaluation_keys())
    assert np.abs(client.decrypt(evaluator.run(client.encrypt(image))) - scores).max() < 0.01


def _arrays(entry: Any) -> list[Any]:
    if isinstance(entry, dict):
        return [found for each in entry.values() for found in _arrays(each)]
    if isinstance(entry, list):
        return [found for each in entry for found in _arrays(each)]
    if hasattr(entry, "unpacked"):
        return [np.asarray(entry.unpacked())]
    return [entry] if isinstance(entry, np.ndarray) else []


def _bytes_within(path: Path) -> list[bytes]:
    import zipfile  # noqa: PLC0415

    with zipfile.ZipFile(path) as archive:
        return [archive.read(name) for name in archive.namelist()]


def test_what_takes_the_program_is_refused_by_name() -> None:
    client = cw.Interface.of(TENSORS.program).client()
    with pytest.raises(InvalidArgumentError, match="expected the whole program, got its interface"):
        client.evaluator()
    evaluator = TENSORS.program.evaluator(client.evaluation_keys())
    made = evaluator.run(client.encrypt(**TENSORS.arguments))
    with pytest.raises(InvalidArgumentError, match="decrypted by a client of it"):
        client.decrypt_for_others(made, statistical_bits=4, decryptions=4)
    with pytest.raises(ValueOutOfRangeError):
        client.encrypt(a=np.full((4, 8), 1.5))
    with pytest.raises(InvalidArgumentError, match="expected the whole program"):
        evaluator.serving(cw.Interface.of(TENSORS.program))  # type: ignore[arg-type]
    other, sender = cw.compile(lambda x: x, (4,), log_n=10, insecure=True).keygen()
    of_another = sender.run(other.encrypt([0.5] * 4))
    with pytest.raises(ProgramMismatchError):
        client.decrypt(of_another)
    for given in ("program", None, TENSORS.program.in_clear()):
        with pytest.raises(InvalidArgumentError, match="cannot make an interface"):
            cw.Interface.of(given)  # type: ignore[arg-type]
    nothing = client.evaluation_keys(TENSORS.program)
    with pytest.raises(MissingKeyError, match="got none beyond those of others"):
        TENSORS.program.evaluator(nothing)
    with pytest.raises(InvalidArgumentError, match="expected evaluation keys"):
        TENSORS.program.evaluator(client)  # type: ignore[arg-type]


def test_an_interface_of_a_program_that_follows_another() -> None:
    ring: dict[str, Any] = {"log_n": 9, "insecure": True}
    first = cw.compile(lambda x: x * x, (4,), **ring)
    second = cw.compile(lambda y, w: y * w, cw.result(first), (4,), **ring)
    first, second = cw.together(first, second)
    client = cw.Interface.of(first).client()
    last = client.serving(cw.Interface.of(second))
    evaluator = first.evaluator(client.evaluation_keys())
    server = evaluator.serving(second, last.evaluation_keys(first))
    x = np.array([0.5, -0.25, 1.0, 0.0])
    made = evaluator.run(client.encrypt(x))
    found = last.decrypt(server.run([made, last.encrypt(w=x)]))
    assert np.abs(found - x**3).max() < 2.0**-12
    with pytest.raises(InputNameError, match="is the result 'result' of"):
        last.encrypt(y=x)


@pytest.mark.parametrize(
    ("family", "name", "entry"),
    [
        (TENSORS, "fingerprint", "0" * 32),
        (TENSORS, "estimates", []),
        (TENSORS, "output_bounds", []),
        (TENSORS, "levels", [[0], [0]]),
        (TENSORS, "levels", [[9, 9], [0, 0]]),
        (NETWORKS, "keys", None),
        (NETWORKS, "keys", {"relinearisation": 0, "encapsulation": 1}),
        (CIRCUITS, "levels", [[], []]),
        (BITS, "signals", [[100, 1 << 30]]),
        (BITS, "encodings", []),
        (BITS, "name", 3),
    ],
)
def test_damaged_interfaces_are_refused(
    family: Family, name: str, entry: Any, tmp_path: Path
) -> None:
    record = dict(cw.Interface.of(family.program).to_record())
    given = {**record[name], **entry} if isinstance(entry, dict) else entry
    container.write(tmp_path / "interface", "interface file", {**record, name: given})
    with pytest.raises(MalformedBytesError):
        cw.load(tmp_path / "interface", cw.Interface, insecure=True)
