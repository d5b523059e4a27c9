"""Programs over bits in a row: results are inputs of the next program, bit by bit."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    InputNameError,
    InvalidArgumentError,
    InvalidProgramError,
    NoiseBudgetError,
)
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.boolean import following
from cloakwork.programs.bootstraps import EIGHTH, HALF, QUARTER, BootstrapProgram
from cloakwork.programs.bootstraps_in_a_row import with_encodings
from cloakwork.programs.gates_text import from_text
from cloakwork.programs.port import Port
from cloakwork.runtime.after import After, own_parts
from cloakwork.schemes.clear_bits import run_clear_bootstraps
from cloakwork.schemes.tfhe import Tfhe
from cloakwork.schemes.tfhe_noise import failure_of
from tests.families import greater, mapped
from tests.system.random_rows import random_circuit
from tests.system.rows import row
from tests.thoroughness import slow

MORE = Circuit(
    from_text("""cloakwork gate program 1
title "more"
input "d" bits 3
input "w" unsigned 1
%4 = and %0 %1
%5 = xor %4 %2
%6 = and %5 %3
output "y" unsigned 2 = %5 %6
output "d" bits 3 = %0 %2 %6
""")
)


@pytest.mark.parametrize("seed", [*range(10), *slow(*range(10, 60))])
def test_random_pairs_of_bits(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.randint(1, 5)
    one = random_circuit(rng, (Port("a", "bits", 4),), Port("y", "bits", count))
    other = random_circuit(
        rng, (Port("y", "bits", count), Port("b", "bits", 2)), Port("y", "bits", 3)
    )
    first = one.compile(threads=1)
    second = other.compile(threads=1, after={"y": cw.result(first)})
    first, second = cw.together(first, second)
    assert max(first.log2_failure, second.log2_failure) < -100
    a, b = np.array([[0, 1, 1, 0], [1, 1, 0, 1]]), np.array([[1, 0], [1, 1]])
    expected = other.run_clear(y=one.run_clear(a=a)["y"], b=b)["y"]
    for programs in ((first.in_clear(), second.in_clear()), (first, second)):
        clients, evaluators = row(*programs)
        made = evaluators[0].run(clients[0].encrypt(a=a))
        found = clients[1].decrypt(evaluators[1].run([clients[1].encrypt(b=b), made]))
        assert found["y"].tolist() == expected.tolist()
    assert second.run_clear(y=one.run_clear(a=a)["y"], b=b)["y"].tolist() == expected.tolist()


@pytest.mark.parametrize("seed", [*range(8), *slow(*range(8, 60))])
def test_each_program_adds_what_the_whole_row_goes_wrong_by(seed: int) -> None:
    rng = random.Random(seed)
    b = Port("b", "bits", 3)
    made = [random_circuit(rng, (Port("y", "bits", 3), b), Port("y", "bits", 3)).compile(threads=1)]
    for _ in range(3):
        circuit = random_circuit(rng, (Port("y", "bits", 3), b), Port("y", "bits", 3))
        after = {"y": cw.result(rng.choice(made)), "b": cw.result(rng.choice(made))}
        if rng.random() < 0.5:
            del after["b"]
        if len({each.program.fingerprint for each in after.values()}) < len(after):
            after["b"] = after["y"]
        made.append(circuit.compile(threads=1, after=after))
        for name in ("space4x2", "space8", "space16"):
            scheme = Tfhe(name)
            expected = failure_of(made[-1].whole_body, scheme.noise).worst
            assert scheme.worst_failure(own_parts(made[-1])) == expected


def test_three_in_a_row_through_files(tmp_path: Path) -> None:
    first = mapped(greater(3))
    second = MORE.compile(threads=1, after={"d": cw.result(first, "differ")})
    third = MORE.compile(threads=1, after={"d": cw.result(second, "d")})
    clients, evaluators = row(*cw.together(first, second, third))
    assert clients[2].evaluation_keys(first, second).names == frozenset()
    evaluators[2].save(tmp_path / "evaluator")
    last = cw.load(tmp_path / "evaluator", cw.Evaluator)
    assert last.program.fingerprint == third.fingerprint
    between = last.serving(last.program.after[0].program)
    for a, b, w in ((5, 3, 1), (7, 0, 1), (1, 2, 0)):
        made = evaluators[0].run(clients[0].encrypt(a=a, b=b))
        sent = [clients[number].encrypt(w=w) for number in (1, 2)]
        found = clients[2].decrypt(last.run([between.run([made, sent[0]]), sent[1]]))
        expected: Any = {"d": first.run_clear(a=a, b=b)["differ"]}
        for _ in range(2):
            expected = MORE.run_clear(d=expected["d"], w=w)
        assert found["y"] == expected["y"]
        assert found["d"].tolist() == expected["d"].tolist()


@pytest.mark.parametrize("given", [HALF, QUARTER, EIGHTH])
@pytest.mark.parametrize("refreshed", [False, True])
def test_bits_are_taken_in_any_encoding(given: int, refreshed: bool) -> None:
    body = mapped(greater(2)).body
    assert isinstance(body, BootstrapProgram)
    made = with_encodings(body, dict.fromkeys(range(2), given), refreshed=refreshed)
    assert made.input_encodings[made.signals_of(0)].tolist() == [given] * 2
    assert made.places_of(0).tolist() == [0, 1]
    inputs = np.array([[bit >> place & 1 for place in range(4)] for bit in range(16)], np.uint8)
    found = run_clear_bootstraps(made, inputs)
    np.testing.assert_array_equal(found, run_clear_bootstraps(body, inputs))
    more = made.bootstrap_count - body.bootstrap_count
    assert more >= 2 if refreshed else more in (0, 2)


def test_links_that_do_not_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    first = mapped(greater(3))
    for after, reason in (
        ([cw.result(first)], "expected results by the names of inputs"),
        ({"d": first}, "expected results by the names of inputs"),
        ({"e": cw.result(first, "differ")}, "expected one of the inputs d, w"),
        ({"d": cw.result(first, "above")}, "expected a result that is d: bits, 3 bits, got above"),
    ):
        with pytest.raises(InvalidArgumentError, match=reason):
            MORE.compile(threads=1, after=after)  # type: ignore[arg-type]
    monkeypatch.setattr(following, "_is_fit", lambda *_: False)
    with pytest.raises(NoiseBudgetError, match="compile all with fewer failure_bits"):
        MORE.compile(threads=1, after={"d": cw.result(first, "differ")})
    monkeypatch.undo()
    with pytest.raises(InvalidArgumentError, match="expected a program that encrypts"):
        cw.result(first.in_clear())
    alone = MORE.compile(threads=1)
    with pytest.raises(InvalidProgramError, match="is not encoded as the result is"):
        cw.Program(
            alone.scheme,
            alone.body,
            alone.packing,
            after=(After("d", mapped(greater(3)), "differ"),),
        )
    second = MORE.compile(threads=1, after={"d": cw.result(first, "differ")})
    client, evaluator = second.keygen()
    with pytest.raises(InputNameError, match="the input 'd' is the result 'differ' of"):
        client.encrypt(d=[1, 0, 1], w=1)
    with pytest.raises(InputNameError, match="got none for d; give what a run of greater made"):
        evaluator.run(client.encrypt(w=1))
