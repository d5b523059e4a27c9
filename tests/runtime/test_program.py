"""Programs of every family: what they say of themselves, run, save, and refuse to be."""

from __future__ import annotations

import copy
import pickle
import random
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.base.record import Record
from cloakwork.errors import (
    CloakworkError,
    InputNameError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidProgramError,
    MalformedBytesError,
    MemoryBudgetError,
    NoiseBudgetError,
    NoiseExhaustedError,
    ProgramMismatchError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder
from cloakwork.programs.ir.vectors import PlacedScalar
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.bits import BitPacking
from cloakwork.programs.packing.results import Leaf
from cloakwork.programs.packing.scalar import ResultPlace, ScalarPacking, ScalarPlaces
from cloakwork.programs.packing.tensor import TensorPacking
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Builder, Input, Mul, Output, Rescale, SlotProgram
from cloakwork.runtime import container
from cloakwork.runtime.program import KIND
from cloakwork.schemes.bgv import Bgv
from cloakwork.schemes.tfhe import Tfhe
from tests.families import (
    BITS,
    BY_NAME,
    CIRCUITS,
    ENCRYPTED,
    FAMILIES,
    NETWORKS,
    TENSORS,
    Family,
    greater,
    mapped,
    same,
    tensors,
)
from tests.runtime.records import HOSTILE, at, changed, places
from tests.thoroughness import part

every_family = pytest.mark.parametrize("family", FAMILIES, ids=str)
every_encrypted = pytest.mark.parametrize("family", ENCRYPTED, ids=str)
MARKS = {"": "", "INSECURE": "insecure", "clear backend: hides nothing": "clear"}


@every_family
def test_ports_say_what_goes_in_and_comes_out(family: Family) -> None:
    program = family.program
    assert [port.name for port in program.inputs] == list(family.arguments)
    kinds = {"tensors": "real", "networks": "real", "circuits": "integer", "bits": "unsigned"}
    assert {port.kind for port in program.inputs} == {kinds[family.name]}
    assert isinstance(program.batch, int)
    assert program.batch >= 1
    assert program.name in {"scores", "dense", "some", "greater"}


def test_ports_have_shapes_and_ranges() -> None:
    assert list(map(str, TENSORS.program.inputs)) == [
        "a: 4 x 8, reals from -1 to 1",
        "b: 8 x 3, reals from -2 to 2",
    ]
    assert [port.shape for port in TENSORS.program.outputs] == [(4, 3), (4,)]
    assert [port.bound for port in TENSORS.program.outputs] == [16, 8]
    assert [(port.shape, port.name) for port in NETWORKS.program.outputs] == [((2,), "3")]
    assert list(map(str, CIRCUITS.program.inputs)) == [
        "x: 2 x 2, integers from -9 to 9",
        "s: one, integers from -16 to 15",
    ]
    assert list(map(str, BITS.program.outputs)) == [
        "above: unsigned, 1 bit",
        "differ: bits, 3 bits",
    ]


def test_batches_are_evaluations_of_one_run() -> None:
    assert [each.program.batch for each in ENCRYPTED] == [1, 2, 1024, 1]


@every_family
def test_runs_here(family: Family) -> None:
    assert family.is_right(family.program.run(**family.arguments))
    assert family.is_right(family.program.run(*family.arguments.values()))


@every_family
def test_runs_in_the_clear_without_errors(family: Family) -> None:
    assert same(family.program.run_clear(**family.arguments), family.expected, 1e-9)


@every_family
def test_the_twin_in_the_clear_is_the_same_program_on_another_scheme(family: Family) -> None:
    twin = family.program.in_clear()
    assert (twin.body, twin.packing) == (family.program.body, family.program.packing)
    assert not twin.scheme.encrypts
    assert twin.warning == "clear backend: hides nothing"
    assert twin.in_clear().fingerprint == twin.fingerprint
    if family.hides:
        assert twin.fingerprint != family.program.fingerprint


def test_the_twin_may_have_modelled_errors() -> None:
    exact, one, other = (
        TENSORS.program.in_clear(seed).run(**TENSORS.arguments)[0] for seed in (None, 1, 2)
    )
    assert 0 < np.abs(one - exact).max() < 2**-15
    assert not np.array_equal(one, other)
    again, _ = TENSORS.program.in_clear(1).run(**TENSORS.arguments)
    assert np.array_equal(one, again)


@every_encrypted
def test_simulates_with_modelled_errors(family: Family) -> None:
    found = family.program.simulate(**family.arguments)
    assert family.is_right(found.outputs)
    assert found.outside == ()
    again = family.program.simulate(**family.arguments, seed=0)
    assert same(found.outputs, again.outputs, 0.0)
    for seed in (-1, 1.5, "x"):
        with pytest.raises(InvalidArgumentError, match="cannot simulate: expected seed"):
            family.program.simulate(**family.arguments, seed=seed)  # type: ignore[arg-type]


def test_simulation_takes_numbers_of_any_size_and_says_what_they_leave() -> None:
    large = {"a": 3 * TENSORS.arguments["a"], "b": TENSORS.arguments["b"]}
    found = TENSORS.program.simulate(**large)
    assert same(found.outputs[0], large["a"] @ large["b"], 1e-4)
    [report] = found.outside
    assert report.startswith("input 'a' expects numbers of absolute value up to 1, and got 2.9")


@every_family
def test_a_warning_is_in_all_that_is_printed(family: Family) -> None:
    client, evaluator = family.keys()
    encrypted = family.encrypted()
    program = family.program
    secure = family is BITS
    for thing in (program, client, evaluator, encrypted, evaluator.run(encrypted)):
        assert ("INSECURE" in repr(thing) or "hides nothing" in repr(thing)) != secure
    text = cw.explain(program)
    assert "hides nothing" in text if family.clear else ("INSECURE" in text) != secure


@every_family
def test_a_repr_fits_a_few_lines_and_shows_no_numbers(family: Family) -> None:
    client, evaluator = family.keys()
    for thing in (family.program, client, evaluator, family.encrypted()):
        shown = repr(thing)
        assert "\n" not in shown
        assert len(shown) < 400
        assert "object at" not in shown


@every_family
def test_a_fingerprint_is_of_what_is_computed(family: Family) -> None:
    program = family.program
    titled = (
        replace(program.body, title="another")
        if isinstance(program.body, SlotProgram)
        else program.body
    )
    renamed = tuple(replace(each, layer="another") for each in program.ranges)
    same_program = replace(program, body=titled, ranges=renamed, threads=7)
    assert same_program.fingerprint == program.fingerprint
    digits, _, ending = program.fingerprint.partition("-")
    assert (len(digits), ending) == (32, MARKS[program.warning])


def test_a_fingerprint_is_of_all_that_a_client_relies_on(tmp_path: Path) -> None:
    program = NETWORKS.program
    record = program.to_record()
    (first, *others) = record["ranges"]
    forged = [
        {**record, "ranges": others},
        {**record, "ranges": [{**first, "high": first["high"] * 2}, *others]},
        {**record, "ranges": [{**first, "gap": 0.25}, *others]},
        {**record, "error": 1e300, "error_bound": None},
        {**record, "error": record["error"] / 2},
        {**record, "error_bound": None},
        {**record, "error_bound": 1e300},
        {**record, "meaning": "numbers divided by 2"},
    ]
    found = {loaded(each, tmp_path).fingerprint for each in forged}
    assert len(found) == len(forged)
    assert program.fingerprint not in found


def test_without_its_ranges_a_program_is_another_one(tmp_path: Path) -> None:
    program = cw.compile(
        lambda x: np.sqrt(cw.within((x * x).sum(), 0.5, 4)),
        (8,),
        precision=16,
        log_n=12,
        insecure=True,
    )
    stripped = loaded({**program.to_record(), "ranges": [], "error": 1e-5}, tmp_path)
    assert program.fingerprint != stripped.fingerprint
    client, evaluator = program.keygen()
    with pytest.raises(ValueOutOfRangeError, match="its results would be wrong numbers"):
        client.encrypt(np.full(8, 0.03))
    with pytest.raises(ProgramMismatchError, match="belong to another program"):
        evaluator.run(stripped.keygen()[0].encrypt(np.full(8, 0.03)))


def test_fingerprints_tell_programs_apart() -> None:
    programs = [each.program for each in FAMILIES]
    programs += [tensors(11), NETWORKS.make(10), CIRCUITS.make(12)]
    programs += [mapped(greater(2)), cw.compile(lambda a, b: a @ b, (4, 8), (8, 3))]
    assert len({each.fingerprint for each in programs}) == len(programs)
    assert mapped(greater(3, "again")).fingerprint == BITS.program.fingerprint
    packing = TENSORS.program.packing
    assert isinstance(packing, TensorPacking)
    wider = replace(packing, inputs=tuple(replace(port, high=9.0) for port in packing.inputs))
    other = cw.Program(TENSORS.program.scheme, TENSORS.program.body, wider)
    assert other.fingerprint != TENSORS.program.fingerprint
    halved = replace(TENSORS.program, meaning="numbers divided by 2")
    assert halved.fingerprint != TENSORS.program.fingerprint
    assert pickle.loads(pickle.dumps(halved)).fingerprint == halved.fingerprint


@pytest.mark.parametrize("family", [TENSORS, NETWORKS, CIRCUITS], ids=str)
def test_a_fingerprint_is_of_the_noise_that_was_planned_for(family: Family) -> None:
    program = family.program
    again, private = (copy.copy(program.scheme) for _ in range(2))
    private.public_inputs = False
    made = [cw.Program(each, program.body, program.packing) for each in (again, private)]
    assert (
        made[0].fingerprint == cw.Program(program.scheme, program.body, program.packing).fingerprint
    )
    assert made[1].fingerprint != made[0].fingerprint


@every_family
def test_pickled_and_copied_it_is_the_same(family: Family) -> None:
    for again in (
        pickle.loads(pickle.dumps(family.program)),
        copy.copy(family.program),
        copy.deepcopy(family.program),
    ):
        assert again.fingerprint == family.program.fingerprint
        assert same(again.run_clear(**family.arguments), family.expected, 1e-9)


def timeless(text: str) -> str:
    """A text without its times, which are measured anew."""
    return re.sub(r" *[\d.e+]+ (s|ms|us|inputs a second)\b", "", text)


@every_family
def test_a_loaded_program_is_the_one_saved(family: Family, tmp_path: Path) -> None:
    program = family.program
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert loaded.fingerprint == program.fingerprint
    assert str(loaded.body) == str(program.body)
    assert repr(loaded) == repr(program)
    assert (loaded.inputs, loaded.outputs) == (program.inputs, program.outputs)
    assert (loaded.batch, loaded.error, loaded.key_bytes) == (
        program.batch,
        program.error,
        program.key_bytes,
    )
    assert loaded.value_bounds == program.value_bounds
    assert loaded.threads == program.threads
    # Why it was planned as it was is not in the file.
    planned = replace(program, way="")
    assert timeless(cw.explain(loaded)) == timeless(cw.explain(planned))
    assert same(loaded.run_clear(**family.arguments), family.expected, 1e-9)
    client, evaluator = loaded.keygen()
    assert family.is_right(client.decrypt(evaluator.run(client.encrypt(**family.arguments))))
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again").stat().st_size == (tmp_path / "program").stat().st_size


def test_whatever_compiles_is_loaded_again(tmp_path: Path) -> None:
    functions: list[Any] = [
        lambda x: [x, -(2**63), x - x + 2**63 - 1],
        lambda x: {"a\nb": x, "\ud800": (x, []), " ": [x] * 1000},
        lambda x: x * 10**400 - 10**400 * x + x,
    ]
    for function in functions:
        made = cw.circuit(x=cw.scalar())(function).compile(bits=64, effort=0.01)
        made.save(tmp_path / "program")
        loaded = cw.load(tmp_path / "program", cw.Program)
        assert loaded.run_clear(x=5) == made.run_clear(x=5) == function(5)


@every_family
def test_arguments_are_inputs_by_place_or_by_name(family: Family) -> None:
    (first, *_), values = list(family.arguments), list(family.arguments.values())
    for act in (family.program.run, family.program.run_clear, family.program.simulate):
        with pytest.raises(InvalidArgumentError, match=r"expected \d argument\(s\)"):
            act(*values, 1, 2)
        with pytest.raises(InputNameError, match="there is no input 'nobody'; expected"):
            act(*values, nobody=1)
        with pytest.raises(InputNameError, match=f"the input '{first}' is given twice"):
            act(*values, **{first: values[0]})
        with pytest.raises(
            InputNameError, match=r"expected (all|each of the|one or more of the) inputs"
        ):
            act()


def test_bounds_follow_values_through_a_program() -> None:
    program = TENSORS.program
    assert program.input_bounds is not None
    assert set(program.input_bounds) == {1.0, 2.0}
    assert program.output_bounds == (16.0, 8.0)
    for other in (CIRCUITS, BITS):
        assert (other.program.input_bounds, other.program.value_bounds) == (None, None)


@every_encrypted
def test_keys_take_as_many_bytes_as_told(family: Family) -> None:
    _, evaluator = family.keys()
    assert evaluator.key_bytes > 0
    if family is BITS:
        # On its way the key is shorter than where it is used.
        client, _ = family.keys()
        keys = client.program.scheme.evaluation_keys(client._key, client.program.body)
        assert len(keys.to_bytes()) == family.program.key_bytes
    else:
        assert evaluator.key_bytes == family.program.key_bytes
    assert family.program.in_clear().keygen()[1].key_bytes == 0


def test_an_argument_may_be_left_out_where_no_numbers_lie_beside_it() -> None:
    packing = CIRCUITS.program.packing
    with pytest.raises(InputNameError, match="expected each of the inputs a, b once"):
        TENSORS.program.run_clear(a=TENSORS.arguments["a"])
    assert packing.vectors_of(("x", "s")) == tuple(range(packing.vector_counts[0]))


def slots_program(numbers: Any = "real", slots: int = 512, inputs: int = 1) -> SlotProgram:
    builder = Builder("p", slots, numbers)
    values = [builder.append(Input(f"x{number}", 1)) for number in range(inputs)]
    builder.append(Output(values[0]))
    return builder.finish()


@pytest.mark.parametrize(
    ("scheme", "body", "packing", "reason"),
    [
        (CIRCUITS, TENSORS, TENSORS, "it is over reals"),
        (TENSORS, CIRCUITS, CIRCUITS, "it is over integers"),
        (TENSORS, BITS, BITS, "it has no slots"),
        (CIRCUITS, BITS, BITS, "it has no slots"),
        (BITS, TENSORS, TENSORS, "it has no bootstraps"),
        (NETWORKS, TENSORS, TENSORS, "its slots are not those of the parameters"),
        (TENSORS, TENSORS, BITS, "not those of its packing"),
        (TENSORS, TENSORS, CIRCUITS, "not those of its packing"),
        (CIRCUITS, CIRCUITS, TENSORS, "not those of its packing"),
        (BITS, BITS, TENSORS, "not those of its packing"),
        (TENSORS, slots_program(), TENSORS, "not those of its packing"),
        (TENSORS, slots_program(slots=256), TENSORS, "its slots are not those"),
        (NETWORKS, slots_program(slots=256, inputs=2), NETWORKS, "not those of its packing"),
        (
            CIRCUITS,
            slots_program("integer", 1024),
            CIRCUITS,
            "more levels|not those of its packing",
        ),
    ],
)
def test_parts_that_do_not_fit_one_another_are_refused(
    scheme: Family, body: Any, packing: Family, reason: str
) -> None:
    made = body.program.body if isinstance(body, Family) else body
    for of in (scheme.program, scheme.program.in_clear()):
        with pytest.raises(InvalidProgramError, match=reason):
            cw.Program(of.scheme, made, packing.program.packing)


def test_primes_hold_the_bits_of_results() -> None:
    program = CIRCUITS.program
    packing = program.packing
    assert isinstance(packing, ScalarPacking)
    with pytest.raises(InvalidProgramError, match="its primes hold fewer bits than its results"):
        cw.Program(program.scheme, program.body, replace(packing, bits=60))
    first, *_ = program.scheme.parameter_sets
    with pytest.raises(InvalidProgramError, match="its primes hold fewer bits"):
        cw.Program(Bgv([first]), program.body, packing)
    with pytest.raises(InvalidProgramError, match="two of its parameter sets have one prime"):
        cw.Program(Bgv([first, first, first]), program.body, packing)


def test_bootstraps_with_a_larger_message_space_than_the_parameters_have_are_refused() -> None:
    builder = BootstrapBuilder("fine", (Port("a", "bits", 1),))
    terms = [(builder.input(0, QUARTER), 1)]
    made = builder.bootstrap(terms, 0, 3, [(-EIGHTH,) * 4], [EIGHTH])
    builder.output(Port("y", "bits", 1), made, [QUARTER])
    body = builder.finish()
    packing = BitPacking(body.inputs, body.outputs)
    with pytest.raises(InvalidProgramError, match=r"a message space of 2\^3, space4 has 2\^2"):
        cw.Program(Tfhe("space4"), body, packing)
    assert cw.Program(Tfhe("space8", 64), body, packing).name == "fine"


def test_bootstraps_that_go_wrong_too_often_are_refused() -> None:
    builder = BootstrapBuilder("noisy", (Port("a", "bits", 1),))
    (first,) = builder.bootstrap([(builder.input(0, QUARTER), 1)], 0, 2, [(0, EIGHTH)], [0])
    made = builder.bootstrap([(first, 1001)], 0, 2, [(0, EIGHTH)], [0])
    builder.output(Port("y", "bits", 1), made, [QUARTER])
    body = builder.finish()
    with pytest.raises(NoiseBudgetError, match="go wrong under space4"):
        cw.Program(Tfhe("space4"), body, BitPacking(body.inputs, body.outputs))


def test_a_file_whose_noise_would_destroy_results_is_refused(tmp_path: Path) -> None:
    record = BITS.program.to_record()
    builder = BootstrapBuilder("noisy", (Port("a", "bits", 1),))
    (first,) = builder.bootstrap([(builder.input(0, QUARTER), 1)], 0, 2, [(0, EIGHTH)], [0])
    made = builder.bootstrap([(first, 1001)], 0, 2, [(0, EIGHTH)], [0])
    builder.output(Port("y", "bits", 1), made, [QUARTER])
    noisy = cw.Program(
        BITS.program.in_clear().scheme,
        builder.finish(),
        BitPacking((Port("a", "bits", 1),), (Port("y", "bits", 1),)),
    ).to_record()
    container.write(tmp_path / "x", KIND, {**noisy, "scheme": record["scheme"]})
    parameters = str(BITS.program.scheme.parameters.name)
    with pytest.raises(NoiseBudgetError, match=f"go wrong under {parameters}"):
        cw.load(tmp_path / "x", cw.Program)

    builder_ = Builder("deep", 1024, "integer")
    value = builder_.append(Input("x", 0))
    for _ in range(12):
        value = builder_.append(Mul(value, value))
    builder_.append(Output(value))
    one = ScalarPlaces(1024, 1, ((PlacedScalar(0, "x", 0),),), (ResultPlace(0, 0),))
    ranged = (Port("x", "integer", low=-1, high=1),)
    forged = cw.Program(
        CIRCUITS.program.in_clear().scheme,
        builder_.finish(),
        ScalarPacking(ranged, one, Leaf(0), 8, ((0, 1),)),
    ).to_record()
    container.write(
        tmp_path / "y", KIND, {**forged, "scheme": CIRCUITS.program.to_record()["scheme"]}
    )
    with pytest.raises(NoiseExhaustedError):
        cw.load(tmp_path / "y", cw.Program, insecure=True)


def loaded(record: Record, folder: Path) -> cw.Program:
    container.write(folder / "forged", KIND, record)
    return cw.load(folder / "forged", cw.Program, insecure=True)


LAYOUT: dict[str, Any] = {
    "slots": 512,
    "axes": [{"size": 4, "stride": 8, "name": "", "tile": 0}],
    "replicas": [],
    "garbage": True,
    "offset": 0,
}
SCALAR = {"slot": 0, "input": "a", "index": 0}
PLACE = {"output": 0, "slot": 0}
DEEP: dict[str, Any] = {"number": 0}
for _ in range(60):
    DEEP = {"parts": [DEEP], "is_tuple": False}
HUGE = {**LAYOUT, "axes": [{"size": 1 << 40, "stride": 0, "name": "", "tile": 1}] * 32}


def each_of(place: tuple[Any, ...], *values: Any) -> list[tuple[tuple[Any, ...], Any]]:
    return [(place, value) for value in values]


NAN = float("nan")
LIES: dict[str, list[tuple[tuple[Any, ...], Any]]] = {
    "tensors": [
        *each_of(("form",), ..., "bootstraps", "text", 3),
        *each_of(("body", "title"), 3, ...),
        *each_of(("body", "numbers"), "integer", "complex", ...),
        *each_of(("packing", "kind"), ..., "batch", "bits", "scalars", "x"),
        *each_of(("packing", "form"), 1, True, ..., {}, {"number": 0}, {"number": 9}),
        *each_of(("packing", "form"), {"parts": [{"number": -1}, {"number": 0}], "is_tuple": True}),
        *each_of(("packing", "inputs"), [], ..., {}, [3]),
        *each_of(("packing", "inputs", 0, "high"), NAN, "1.5", None, -2.0),
        *each_of(("packing", "inputs", 0, "low"), NAN, None, 3.0),
        *each_of(("packing", "inputs", 0, "kind"), "integer", "bits", "x"),
        *each_of(("packing", "inputs", 0, "width"), 3, -1, True),
        *each_of(("packing", "inputs", 0, "shape"), [4, 9], [0], [-4, 8], [1.5], "4", [1] * 65),
        *each_of(("packing", "inputs", 0, "shape"), [10**30], [1 << 41], [True, 8]),
        *each_of(("packing", "inputs", 1, "name"), "a", 3, "\x1b[2J"),
        *each_of(("packing", "outputs"), [], ...),
        *each_of(("packing", "placed"), [], ..., [None], [{"argument": 0, "layout": LAYOUT}] * 9),
        *each_of(("packing", "placed", 0, "argument"), 7, -1, True, 1 << 40),
        *each_of(("packing", "placed", 0, "layout"), HUGE, None, LAYOUT, ...),
        *each_of(("packing", "results"), [], [LAYOUT], [LAYOUT] * 9, [LAYOUT, 3]),
        *each_of(("packing", "results", 0), HUGE, {**LAYOUT, "offset": 500}, 3),
        *each_of(("scheme", "scheme"), "bgv", "tfhe", "rsa", ..., 3),
        *each_of(("scheme", "parameters"), b"", b"x" * 99, ..., "text", []),
        *each_of(("error",), NAN, -1.0, 0, "1.0", float("inf"), True),
        *each_of(("error_bound",), NAN, -1.0, 0, "1.0", float("inf"), True, 1e-3),
        *each_of(("threads",), 0, -1, 1025, 10**30, 1.5, True, "1", [1]),
        *each_of(("ranges",), ..., {}, [3]),
    ],
    "networks": [
        *each_of(("ranges", 0, "low"), NAN, 2.0, 10**400, None, float("-inf")),
        *each_of(("ranges", 0, "high"), NAN, float("inf"), -2.0, "1"),
        *each_of(("ranges", 0, "scale"), 0.0, -1.0, NAN),
        *each_of(("ranges", 0, "shift"), NAN, "x"),
        *each_of(("ranges", 0, "values"), [], [10**6], [-1], [True], ...),
        *each_of(("ranges", 0, "places", "slots"), 1, 0, 1 << 30),
        *each_of(("packing", "batch"), 0, 3, True, 1 << 30),
        *each_of(("packing", "width"), 0, 1, 3, 1 << 30),
        *each_of(("packing", "inputs"), [], ...),
        *each_of(("packing", "input_places", 0, "slots"), 1, 256, 0),
        *each_of(("packing", "input_places", 0, "places"), ..., np.zeros(5, dtype=np.int64)),
        *each_of(("packing", "input_places", 0, "places"), np.arange(6), np.arange(5) + (1 << 20)),
        *each_of(("packing", "input_places", 0, "places"), np.arange(5) - 1, np.arange(5.0)),
        *each_of(("packing", "inputs", 0, "shape"), [4], [5, 2], []),
        *each_of(("packing", "inputs", 0, "high"), NAN, -3.0),
        *each_of(("packing", "outputs"), [], ...),
    ],
    "circuits": [
        *each_of(("packing", "bits"), 65, 0, True, 60, -1),
        *each_of(("packing", "places", "width"), 0, 10**9, True),
        *each_of(("packing", "places", "slots"), 0, 512, 1 << 20),
        *each_of(("packing", "inputs"), [], ...),
        *each_of(("packing", "inputs", 0, "low"), "10", 10**9, 10**400, NAN, "x"),
        *each_of(("packing", "inputs", 1, "shape"), [0], [1, 0]),
        *each_of(("packing", "places", "inputs"), [], [{}], ...),
        *each_of(("packing", "places", "inputs", 0), [{}], [SCALAR, SCALAR], [None]),
        *each_of(("packing", "places", "inputs", 0, 0, "input"), "nobody", 3, "\x1b[2J", ...),
        *each_of(("packing", "places", "inputs", 0, 0, "index"), 99, -1, True, ...),
        *each_of(("packing", "places", "inputs", 0, 0, "slot"), 10**9, -(10**9), 0.0, True),
        *each_of(("packing", "places", "results"), [], [PLACE], ["x"], [[0]], [{}]),
        *each_of(("packing", "places", "results", 0), {**PLACE, "slot": 10**9}, {"value": "1"}),
        *each_of(("packing", "places", "results", 0, "output"), 9, -1, True, 10**400, ...),
        *each_of(("packing", "ranges"), [], [[1]], [[1, "x"]], [[1, 2, 3]], [[1, 10**400]]),
        *each_of(("packing", "form"), 9, {"number": 9}, {"number": -1}, {"value": 10**400}),
        *each_of(("packing", "form"), {"parts": [True], "is_tuple": True}, DEEP, None, ...),
        *each_of(("scheme", "parameters"), [], b"x", [b"x"], ["x"], [b""] * 99),
    ],
    "bits": [
        *each_of(("scheme", "parameters"), ..., None, 4, "space5", "", ["space4"], {}),
        *each_of(("scheme", "failure_bits"), ..., 0, 129, 1.5, True),
        *each_of(("packing", "inputs"), [], ...),
        *each_of(("packing", "inputs", 0, "name"), "b", "c"),
        *each_of(("body", "inputs", 0, "kind"), "real", "integer", "bytes"),
        *each_of(("body", "outputs"), [], ...),
    ],
}


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [(name, place, value) for name, lies in LIES.items() for place, value in lies],
    ids=lambda each: f"{each!s:.50}",
)
def test_records_that_lie_are_refused(
    name: str, place: tuple[Any, ...], value: Any, tmp_path: Path
) -> None:
    record = BY_NAME[name].program.to_record()
    with pytest.raises(MalformedBytesError, match="cannot read") as refusal:
        loaded(changed(record, place, value), tmp_path)
    assert str(refusal.value).isprintable()


