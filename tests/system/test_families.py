"""Every family, and its twin in the clear, from its compiler to its results between processes."""

from __future__ import annotations

import pickle
import random
import re
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from benchmarks.nn.networks import SQUARE, Weights, network
from cloakwork.errors import (
    KeyBudgetError,
    KeyMismatchError,
    MalformedBytesError,
    ProgramMismatchError,
    RunCancelledError,
)
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime import container
from tests.families import (
    BITS,
    CIRCUITS,
    FAMILIES,
    NETWORKS,
    TENSORS,
    Family,
    greater,
    mapped,
    same,
)
from tests.thoroughness import part, slow

ROOT = Path(__file__).parents[2]
FLIPS = part(1000)

ENCRYPT = """
import pickle, sys
from pathlib import Path
import cloakwork as cw

kept, given, insecure = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "insecure"
arguments = pickle.loads((kept / "arguments").read_bytes())
client = cw.load(kept / "client", cw.Client, insecure=insecure)
client.encrypt(**arguments).save(given / "inputs")
other = cw.load(given / "public key", cw.Encryptor, insecure=insecure)
other.encrypt(**arguments).save(given / "inputs of another")
assert not hasattr(other, "decrypt")
"""

EVALUATE = """
import sys
from pathlib import Path
import cloakwork as cw

given, insecure = Path(sys.argv[1]), sys.argv[2] == "insecure"
evaluator = cw.load(given / "evaluator", cw.Evaluator, insecure=insecure)
program = cw.load(given / "program", cw.Program, insecure=insecure)
assert evaluator.program.fingerprint == program.fingerprint
held = []
for name in ("inputs", "inputs of another"):
    inputs = cw.load(given / name, cw.Encrypted)
    outputs = evaluator.run(inputs)
    outputs.save(given / name.replace("inputs", "outputs"))
    held += [inputs, outputs]


def reachable(roots):
    seen, waiting = {}, list(roots)
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen[id(thing)] = thing
        if isinstance(thing, dict):
            waiting += thing.values()
        elif isinstance(thing, list | tuple):
            waiting += thing
        elif type(thing).__module__.split(".")[0] == "cloakwork":
            names = [*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())]
            waiting += [getattr(thing, name, None) for name in names]
    return seen.values()


kinds = {type(thing).__name__ for thing in reachable([evaluator, *held])}
assert not any("Secret" in kind or kind == "Client" for kind in kinds), kinds
assert not hasattr(evaluator, "decrypt") and not hasattr(held[0], "decrypt")
for path in given.iterdir():
    try:
        cw.load(path, cw.Client, insecure=True)
    except cw.errors.MalformedBytesError:
        print("no client:", path.name)
assert not {"torch", "scipy", "sklearn", "matplotlib"} & set(sys.modules)
"""

DECRYPT = """
import pickle, sys
from pathlib import Path
import cloakwork as cw

kept, given, insecure = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "insecure"
client = cw.load(kept / "client", cw.Client, insecure=insecure)
found = [
    client.decrypt(cw.load(given / name, cw.Encrypted))
    for name in ("outputs", "outputs of another")
]
(kept / "results").write_bytes(pickle.dumps(found))
"""


def process(script: str, *arguments: object) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class Folders:
    """What client and evaluator have: the client's own files, and what all others are given."""

    def __init__(self, root: Path) -> None:
        self.kept, self.given = root / "kept", root / "given"
        self.kept.mkdir()
        self.given.mkdir()

    def path(self, name: str) -> Path:
        """Where a file is."""
        return (self.kept if name == "client" else self.given) / name


KINDS: dict[str, type] = {
    "program": cw.Program,
    "client": cw.Client,
    "evaluator": cw.Evaluator,
    "public key": cw.Encryptor,
    "inputs": cw.Encrypted,
    "outputs": cw.Encrypted,
}


# Twins in the clear differ little from one another.
@pytest.mark.random
@pytest.mark.parametrize("family", [*FAMILIES[:5], *slow(*FAMILIES[5:])], ids=str)
def test_a_family_from_its_compiler_to_its_results(family: Family, tmp_path: Path) -> None:
    program, folders = family.program, Folders(tmp_path)
    require_shown(program, tmp_path)
    client, _ = family.keys()
    require_right_between_processes(family, client, folders, security="insecure")
    require_refusals(family)
    for name, kind in KINDS.items():
        require_kind(folders.path(name), kind)
        require_whole(folders.path(name), kind)
        require_undamaged(family, folders, name)


