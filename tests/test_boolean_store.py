"""What saving and loading for bits refuse; the round trip is in tests/system."""

import json
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cloakwork.plan.cost.measured_tfhe import measured_target
from cloakwork.runtime.boolean_roles import BooleanClient, BooleanEvaluator

import cloakwork as cw
from cloakwork import boolean
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    KeyMismatchError,
    MalformedBytesError,
    NoiseBudgetError,
    ParametersMismatchError,
    ProgramMismatchError,
)
from cloakwork.frontends.boolean.circuit import BooleanProgram, Port
from cloakwork.plan.boolean.map import MappedProgram, map_gates
from cloakwork.programs import bootstraps_file
from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
from cloakwork.programs.gates import GateBuilder, GateKind


def mapped(kind: GateKind, parameters: str = "boxes4") -> MappedProgram:
    builder = GateBuilder("gate", (Port("a", "bits", 1), Port("b", "bits", 1)))
    builder.output(Port("y", "unsigned", 1), [builder.append(kind, 0, 1)])
    return map_gates(builder.finish(), measured_target(parameters), 1)


MAPPED = mapped(GateKind.AND)
CLIENT, EVALUATOR = MAPPED.keygen()
SAVES: dict[str, tuple[Callable[..., None], Callable[..., Any], Any]] = {
    "program": (boolean.save_program, boolean.load_program, MAPPED),
    "client": (boolean.save_client, boolean.load_client, CLIENT),
    "evaluator": (boolean.save_evaluator, boolean.load_evaluator, EVALUATOR),
    "bits": (
        boolean.save_bits,
        lambda path: boolean.load_bits(path, CLIENT),
        CLIENT.encrypt(a=[1], b=[1]),
    ),
}


