"""What a stranger tries by files and numbers, and what refuses it.

Each of these did what it should not before it was refused.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork import _native
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    InvalidProgramError,
    MalformedBytesError,
    NoiseBudgetError,
    PrecisionLostError,
)
from cloakwork.programs.bootstraps import EIGHTH, HALF, QUARTER, BootstrapBuilder, BootstrapProgram
from cloakwork.programs.packing.bits import BitPacking
from cloakwork.programs.port import Port
from cloakwork.runtime import container
from cloakwork.runtime.program import KIND
from cloakwork.schemes.tfhe import Tfhe
from tests.families import CIRCUITS, ENCRYPTED, FAMILIES, NETWORKS, TENSORS, Family
from tests.products import real_product

RINGS = (TENSORS, NETWORKS, CIRCUITS)
CLEAR = tuple(each for each in FAMILIES if each.clear)


@pytest.mark.parametrize("family", [*RINGS, *CLEAR], ids=str)
def test_no_file_switches_security_off(family: Family, tmp_path: Path) -> None:
    """A program from a stranger, of which keys are made, and what such a client gives others."""
    program = family.program
    client, evaluator = family.keys()
    kinds: list[tuple[Any, type[Any]]] = [
        (program, cw.Program),
        (client, cw.Client),
        (evaluator, cw.Evaluator),
        (client.public_key(), cw.Encryptor),
    ]
    for thing, kind in kinds:
        require_choice(thing, kind, tmp_path / kind.__name__)


def require_choice(thing: Any, kind: type[Any], path: Path) -> None:
    """A file of what is insecure is refused where the caller does not choose it, and says so."""
    thing.save(path)
    with pytest.raises(InsecureParametersError, match="insecure=True"):
        cw.load(path, kind)
    warned = repr(cw.load(path, kind, insecure=True))
    assert "INSECURE" in warned or "hides nothing" in warned


def squared_often(x: Any) -> Any:
    for _ in range(14):
        x = x * x + 0.2
    return x


@pytest.mark.parametrize(
    "make",
    [
        lambda: cw.compile(
            squared_often,
            cw.Spec((64,), bound=0.5),
            precision=14,
            bootstrap=True,
            log_n=8,
            insecure=True,
        ),
        lambda: real_product((4, 4), (4, 4), log_n=8, insecure=True),
    ],
    ids=["bootstraps", "products"],
)
def test_no_program_of_bootstraps_or_products_switches_security_off(
    make: Callable[[], cw.Program], tmp_path: Path
) -> None:
    program = make()
    client, evaluator = program.keygen()
    require_choice(program, cw.Program, tmp_path / "program")
    require_choice(program.in_clear(), cw.Program, tmp_path / "clear")
    require_choice(client, cw.Client, tmp_path / "client")
    require_choice(evaluator, cw.Evaluator, tmp_path / "evaluator")


@pytest.mark.parametrize(
    "options",
    [{"depth": 0, "log_n": 9}, {"bootstrap": True, "precision": 14, "bound": 1.0, "log_n": 8}],
    ids=["levels", "bootstraps"],
)
def test_no_file_switches_the_security_of_sessions_off(
    options: dict[str, Any], tmp_path: Path
) -> None:
    session = cw.Session(**options, insecure=True)
    session.save(tmp_path / "session")
    session.evaluator().save(tmp_path / "evaluator")
    for name, kind in (("session", cw.Session), ("evaluator", cw.SessionEvaluator)):
        path = tmp_path / name
        with pytest.raises(InsecureParametersError, match="insecure=True"):
            cw.load(path, kind)
        assert "INSECURE" in repr(cw.load(path, kind, insecure=True).parameters)


def test_floods_follow_from_the_program_and_not_from_what_a_ciphertext_claims() -> None:
    """An evaluator that states a bound of 0 would have had a flood of a smaller noise."""
    program = TENSORS.program
    client, evaluator = TENSORS.keys()
    outputs = evaluator.run(TENSORS.encrypted())
    runs = outputs.values(program.scheme, program.body)
    claimed = [{number: value.with_bound(0.0) for number, value in run.items()} for run in runs]
    assert all(value.bound < 1e-6 for run in claimed for value in run.values())
    lying = cw.Encrypted(
        outputs.program,
        "outputs",
        outputs.ports,
        claimed,
        outputs.count,
        outputs.key_id,
        program.scheme.dump,
    )
    assert program.estimated_results is not None
    flooded = [
        each.flooded(statistical_bits=16, decryptions=2) for each in program.estimated_results
    ]
    found = client.decrypt_for_others(lying, statistical_bits=16, decryptions=2)
    errors = [np.abs(got - want).max() for got, want in zip(found, TENSORS.expected, strict=True)]
    assert max(errors) < 2.0 ** -min(each.precision for each in flooded)
    # A flood of 16 bits is seen, beside the error of a decryption for oneself.
    alone = client.decrypt(outputs)
    plain = [np.abs(got - want).max() for got, want in zip(alone, TENSORS.expected, strict=True)]
    assert min(errors) > 100 * max(plain)


def test_floods_that_leave_nothing_are_refused() -> None:
    client, evaluator = TENSORS.keys()
    outputs = evaluator.run(TENSORS.encrypted())
    with pytest.raises(PrecisionLostError):
        client.decrypt_for_others(outputs, statistical_bits=60, decryptions=10**4)


@pytest.mark.parametrize("family", ENCRYPTED, ids=str)
@pytest.mark.parametrize("wrong", [0, -1, 1.5, True, "8", 1 << 70])
def test_floods_of_impossible_numbers_are_refused(family: Family, wrong: Any) -> None:
    client, evaluator = family.keys()
    outputs = evaluator.run(family.encrypted())
    for asked in (
        {"statistical_bits": wrong, "decryptions": 1},
        {"statistical_bits": 8, "decryptions": wrong},
    ):
        with pytest.raises(InvalidArgumentError, match=r"statistical_bits|decryptions"):
            client.decrypt_for_others(outputs, **asked)


@pytest.mark.parametrize(
    "family", [each for each in ENCRYPTED if each.name in ("circuits", "bits")], ids=str
)
def test_exact_results_are_shown_to_others_as_often_as_they_are_right(family: Family) -> None:
    client, evaluator = family.keys()
    outputs = evaluator.run(family.encrypted())
    stated = -family.program.log2_failure
    assert stated > 110
    found = client.decrypt_for_others(outputs, statistical_bits=10, decryptions=100)
    assert family.is_right(found)
    with pytest.raises(NoiseBudgetError, match="more failure_bits"):
        client.decrypt_for_others(outputs, statistical_bits=int(stated) + 1, decryptions=1)


def noisy(weight: int) -> BootstrapProgram:
    """An AND whose result, `weight` times as noisy as it could be, goes into another bootstrap."""
    builder = BootstrapBuilder("and", (Port("a", "bits", 2),))
    terms = [(builder.input(0, QUARTER), 1), (builder.input(1, QUARTER), 1)]
    (both,) = builder.bootstrap(terms, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
    # Whole turns but for one step of 1/4, so that the phase is that of the AND.
    again = [(both, weight), (builder.input(0, QUARTER), 1)]
    (out,) = builder.bootstrap(again, 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
    builder.output(Port("y", "bits", 1), [out], [QUARTER])
    return builder.finish()


def test_no_file_decides_how_often_bits_go_wrong(tmp_path: Path) -> None:
    """One that said 2^-1 was loaded as secure, and gave 16 wrong results of 100."""
    body = noisy(4 * 1024 + 1)
    packing = BitPacking(body.inputs, body.outputs)
    assert Tfhe("space8", 1).failure(body).worst > -4
    with pytest.raises(NoiseBudgetError, match=r"2\^-128 or less"):
        cw.Program(Tfhe("space8"), body, packing)
    program = cw.Program(Tfhe("space8", 1), body, packing)
    client, evaluator = program.keygen()
    for thing in (program, client, evaluator):
        path = tmp_path / type(thing).__name__
        thing.save(path)
        with pytest.raises(InsecureParametersError, match=r"probability of 2\^-1; .*insecure=True"):
            cw.load(path, type(thing))
        found = cw.load(path, type(thing), insecure=True)
        assert "INSECURE: a bootstrap may go wrong with a probability of 2^-1" in repr(found)
    assert program.warning == "INSECURE"
    assert "INSECURE: a bootstrap may go wrong" in cw.explain(program)


@pytest.mark.parametrize("failure_bits", [39, 40])
def test_files_of_bits_go_wrong_with_less_than_40_bits_for_tests_alone(
    failure_bits: int, tmp_path: Path
) -> None:
    body = noisy(1)
    packing = BitPacking(body.inputs, body.outputs)
    cw.Program(Tfhe("space8", failure_bits), body, packing).save(tmp_path / "bits")
    if failure_bits == 40:
        assert cw.load(tmp_path / "bits", cw.Program).warning == ""
    else:
        with pytest.raises(InsecureParametersError, match=r"2\^-39"):
            cw.load(tmp_path / "bits", cw.Program)


def heavy(nodes: int, weight: int) -> bytes:
    """The file of a program whose weights multiply, as a stranger would write it."""
    builder = BootstrapBuilder("heavy", (Port("a", "bits", 1),))
    total = builder.input(0, HALF)
    for _ in range(nodes):
        total = builder.linear([(total, weight)], 0)
    builder.output(Port("y", "bits", 1), [total], [HALF])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BootstrapProgram, "native", None)
        patch.setattr(Tfhe, "require_fitting", lambda *_: None)
        body = builder.finish()
        program = cw.Program(Tfhe("space4"), body, BitPacking(body.inputs, body.outputs))
        return container.to_bytes(KIND, program.to_record())


def test_weights_that_outgrow_all_numbers_are_malformed(tmp_path: Path) -> None:
    data = heavy(40, 1 << 30)
    assert len(data) < 5000
    (tmp_path / "heavy").write_bytes(data)
    with pytest.raises(MalformedBytesError, match="weights up to"):
        cw.load(tmp_path / "heavy", cw.Program)


def test_sums_of_sums_do_not_take_memory_in_the_square(tmp_path: Path) -> None:
    count = 8000
    builder = BootstrapBuilder("sums", (Port("a", "bits", count),))
    total = builder.input(0, QUARTER)
    for bit in range(1, count):
        total = builder.linear([(total, 1), (builder.input(bit, QUARTER), 1)], 0)
    (found,) = builder.bootstrap([(total, 1)], 0, 2, [(-EIGHTH, EIGHTH)], [EIGHTH])
    builder.output(Port("y", "bits", 1), [found], [QUARTER])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tfhe, "require_fitting", lambda *_: None)
        body = builder.finish()
        program = cw.Program(Tfhe("space4"), body, BitPacking(body.inputs, body.outputs))
        program.save(tmp_path / "sums")
    assert (tmp_path / "sums").stat().st_size < 100_000
    measured = subprocess.run(
        [sys.executable, "-c", _LOAD, tmp_path / "sums"], capture_output=True, text=True, check=True
    )
    assert int(measured.stdout) < 100


# Prints by how many MiB loading a file raises the peak of the process's memory.
_LOAD = """
import resource, sys
import cloakwork as cw
from cloakwork.runtime import program
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
try:
    cw.load(sys.argv[1], cw.Program)