# Programs over bits are never at less.
@pytest.mark.parametrize("family", [TENSORS, NETWORKS, CIRCUITS, *slow(BITS)], ids=str)
def test_a_family_at_128_bits(family: Family, tmp_path: Path) -> None:
    program = family.make(None)
    assert program.warning == ""
    client, _ = program.keygen()
    require_right_between_processes(family, client, Folders(tmp_path), security="128 bits")


def require_shown(program: cw.Program, folder: Path) -> None:
    """Explained and drawn, with its name and its warning."""
    text = cw.explain(program)
    assert program.name in text
    assert text.isascii()
    if program.warning:
        assert program.warning in text
    figure = cw.plot(program, folder / "plan.svg")
    assert (folder / "plan.svg").stat().st_size > 1000
    assert program.name in figure.get_suptitle()
    assert program.warning in figure.get_suptitle()


def require_right_between_processes(
    family: Family, client: cw.Client, folders: Folders, *, security: str
) -> None:
    """Encrypted in one process, by both keys; run in another that cannot decrypt; decrypted."""
    kept, given = folders.kept, folders.given
    client.program.save(given / "program")
    client.evaluator().save(given / "evaluator")
    client.public_key().save(given / "public key")
    client.save(kept / "client")
    (kept / "arguments").write_bytes(pickle.dumps(dict(family.arguments)))
    process(ENCRYPT, kept, given, security)
    refused = process(EVALUATE, given, security).splitlines()
    assert len(refused) == len(list(given.iterdir())) == 7
    process(DECRYPT, kept, given, security)
    mine, of_another = pickle.loads((kept / "results").read_bytes())
    assert family.is_right(mine)
    assert family.is_right(of_another)


def require_refusals(family: Family) -> None:
    """A run stops when it is told to; nothing of another program or key is taken."""
    client, evaluator = family.keys()
    outputs = evaluator.run(family.encrypted())
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(RunCancelledError):
        evaluator.run(family.encrypted(), cancel=cancel)
    other = FAMILIES[(FAMILIES.index(family) + 1) % len(FAMILIES)]
    their_client, their_evaluator = other.keys()
    with pytest.raises(ProgramMismatchError):
        evaluator.run(other.encrypted())
    with pytest.raises(ProgramMismatchError):
        client.decrypt(their_evaluator.run(other.encrypted()))
    with pytest.raises(ProgramMismatchError):
        their_client.decrypt(outputs)
    stranger, own_evaluator = family.program.keygen()
    with pytest.raises(KeyMismatchError):
        own_evaluator.run(family.encrypted())
    with pytest.raises(KeyMismatchError):
        stranger.decrypt(outputs)


def require_kind(path: Path, kind: type) -> None:
    """Loaded as any other kind, it is refused by name."""
    for other in set(KINDS.values()) - {kind}:
        with pytest.raises(MalformedBytesError, match=r"expected an? .* file, got an? .* file"):
            cw.load(path, other, insecure=True)


