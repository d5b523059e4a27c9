"""Sessions: what they ask of parameters, and what they refuse."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork import _native
from cloakwork._native import EvaluationKeys, Parameters, SecretKey
from cloakwork.errors import (
    BoundOverflowError,
    CloakworkError,
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    KeyBudgetError,
    LevelExhaustedError,
    MemoryBudgetError,
    NotFiniteError,
    NotRealError,
    ParametersMismatchError,
    PrecisionLostError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.tensors import eager
from cloakwork.programs.bounds import value_bounds
from cloakwork.programs.keys import KeyRequirements, required_keys
from cloakwork.programs.layout import MAX_SLOTS
from cloakwork.programs.slots import Builder, Input, Output, Rotate, SlotProgram, State
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.ckks import Ckks


def session(**options: Any) -> cw.Session:
    return cw.Session(**{"depth": 2, "backend": "clear", **options})


def test_parameters_follow_from_depth_precision_and_bound() -> None:
    parameters = session(depth=3, precision=20, bound=64.0).parameters
    assert parameters.levels == 3
    assert parameters.scale_bits == 44
    assert parameters.headroom_bits == 6 + 2 + 16
    assert not parameters.insecure


def test_slots_are_a_minimum() -> None:
    small = session().parameters.slots
    assert session(slots=small).parameters.slots == small
    assert session(slots=small + 1).parameters.slots == 2 * small


@pytest.mark.parametrize("data", [3.0, [1.0, 2.0], np.ones((2, 3, 4)), np.ones((1, 1))])
def test_any_shape_comes_back(data: Any) -> None:
    s = session()
    assert np.array_equal(s.decrypt(s.encrypt(data)), np.asarray(data))


@pytest.mark.parametrize(
    ("data", "error"),
    [
        ([np.nan], NotFiniteError),
        ([1j], NotRealError),
        (["a"], NotRealError),
        ([65.0], ValueOutOfRangeError),
        ([[1.0], [1.0, 2.0]], ShapeMismatchError),
        (np.zeros((2, 0)), ShapeMismatchError),
    ],
)
def test_data_that_are_refused(data: Any, error: type[CloakworkError]) -> None:
    with pytest.raises(error, match="cannot"):
        session().encrypt(data)


def test_a_result_above_the_bound_is_refused() -> None:
    s = session(bound=4.0)
    with pytest.raises(ValueOutOfRangeError, match="bound=9"):
        s.decrypt(cw.einsum("i,i->i", s.encrypt([3.0]), [3.0]))


@pytest.mark.parametrize("size", [2, 64, 1024])
def test_a_result_that_breaks_the_bound_by_far_is_seen(size: int) -> None:
    s = cw.Session(depth=0, bound=4.0, insecure=True, log_n=12)
    x = s.encrypt(np.full(size, 4.0))
    with pytest.raises(ValueOutOfRangeError, match=f"bound={4 * size}"):
        s.decrypt(cw.einsum("i->", x))


def test_a_result_that_may_wrap_unseen_is_refused() -> None:
    s = cw.Session(depth=1, insecure=True, log_n=11)
    ones = np.ones(1024)
    with pytest.raises(
        BoundOverflowError, match=r"tighter bounds \(bound= of encrypt or of the session"
    ):
        cw.einsum("i,->i", s.encrypt(ones), 1e6)
    with pytest.raises(BoundOverflowError, match="tighter bounds"):
        s.decrypt(cw.einsum("i->", cw.einsum("i,->i", s.encrypt(ones), 1e3)))
    tight = cw.einsum("i->", s.encrypt(ones / 32, bound=1 / 32))
    assert abs(s.decrypt(tight) - 32) < 1e-5


def test_the_bound_that_is_too_small_is_the_one_to_change() -> None:
    s = session(bound=4.0)
    with pytest.raises(ValueOutOfRangeError, match=r"exceeds the bound 1; encrypt .* bound=2,"):
        s.encrypt([2.0], bound=1)
    with pytest.raises(ValueOutOfRangeError, match=r"exceeds the bound 1; .*Session\(bound=5\)"):
        s.encrypt([5.0], bound=1)


def test_a_result_without_a_right_bit_is_refused() -> None:
    s = cw.Session(depth=1, insecure=True, log_n=11)
    x = s.encrypt(np.full(4, 1e-12), bound=1e-12)
    with pytest.raises(PrecisionLostError, match="more precision"):
        s.decrypt(cw.einsum("i,->i", x, 1e12))
    with pytest.raises(PrecisionLostError, match="or ask for fewer statistical_bits"):
        s.decrypt_for_others(s.encrypt([1.0, 2.0]), statistical_bits=60, decryptions=1)
    assert (
        np.abs(
            s.decrypt_for_others(s.encrypt([1.0, 2.0]), statistical_bits=2, decryptions=1) - [1, 2]
        ).max()
        < 1e-3
    )


def test_a_result_with_few_right_bits_is_refused() -> None:
    s = cw.Session(depth=2, insecure=True, log_n=11)
    x = s.encrypt([30e-11])
    for weight in (1e11, 1e13):
        with pytest.raises(PrecisionLostError, match=r"expected 8 right bits or more, got [0-7]:"):
            s.decrypt(cw.einsum("i,i->i", x, [weight]))
    assert abs(s.decrypt(cw.einsum("i,i->i", x, [1e6])) - 30e-5) < 2**-8


def test_numbers_at_the_bound_come_back() -> None:
    s = cw.Session(depth=1, bound=1, insecure=True, log_n=11)
    x = s.encrypt(np.ones(1024))
    assert np.abs(s.decrypt(x) - 1).max() < 2**-20
    with pytest.raises(ValueOutOfRangeError, match="bound"):
        s.decrypt(cw.einsum("i,->i", x, 1 + 2**-10))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "weights", [[[1.7e308, -1.7e308]], [[1.7e308, 1.7e308]], [[1e308, 1.0], [-1e308, 1.0]]]
)
def test_a_clear_result_that_outgrows_its_double_is_refused(weights: Any) -> None:
    s = session()
    x = s.encrypt(np.full((len(weights), 2), 64.0))
    for expression in ("ij,ij->i", "ij,ij->ij", "ij,ij->"):
        with pytest.raises(NotFiniteError, match="cannot decrypt: element"):
            s.decrypt(cw.einsum(expression, x, weights))


def test_a_tensor_may_have_a_tighter_bound() -> None:
    s = cw.Session(depth=1, insecure=True, log_n=11)
    loose, tight = s.encrypt([0.5]), s.encrypt([0.5], bound=1.0)
    products = [cw.einsum("i,i->i", x, x) for x in (loose, tight)]
    assert products[1].precision > products[0].precision + 5
    for bound, data in ((1.0, [1.5]), (65.0, [1.0])):
        with pytest.raises(ValueOutOfRangeError, match="cannot encrypt"):
            s.encrypt(data, bound=bound)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"precision": 60}, InvalidParametersError),
        ({"depth": -1}, InvalidArgumentError),
        ({"depth": 1.5}, InvalidArgumentError),
        ({"precision": -1}, InvalidArgumentError),
        ({"bound": 0.0}, InvalidArgumentError),
        ({"bound": float("nan")}, InvalidArgumentError),
        ({"backend": "none"}, InvalidArgumentError),
        ({"depth": 10**30}, InvalidArgumentError),
        ({"bound": 1e300}, InvalidParametersError),
        (
            {"bound": 1.7e308, "bootstrap": True, "log_n": 11, "insecure": True},
            InvalidParametersError,
        ),
        ({"log_n": 11}, InsecureParametersError),
        ({"log_n": 11, "insecure": True, "slots": 1 << 12}, InvalidParametersError),
    ],
)
def test_options_that_are_refused(options: dict[str, Any], error: type[CloakworkError]) -> None:
    with pytest.raises(error):
        session(**options)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("depth", True),
        ("depth", 10**30),
        pytest.param("depth", 10**5000, id="depth beyond what prints"),
        ("precision", "a"),
        ("precision", 10**30),
        ("slots", "x"),
        ("slots", 0),
        ("slots", -5),
        ("slots", 1.5),
        ("slots", (1 << 16) + 1),
        ("bound", "a"),
        ("bound", None),
        ("bound", 1j),
        ("bound", True),
        ("bound", 10**400),
        ("bound", -1.0),
        ("insecure", "yes"),
        ("insecure", 1),
        ("log_n", "a"),
        ("log_n", 14.0),
        ("log_n", -1),
        ("backend", np.array(["ckks", "clear"])),
        ("backend", None),
    ],
)
def test_a_refusal_names_the_argument_and_what_came(name: str, value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"cannot make a session: expected {name}.*got"):
        session(**{name: value})


def test_numpy_numbers_are_numbers() -> None:
    s = session(
        depth=np.int64(2),
        precision=np.int32(20),
        slots=np.uint16(1024),
        bound=np.float32(4.0),
        insecure=np.True_,
        log_n=np.int64(12),
    )
    assert (s.parameters.levels, s.parameters.log_n, s.bound) == (2, 12, 4.0)
    bound: Any = np.float32(2.0)
    bits: Any = np.int64(1)
    assert (
        abs(
            s.decrypt_for_others(
                s.encrypt([1.0], bound=bound), statistical_bits=bits, decryptions=bits
            )[0]
            - 1.0
        )
        < 1e-2
    )


def test_the_largest_bound_that_works_is_named() -> None:
    with pytest.raises(InvalidParametersError, match=r"bound=1e\+300.*ask for bound=4194304 or"):
        session(bound=1e300, precision=20)
    assert session(bound=4194304, precision=20).bound == 4194304
    with pytest.raises(InvalidParametersError, match="bound=4194304 or less or precision=19 or"):
        session(bound=4194305, precision=20)


def test_the_rings_are_those_of_the_engine() -> None:
    assert Parameters(levels=0, log_n=17).slots == MAX_SLOTS
    for log_n in (4, 18):
        with pytest.raises(InvalidParametersError):
            Parameters(levels=0, log_n=log_n, insecure=True)
        with pytest.raises(InvalidArgumentError, match="log_n to be an integer from 5 up to 17"):
            session(log_n=log_n, insecure=True)
    assert session(log_n=5, insecure=True, depth=0).parameters.slots == 16
    with pytest.raises(InvalidArgumentError, match=r"slots .* up to 65536, got 70000"):
        session(slots=70000)


@pytest.mark.parametrize("backend", ["ckks", "clear"])
def test_a_large_array_takes_several_ciphertexts(backend: str) -> None:
    s = session(depth=0, backend=backend, insecure=True, log_n=8)
    array = np.random.default_rng(0).uniform(-1, 1, (20, 30))
    x = s.encrypt(array)
    assert len(x.values) == 6
    assert np.abs(s.decrypt(x) - array).max() < 1e-5
    assert x.nbytes == sum(value.nbytes for value in x.values)
    assert x.precision == min(value.precision for value in x.values)
    assert "ciphertexts=6" in repr(x)
    assert "ciphertexts" not in repr(s.encrypt([1.0]))


def test_the_clear_backend_claims_no_security() -> None:
    s = session()
    x = s.encrypt([1.0])
    for text in (repr(s), repr(x), cw.explain(x)):
        assert "hides nothing" in text
        assert "secure" not in text


def test_a_tensor_says_that_it_is_insecure() -> None:
    s = cw.Session(depth=1, insecure=True, log_n=11)
    x = s.encrypt([1.0])
    computed = cw.einsum("i->", x)
    for tensor in (x, computed):
        assert "INSECURE" in repr(tensor)
        assert "INSECURE" in cw.explain(tensor)
    assert "INSECURE" in repr(s)
    assert "INSECURE" in repr(s.evaluator())
    secure = cw.Session(depth=0).encrypt([1.0])
    assert "INSECURE" not in repr(secure) + cw.explain(secure)


@pytest.mark.parametrize("backend", ["ckks", "clear"])
@pytest.mark.parametrize("refused", [1.5, -1, 0, True, "8"])
def test_flooding_that_is_refused(backend: str, refused: Any) -> None:
    s = session(depth=0, backend=backend, insecure=True, log_n=11)
    with pytest.raises(InvalidArgumentError, match="statistical_bits"):
        s.decrypt_for_others(s.encrypt([1.0]), statistical_bits=refused, decryptions=1)
    with pytest.raises(InvalidArgumentError, match="decryptions"):
        s.decrypt_for_others(s.encrypt([1.0]), statistical_bits=8, decryptions=refused)


@pytest.mark.parametrize("thing", [None, np.ones(2), [1.0], 1])
def test_only_tensors_are_decrypted_and_explained(thing: Any) -> None:
    s = session()
    with pytest.raises(InvalidArgumentError, match="expected an encrypted tensor, got"):
        s.decrypt(thing)
    with pytest.raises(InvalidArgumentError, match="cannot explain: expected a program"):
        cw.explain(thing)


def test_clear_and_encrypted_do_not_mix() -> None:
    hidden, clear = (
        session(depth=1, backend=backend, insecure=True, log_n=11) for backend in ("ckks", "clear")
    )
    x, y = hidden.encrypt([1.0]), clear.encrypt([1.0])
    for own, tensor in ((hidden, y), (clear, x)):
        with pytest.raises(ParametersMismatchError, match="not of this session"):
            own.decrypt(tensor)
    with pytest.raises(ParametersMismatchError):
        cw.einsum("i,i->i", x, y)


@pytest.mark.parametrize("bound", [64.5, 1e300, np.float32(65), 2**80])
def test_a_tensors_bound_is_within_the_sessions(bound: Any) -> None:
    with pytest.raises(ValueOutOfRangeError, match="up to the session's 64, got"):
        session().encrypt([0.0], bound=bound)


NO_BOUNDS = ["a", 1j, True, 0.0, -1.0, float("nan"), float("inf")]
NO_BOUNDS += [10**400, -(10**400), Fraction(10) ** 400]


@pytest.mark.parametrize("bound", NO_BOUNDS, ids=lambda bound: f"{bound!s:.9}")
def test_a_tensors_bound_is_a_number(bound: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="bound"):
        session().encrypt([1.0], bound=bound)


def test_a_bound_that_is_barely_too_large_is_shown_as_such() -> None:
    with pytest.raises(ValueOutOfRangeError, match=r"got 64\.0000001"):
        session().encrypt([1.0], bound=64.0000001)


def test_a_tensor_of_another_session_is_refused() -> None:
    for other in (session(), session(depth=1), session(backend="ckks", insecure=True, log_n=10)):
        with pytest.raises(ParametersMismatchError, match="the tensor is not of this session"):
            session().decrypt(other.encrypt([1.0]))


def test_nothing_printed_shows_numbers() -> None:
    s = session()
    x = s.encrypt([1.2345])
    for text in (repr(s), repr(x)):
        assert "1.2345" not in text


def test_the_clear_backend_has_nothing_to_save(tmp_path: Path) -> None:
    s = session()
    with pytest.raises(InvalidArgumentError, match="it works in the clear and has no key"):
        s.save(tmp_path / "session")
    with pytest.raises(InvalidArgumentError, match="the session works in the clear and has no"):
        s.evaluator()
    with pytest.raises(InvalidArgumentError, match="on the clear backend it is clear"):
        s.encrypt([1.0]).save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def rotations(s: cw.Session, steps: range) -> SlotProgram:
    builder = Builder("rotations", s.parameters.slots)
    x = builder.append(Input("x", s.parameters.levels))
    for step in steps:
        builder.append(Output(builder.append(Rotate(x, step))))
    return builder.finish()


def test_keys_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    make = Ckks.keys_for

    def watched(scheme: Ckks, secret: SecretKey, needed: KeyRequirements) -> EvaluationKeys:
        if len(calls) == 2:
            raise KeyboardInterrupt
        calls.append(len(needed.rotations))
        return make(scheme, secret, needed)

    s = cw.Session(depth=0, insecure=True, log_n=9)
    x = s.encrypt(np.arange(4.0))
    monkeypatch.setattr(_native, "threads", lambda: 2)
    monkeypatch.setattr(Ckks, "keys_for", watched)
    with pytest.raises(KeyboardInterrupt):
        s.run(rotations(s, range(1, 21)), list(x.values))
    assert calls == [8, 8]
    held = s.key_bytes
    assert held > 0
    # What was made before the interrupt is kept.
    calls.clear()
    s.run(rotations(s, range(1, 21)), list(x.values))
    assert calls == [4]
    assert s.key_bytes == held // 16 * 20


@pytest.mark.parametrize("backend", ["ckks", "clear"])
def test_a_run_is_measured(backend: str) -> None:
    s = session(backend=backend, insecure=True, log_n=9)
    (value,) = s.encrypt(np.arange(4.0)).values
    profile = Profile()
    s.run(rotations(s, range(1, 4)), [value], profile=profile)
    assert profile.totals()["rotate"].operations == 3


@pytest.mark.parametrize("backend", ["ckks", "clear"])
def test_a_tensor_too_large_for_the_memory_is_refused(backend: str) -> None:
    alone = session(depth=1, backend=backend, insecure=True, log_n=10)
    one = alone.scheme.bytes_at(State(1))
    s = session(depth=1, backend=backend, insecure=True, log_n=10, memory_limit=2 * one)
    x = s.encrypt(np.ones(2 * 512))
    assert len(x.values) == 2
    with pytest.raises(MemoryBudgetError, match=r"cannot encrypt shape \(1025,\)"):
        s.encrypt(np.ones(2 * 512 + 1))
    with pytest.raises(MemoryBudgetError, match="cannot run"):
        x * x


def test_an_empty_memory_holds_nothing() -> None:
    with pytest.raises(MemoryBudgetError):
        session(memory_limit=0).encrypt([1.0])
    for limit in (-1, 1.5, "1"):
        with pytest.raises(InvalidArgumentError, match="memory_limit"):
            session(memory_limit=limit)


def test_a_key_budget_is_kept_by_making_rotations_of_others() -> None:
    data = np.random.default_rng(3).uniform(-1, 1, (10, 10))
    free = cw.Session(depth=3, insecure=True, log_n=10)
    x = free.encrypt(data)
    y = x @ x
    assert y.program is not None
    needed = required_keys(y.program)

    budget = needed.nbytes(free.parameters.evaluation_key_bytes) - 1
    tight = cw.Session(depth=3, insecure=True, log_n=10, key_budget=budget)
    x = tight.encrypt(data)
    y = x @ x
    assert y.program is not None
    assert len(required_keys(y.program).rotations) < len(needed.rotations)
    assert np.abs(tight.decrypt(y) - data @ data).max() < 1e-5
    assert 0 < tight.key_bytes <= budget


def test_a_key_budget_that_powers_of_two_exceed_is_refused() -> None:
    s = cw.Session(depth=1, insecure=True, log_n=10, key_budget=0)
    x = s.encrypt(np.ones(101))
    assert np.abs(s.decrypt(x + x) - 2).max() < 1e-5
    with pytest.raises(KeyBudgetError, match=r"within 0 bytes .* allow key_budget=") as refusal:
        x.sum()
    assert s.key_bytes == 0
    least = int(str(refusal.value).rsplit("=", 1)[1])
    for budget in (least, least - 1):
        s = cw.Session(depth=1, insecure=True, log_n=10, key_budget=budget)
        x = s.encrypt(np.ones(101))
        if budget < least:
            with pytest.raises(KeyBudgetError):
                x.sum()
        else:
            assert abs(s.decrypt(x.sum() / 101) - 1) < 1e-5
    wrong: tuple[Any, ...] = (-1, 1.5, True)
    for budget in wrong:
        with pytest.raises(InvalidArgumentError, match="key_budget"):
            session(key_budget=budget)


@pytest.mark.parametrize(
    "compute",
    [
        lambda x: x**9,
        lambda x: (x @ x) @ (x @ x),
        lambda x: cw.einsum("ij,jk,kl->li", x, x, x),
        lambda x: (x * x)[::-1].mean(axis=0),
    ],
)
@pytest.mark.parametrize("depth", [0, 1])
def test_the_depth_that_a_refusal_names_will_do(compute: Any, depth: int) -> None:
    data = np.random.default_rng(4).uniform(-1, 1, (6, 6))
    for _ in range(8):
        s = session(depth=depth, insecure=True, log_n=11)
        try:
            compute(s.encrypt(data))
        except LevelExhaustedError as error:
            found = re.search(r"depth=(\d+)", str(error))
            assert found is not None
            assert int(found[1]) > depth
            depth = int(found[1])
        else:
            return
    raise AssertionError("the depths named never did")


@pytest.mark.parametrize("expression", ["ij,jk->ik", "ij,ij->ij", "ij,jk->ki"])
def test_the_depth_named_for_one_step_does_at_once(expression: str) -> None:
    data = np.random.default_rng(5).uniform(-1, 1, (6, 6))
    x = session(depth=0, insecure=True, log_n=11).encrypt(data)
    with pytest.raises(LevelExhaustedError, match=r"make the session with depth=\d+") as refusal:
        cw.einsum(expression, x, x)
    depth = int(str(refusal.value).rsplit("depth=", 1)[1].split(",")[0].split()[0])
    deeper = session(depth=depth, insecure=True, log_n=11)
    x = deeper.encrypt(data)
    found = deeper.decrypt(cw.einsum(expression, x, x))
    assert np.abs(found - np.einsum(expression, data, data)).max() < 1e-9
    x = session(depth=depth - 1, insecure=True, log_n=11).encrypt(data)
    with pytest.raises(LevelExhaustedError):
        cw.einsum(expression, x, x)


def test_a_program_is_bounded_once_for_numbers_within_one_range(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = cw.Session(depth=2, insecure=True, log_n=13)
    bounded: list[SlotProgram] = []

    def counted(program: SlotProgram, *given: Any) -> list[float | None]:
        bounded.append(program)
        return value_bounds(program, *given)

    monkeypatch.setattr(eager, "value_bounds", counted)
    x, y = (made.encrypt(np.ones((64, 64)), bound=bound) for bound in (1, 3))
    # On one line: a program knows where it was asked for.
    first, again, other = x @ x, x @ x, y @ x
    assert bounded == [first.program, first.program]
    assert again.program is other.program is first.program
    assert [each.values[0].bound for each in (first, again)] == pytest.approx([64, 64])
    assert other.values[0].bound == pytest.approx(3 * 64)