@pytest.fixture(params=sorted(SAVES))
def saved(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    save, _, thing = SAVES[request.param]
    save(thing, tmp_path / request.param)
    return request.param, tmp_path / request.param


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_parts(path: Path, parts: dict[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)


def rewrite(path: Path, **facts: Any) -> None:
    """Put other facts into the header; ... leaves one out."""
    parts = parts_of(path)
    header = json.loads(parts["header.json"])
    header["facts"] |= facts
    header["facts"] = {name: fact for name, fact in header["facts"].items() if fact is not ...}
    write_parts(path, {**parts, "header.json": json.dumps(header).encode()})


def test_a_loaded_program_is_the_one_saved(tmp_path: Path) -> None:
    boolean.save_program(MAPPED, tmp_path / "program")
    loaded = boolean.load_program(tmp_path / "program")
    assert loaded.program.fingerprint == MAPPED.program.fingerprint
    assert (loaded.target, loaded.threads) == (MAPPED.target, MAPPED.threads)
    assert (loaded.seconds, loaded.failure) == (MAPPED.seconds, MAPPED.failure)
    assert cw.explain(loaded) == cw.explain(MAPPED)
    client, evaluator = loaded.keygen()
    assert client.decrypt(evaluator.run(client.encrypt(a=[1], b=[1]))) == {"y": 1}


def test_only_the_owner_may_read(saved: tuple[str, Path]) -> None:
    assert stat.S_IMODE(saved[1].stat().st_mode) == 0o600


@pytest.mark.parametrize("name", sorted(SAVES))
def test_nothing_else_is_saved(name: str, tmp_path: Path) -> None:
    others = [thing for other, (_, _, thing) in SAVES.items() if other != name]
    program = BooleanProgram(GateBuilder("", ()).finish())
    for thing in [*others, cw.Session(depth=1, insecure=True, log_n=11).client, program, None]:
        with pytest.raises(InvalidArgumentError, match=f"cannot save the {name}: expected"):
            SAVES[name][0](thing, tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_files_of_another_kind_are_refused(saved: tuple[str, Path]) -> None:
    name, path = saved
    for other, (_, load, _) in SAVES.items():
        if other != name:
            with pytest.raises(MalformedBytesError, match=r"expected kind .*bits, got .*bits"):
                load(path)
    for load in (cw.load_client, cw.load_evaluator, cw.load_program):
        with pytest.raises(MalformedBytesError, match="expected kind"):
            load(path)


def test_what_is_no_path_is_refused() -> None:
    for save, load, thing in SAVES.values():
        for path in (None, 3, "", "a\0b"):
            with pytest.raises(InvalidArgumentError, match="path"):
                save(thing, path)
            with pytest.raises(InvalidArgumentError, match="path"):
                load(path)


def test_truncated_files_are_refused(saved: tuple[str, Path]) -> None:
    name, path = saved
    data = path.read_bytes()
    for end in (0, 1, 30, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:end])
        with pytest.raises(MalformedBytesError, match="cannot read"):
            SAVES[name][1](path)


def test_files_with_a_byte_changed_are_refused_or_harmless(saved: tuple[str, Path]) -> None:
    """The zip file has bytes that nobody reads; whatever loads is what was saved."""
    name, path = saved
    data = path.read_bytes()
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(40):
        # Small parts and headers stand at the ends.
        near = int(rng.integers(min(len(data), 2000)))
        place = rng.choice([near, len(data) - 1 - near, int(rng.integers(len(data)))])
        path.write_bytes(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        try:
            loaded = SAVES[name][1](path)
        except CloakworkError:
            refused += 1
        else:
            again = path.with_name("again")
            SAVES[name][0](loaded, again)
            assert parts_of(again) == parts_of_sound(data, path)
    assert refused > 20


def parts_of_sound(data: bytes, path: Path) -> dict[str, bytes]:
    sound = path.with_name("sound")
    sound.write_bytes(data)
    return parts_of(sound)


def test_parts_damaged_in_a_sound_container_are_refused(saved: tuple[str, Path]) -> None:
    name, path = saved
    sound = parts_of(path)
    rng = np.random.default_rng(6)
    for part in sound.keys() - {"header.json"}:
        data = sound[part]
        # Behind the checksums of the zip file; titles are the only bytes that may be anything.
        changed = [
            b"",
            data[:-1],
            data[: len(data) // 2],
            data + b"\0",
            CLIENT.secret.to_bytes()[:60],
        ]
        for _ in range(12):
            place = int(rng.integers(len(data)))
            changed.append(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
        for each in changed:
            write_parts(path, {**sound, part: each})
            with pytest.raises(MalformedBytesError, match="cannot read"):
                SAVES[name][1](path)
        write_parts(path, {other: each for other, each in sound.items() if other != part})
        with pytest.raises(MalformedBytesError, match=f"it has no {part}"):
            SAVES[name][1](path)


def each_of(fact: str, *values: Any) -> list[dict[str, Any]]:
    return [{fact: value} for value in values]


@pytest.mark.parametrize(
    "facts",
    [
        *each_of("parameters", ..., None, 4, "boxes5", "", ["boxes4"], {}),
        *each_of("threads", ..., None, 0, -1, 1025, 10**30, 1.5, True, "1", [1]),
    ],
    ids=str,
)
def test_hostile_facts_of_programs_are_refused(facts: dict[str, Any], tmp_path: Path) -> None:
    boolean.save_program(MAPPED, tmp_path / "program")
    rewrite(tmp_path / "program", **facts)
    with pytest.raises(MalformedBytesError, match="cannot read"):
        boolean.load_program(tmp_path / "program")


@pytest.mark.parametrize(
    "facts",
    [
        *each_of("side", ..., None, "output", "outputs", 1, ["inputs"]),
        *each_of("ports", ..., None, "ab", [], ["a"], ["b", "a"], ["a", "b", "b"]),
        *each_of("ports", ["a", "c"], [["a"], "b"], ["a", {}], ["y"], {"a": 1}),
        *each_of("program", ..., None, 1, []),
        {"side": "outputs", "ports": ["y"]},
    ],
    ids=str,
)
def test_hostile_facts_of_bits_are_refused(facts: dict[str, Any], tmp_path: Path) -> None:
    boolean.save_bits(CLIENT.encrypt(a=[1], b=[1]), tmp_path / "x")
    rewrite(tmp_path / "x", **facts)
    with pytest.raises(MalformedBytesError, match="cannot read"):
        boolean.load_bits(tmp_path / "x", EVALUATOR)


def test_a_program_that_goes_wrong_too_often_is_refused(tmp_path: Path) -> None:
    builder = BootstrapBuilder("noisy", (Port("a", "bits", 1),))
    (first,) = builder.bootstrap([(builder.input(0, QUARTER), 1)], 0, 2, [(0, EIGHTH)], [0])
    made = builder.bootstrap([(first, 1001)], 0, 2, [(0, EIGHTH)], [0])
    builder.output(Port("y", "bits", 1), made, [QUARTER])
    parts = {"program": bootstraps_file.to_bytes(builder.finish())}
    boolean.save_program(MAPPED, tmp_path / "program")
    write_parts(tmp_path / "program", {**parts_of(tmp_path / "program"), **parts})
    with pytest.raises(NoiseBudgetError, match="go wrong under boxes4"):
        boolean.load_program(tmp_path / "program")


def test_a_program_of_more_boxes_than_its_parameters_have_is_refused(tmp_path: Path) -> None:
    builder = BootstrapBuilder("fine", (Port("a", "bits", 1),))
    terms = [(builder.input(0, QUARTER), 1)]
    made = builder.bootstrap(terms, 0, 3, [(-EIGHTH,) * 4], [EIGHTH])
    builder.output(Port("y", "bits", 1), made, [QUARTER])
    parts = {"program": bootstraps_file.to_bytes(builder.finish())}
    path = tmp_path / "x"
    boolean.save_program(MAPPED, path)
    write_parts(path, {**parts_of(path), **parts})
    with pytest.raises(MalformedBytesError, match="more boxes"):
        boolean.load_program(path)
    boolean.save_evaluator(EVALUATOR, path)
    write_parts(path, {**parts_of(path), **parts})
    with pytest.raises(ParametersMismatchError, match="boxes"):
        boolean.load_evaluator(path)


def test_bits_of_another_key_program_or_parameter_set_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    client, evaluator = MAPPED.keygen()
    boolean.save_bits(client.encrypt(a=[1], b=[1]), path)
    boolean.load_bits(path, evaluator)
    for holder in (CLIENT, EVALUATOR):
        with pytest.raises(KeyMismatchError, match="encrypted with another key"):
            boolean.load_bits(path, holder)
    other = mapped(GateKind.OR).program
    for holder in (BooleanClient(client.secret, other), BooleanEvaluator(evaluator.key, other)):
        with pytest.raises(ProgramMismatchError, match="another program than 'gate'"):
            boolean.load_bits(path, holder)
    wide = cw._native.BooleanSecretKey.generate(cw._native.BooleanParameters("boxes8"))
    with pytest.raises(ParametersMismatchError, match="under boxes4, not under boxes8"):
        boolean.load_bits(path, BooleanClient(wide, MAPPED.program))
    holders: tuple[Any, ...] = (None, wide, client.secret)
    for holder in holders:
        with pytest.raises(InvalidArgumentError, match="expected a client or an evaluator"):
            boolean.load_bits(path, holder)


def test_fewer_bits_than_the_ports_have_are_refused(tmp_path: Path) -> None:
    boolean.save_bits(CLIENT.encrypt(a=[1], b=[1]), tmp_path / "x")
    few = CLIENT.encrypt(a=[1]).ciphertexts.to_bytes()
    write_parts(tmp_path / "x", {**parts_of(tmp_path / "x"), "ciphertexts": few})
    with pytest.raises(MalformedBytesError, match=r"expected 2 ciphertexts.*got 1"):
        boolean.load_bits(tmp_path / "x", EVALUATOR)


def test_some_inputs_may_be_saved_alone(tmp_path: Path) -> None:
    boolean.save_bits(CLIENT.encrypt(b=[1]), tmp_path / "b")
    loaded = boolean.load_bits(tmp_path / "b", EVALUATOR)
    for a in (0, 1):
        assert CLIENT.decrypt(EVALUATOR.run(loaded, {"a": [a]})) == {"y": a}