def disturbed(value: Any, rng: random.Random) -> Any:
    """Something else than a value: hostile, or with one bit changed."""
    if isinstance(value, np.ndarray) and value.size and rng.random() < 0.8:
        data = bytearray(value.tobytes())
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        return np.frombuffer(bytes(data), dtype=value.dtype).reshape(value.shape)
    if isinstance(value, bytes) and value and rng.random() < 0.8:
        flipped = bytearray(value)
        flipped[rng.randrange(len(value))] ^= 1 << rng.randrange(8)
        return bytes(flipped)
    return rng.choice([*HOSTILE, ...])


@every_family
@settings(max_examples=part(20))
@given(seed=st.integers(0, 2**32))
def test_any_change_to_a_record_is_refused_or_harmless(
    family: Family, seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rng = random.Random(seed)
    record = family.program.to_record()
    place = rng.choice(list(places(record)))
    forged = changed(record, place, disturbed(at(record, place), rng))
    told: list[str] = []
    try:
        made = loaded(forged, tmp_path_factory.getbasetemp())
        told += [cw.explain(made), repr(made)]
        made.run_clear(**family.arguments)
    except CloakworkError as error:
        told.append(str(error))
    assert not any("\x1b" in each for each in told)


def test_insecure_parameters_are_refused_unless_they_are_wanted(tmp_path: Path) -> None:
    for family in (TENSORS, NETWORKS, CIRCUITS):
        family.program.save(tmp_path / "program")
        with pytest.raises(InsecureParametersError, match="read it with insecure=True"):
            cw.load(tmp_path / "program", cw.Program)
        assert cw.load(tmp_path / "program", cw.Program, insecure=True).warning == "INSECURE"


def test_a_network_has_places_in_its_own_slots() -> None:
    packing = NETWORKS.program.packing
    assert isinstance(packing, BatchPacking)
    for wrong in (
        replace(packing, batch=2),
        lambda: replace(packing, batch=0),
        lambda: replace(packing, batch=99),
        lambda: replace(packing, outputs=()),
        lambda: replace(packing, input_places=packing.output_places),
    ):
        if callable(wrong):
            with pytest.raises(InvalidProgramError, match="cannot pack a network"):
                wrong()


def test_levels_that_are_dropped_are_kept(tmp_path: Path) -> None:
    program = cw.compile(lambda a, b: (a * b) * b, (8,), (8,), log_n=10, insecure=True)
    assert isinstance(program.body, SlotProgram)
    levels = [each.level for each in program.body.operations if isinstance(each, Input)]
    assert sorted(set(levels)) == [2]
    assert any(isinstance(each, Rescale) for each in program.body.operations)
    program.save(tmp_path / "program")
    again = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert str(again.body) == str(program.body)


@pytest.mark.parametrize("make", [lambda: (), lambda: [3], lambda: None])
def test_evaluations_are_one_or_more(make: Callable[[], Any]) -> None:
    with pytest.raises((ShapeMismatchError, CloakworkError)):
        BITS.program.run_clear(a=make(), b=[])


def test_keys_that_no_machine_holds_are_refused_before_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    program = cw.compile(lambda x: x.sum(), (4,))
    monkeypatch.setattr("cloakwork.runtime.client.physical_bytes", lambda: program.key_bytes - 1)
    with pytest.raises(MemoryBudgetError, match=f"they take {program.key_bytes}; .* key_budget"):
        program.keygen()
    monkeypatch.setattr("cloakwork.runtime.client.physical_bytes", lambda: program.key_bytes)
    assert program.keygen()[1].key_bytes == program.key_bytes