def require_whole(path: Path, kind: type) -> None:
    """Cut off anywhere, or longer than it was, it is refused."""
    data = path.read_bytes()
    ends = [0, 1, 4, 30, len(data) // 3, len(data) - 22, len(data) - 1]
    for damaged in [*(data[:end] for end in ends), data + b"\0", b"\0" + data]:
        path.write_bytes(damaged)
        with pytest.raises(MalformedBytesError, match="cannot read"):
            cw.load(path, kind, insecure=True)
    path.write_bytes(data)


def require_undamaged(family: Family, folders: Folders, name: str) -> None:
    """With any bit flipped a file is refused, or says the same, or its results are right."""
    path, use = folders.path(name), uses(family, folders)[name]
    size, sound = path.stat().st_size, says(path)
    rng = random.Random(7)
    refused = 0
    with path.open("r+b") as file:
        for number in range(FLIPS):
            # Small parts and headers stand at the ends; keys fill what is between.
            near = rng.randrange(min(size, 2000))
            place = (rng.randrange(size), near, size - 1 - near)[number % 3]
            file.seek(place)
            (byte,) = file.read(1)
            file.seek(place)
            file.write(bytes([byte ^ 1 << rng.randrange(8)]))
            file.flush()
            try:
                # Arrays are looked at where they are used.
                if says(path) != sound or not family.program.scheme.encrypts:
                    assert family.is_right(use()), place
            except MalformedBytesError:
                refused += 1
            file.seek(place)
            file.write(bytes([byte]))
            file.flush()
    assert refused > FLIPS // 2
    assert family.is_right(use())


def says(path: Path) -> set[tuple[str, int, int]]:
    """The name, the check sum and the size of every member of a file that can be read.

    A reader has compared the check sums with what the members hold; times of members say nothing.
    """
    container.read_any(path)
    with zipfile.ZipFile(path) as archive:
        return {(each.filename, each.CRC, each.file_size) for each in archive.infolist()}


def uses(family: Family, folders: Folders) -> dict[str, Callable[[], Any]]:
    """For each kind of file what is computed with it, the other files being sound."""
    arguments = dict(family.arguments)
    client = cw.load(folders.path("client"), cw.Client, insecure=True)
    evaluator = cw.load(folders.path("evaluator"), cw.Evaluator, insecure=True)
    inputs = cw.load(folders.path("inputs"), cw.Encrypted)
    outputs = cw.load(folders.path("outputs"), cw.Encrypted)

    def of_program() -> Any:
        made = cw.load(folders.path("program"), cw.Program, insecure=True)
        assert made.fingerprint == client.program.fingerprint
        return made.run_clear(**arguments)

    def of_client() -> Any:
        return cw.load(folders.path("client"), cw.Client, insecure=True).decrypt(outputs)

    def of_evaluator() -> Any:
        loaded = cw.load(folders.path("evaluator"), cw.Evaluator, insecure=True)
        return client.decrypt(loaded.run(inputs))

    def of_public_key() -> Any:
        loaded = cw.load(folders.path("public key"), cw.Encryptor, insecure=True)
        return client.decrypt(evaluator.run(loaded.encrypt(**arguments)))

    def of_inputs() -> Any:
        return client.decrypt(evaluator.run(cw.load(folders.path("inputs"), cw.Encrypted)))

    def of_outputs() -> Any:
        return client.decrypt(cw.load(folders.path("outputs"), cw.Encrypted))

    return {
        "program": of_program,
        "client": of_client,
        "evaluator": of_evaluator,
        "public key": of_public_key,
        "inputs": of_inputs,
        "outputs": of_outputs,
    }


class SetAfterTheFirstLook(threading.Event):
    """Is not set when a run begins, and set whenever the run looks again."""

    def __init__(self) -> None:
        super().__init__()
        self._looked = False

    def is_set(self) -> bool:
        looked, self._looked = self._looked, True
        return looked


def comparison(bits: int) -> Family:
    """A comparison of numbers of so many bits."""
    return replace(BITS, name=f"comparison of {bits} bits", make=lambda _: mapped(greater(bits)))


# The clear backend runs a program over bits in one go. That of the families is too short to be
# looked at twice, which happens every 50 ms.
INTERRUPTED = (*(each for each in FAMILIES if each.name != "bits"), comparison(64))


@pytest.mark.parametrize("family", INTERRUPTED, ids=str)
def test_a_run_under_way_is_cancelled(family: Family) -> None:
    program = family.make(family.small)
    client, evaluator = (program.in_clear() if family.clear else program).keygen()
    profile = cw.Profile()
    with pytest.raises(RunCancelledError, match=r"cannot finish .* it was cancelled after"):
        evaluator.run(
            client.encrypt(**family.arguments),
            threads=1,
            profile=profile,
            cancel=SetAfterTheFirstLook(),
        )
    assert program.name in cw.explain(program, profile)


WEIGHTS = Weights()
DEEP = network((16,), WEIGHTS.linear(16, 16), SQUARE, WEIGHTS.linear(8, 16))
VECTORS = np.random.default_rng(5).uniform(-1, 1, (4, 16))
DIGITS = [-7, 5, 3, -8]
SQUARE_MATRIX = np.random.default_rng(6).uniform(-1, 1, (12, 12))


def cubed(x: Any) -> Any:
    return x @ x @ x / 144


def budgeted_tensors(key_budget: int | None) -> cw.Program:
    return cw.compile(cubed, (12, 12), log_n=10, insecure=True, key_budget=key_budget)


@cw.circuit(x=cw.vector(4, bits=4, layout=range(4)))
def weighted(x: Any) -> Any:
    return sum(x[0] * x[place] * place for place in range(1, 4))


def budgeted_circuits(key_budget: int | None) -> cw.Program:
    return weighted.compile(bits=16, effort=0.1, log_n=12, insecure=True, key_budget=key_budget)


def budgeted_networks(key_budget: int | None) -> cw.Program:
    options = NetworkOptions(log_n=9, insecure=True, key_budget=key_budget)
    return compile_graph(DEEP, VECTORS, options)


def fewest_bytes(compiled: Callable[[int | None], cw.Program]) -> int:
    """What the refusal of a budget names, that of one below every plan's as well."""
    budget = 0
    while True:
        with pytest.raises(
            KeyBudgetError, match=r"(allow (key_budget=)?|more than )\d+"
        ) as refusal:
            compiled(budget)
        found = re.findall(r"allow (?:key_budget=)?(\d+)", str(refusal.value))
        if found:
            return int(found[0])
        (above,) = map(int, re.findall(r"more than (\d+)", str(refusal.value)))
        assert above > budget
        budget = above


@pytest.mark.parametrize(
    ("compiled", "arguments", "expected"),
    [
        (budgeted_tensors, [SQUARE_MATRIX], cubed(SQUARE_MATRIX)),
        (budgeted_networks, [VECTORS[0]], evaluate(DEEP, VECTORS[:1])[0]),
    ],
)
def test_keys_are_within_their_budget(
    compiled: Callable[[int | None], cw.Program], arguments: Sequence[Any], expected: Any
) -> None:
    free = compiled(None)
    assert compiled(free.key_bytes).key_bytes == free.key_bytes
    fewest = fewest_bytes(compiled)
    tight = compiled(fewest)
    assert tight.key_bytes <= fewest < free.key_bytes
    bodies = [tight.body, free.body]
    fewer, more = (required_keys(each) for each in bodies if isinstance(each, SlotProgram))
    assert len(fewer) < len(more)
    client, evaluator = tight.keygen()
    assert evaluator.key_bytes == tight.key_bytes
    assert same(client.decrypt(evaluator.run(client.encrypt(*arguments))), expected, 2.0**-14)
    twin = tight.in_clear()
    assert twin.key_bytes == tight.key_bytes
    assert same(twin.run(*arguments), expected, 2.0**-14)
    with pytest.raises(KeyBudgetError):
        compiled(fewest - 1)


# Of the few programs that look cheapest, how many are planned for.
@pytest.mark.parametrize("planned", [1, *slow(4)])
def test_keys_of_circuits_are_within_their_budget(
    planned: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloakwork.plan.parameters.bgv._MOST_PLANNED", planned)
    free = budgeted_circuits(None)
    half = free.key_bytes // 2
    tight = budgeted_circuits(half)
    assert 0 < tight.key_bytes <= half
    client, evaluator = tight.keygen()
    expected = sum(DIGITS[0] * each * place for place, each in enumerate(DIGITS))
    assert client.decrypt(evaluator.run(client.encrypt(DIGITS))) == expected
    twin = tight.in_clear()
    assert twin.key_bytes == tight.key_bytes
    assert twin.run(DIGITS) == expected


@pytest.mark.slow
def test_too_small_a_budget_for_keys_of_circuits_is_refused() -> None:
    with pytest.raises(KeyBudgetError, match=r"allow \d+ bytes or more"):
        budgeted_circuits(0)


def test_programs_over_bits_have_one_key_and_no_budget() -> None:
    small, large = (mapped(greater(bits)).key_bytes for bits in (3, 8))
    assert small == large > 0
    compiled: Callable[..., Any] = Circuit(greater(3)).compile
    with pytest.raises(TypeError, match="key_budget"):
        compiled(key_budget=large)
    assert BITS.program.in_clear().key_bytes == 0