except cw.errors.NoiseBudgetError:
    pass
print((peak() - before) >> 10)
"""


def test_inputs_that_nothing_uses_are_refused_by_the_engine() -> None:
    """2^32 - 1 of them took the process down."""
    empty = np.zeros(0, dtype=np.uint32)
    with pytest.raises(InvalidProgramError, match="inputs"):
        _native.BootstrapProgram(
            inputs=2**32 - 1,
            kinds=np.zeros(0, dtype=np.uint8),
            term_starts=np.zeros(1, dtype=np.uint32),
            term_signals=empty,
            term_weights=np.zeros(0, dtype=np.int32),
            constants=empty,
            message_bits=np.zeros(0, dtype=np.uint8),
            output_starts=np.zeros(1, dtype=np.uint32),
            tables=empty,
            output_constants=empty,
            output_signals=empty,
        )


def test_no_ciphertext_tells_the_largest_number() -> None:
    parameters = _native.Parameters(levels=0, log_n=9, insecure=True)
    secret = _native.SecretKey.generate(parameters)
    numbers = np.full(256, np.pi)
    with pytest.raises(InvalidArgumentError, match="bound"):
        secret.encrypt(parameters.encode(numbers, level=0))
    with pytest.raises(InvalidArgumentError, match="bound"):
        secret.public_key().encrypt(parameters.encode(numbers, level=0))
    assert secret.encrypt(parameters.encode(numbers, level=0, bound=4.0)).bound == 4.0


def test_readers_bound_the_ring_whose_tables_they_make(tmp_path: Path) -> None:
    program = TENSORS.make(14)
    program.save(tmp_path / "large")
    with pytest.raises(InvalidParametersError, match="13"):
        cw.load(tmp_path / "large", cw.Program, insecure=True, max_log_n=13)
    assert cw.load(tmp_path / "large", cw.Program, insecure=True, max_log_n=14).name == program.name
    for wrong in (4, 18, 1.5, True, "16"):
        bound: Any = wrong
        with pytest.raises(InvalidArgumentError, match="max_log_n"):
            cw.load(tmp_path / "large", cw.Program, insecure=True, max_log_n=bound)


def test_a_product_of_scale_120_decrypts() -> None:
    """Half of 250 bits of modulus were refused as if the key were wrong."""
    parameters = _native.Parameters(levels=3, scale_bits=60, log_n=9, insecure=True)
    secret = _native.SecretKey.generate(parameters)
    keys = secret.evaluation_keys(relinearisation_level=3, rotations={}, conjugation_level=None)
    x = secret.encrypt(parameters.encode(np.ones(256), level=3, bound=1.0))
    product = _native.Evaluator(keys).multiply(x, x)
    found = secret.decrypt(product, product.estimate).decode_real()
    assert np.abs(found - 1).max() < 2**-30


def test_known_evaluations_in_secret_places_show_results_of_other_inputs() -> None:
    """Nothing else does: results are bound to the program and the key alone."""

    @cw.circuit(a=cw.scalar(bounds=(-100, 100)))
    def one_more(a: Any) -> Any:
        return a * a + 1

    program = one_more.compile(bits=16, batch=64, effort=0.1, log_n=10, insecure=True)
    client, evaluator = program.keygen()
    rng = np.random.default_rng(0)
    earlier = evaluator.run(client.encrypt(a=np.zeros(64, dtype=int)))
    for _ in range(20):
        known = rng.permutation(64)[:8]
        inputs = rng.integers(-100, 101, 64)
        right = inputs[known] ** 2 + 1
        honest = client.decrypt(evaluator.run(client.encrypt(a=inputs)))
        assert (np.array(honest)[known] == right).all()
        assert (np.array(client.decrypt(earlier))[known] != right).any()
