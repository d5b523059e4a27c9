"""Modelled noise against the noise of the engine, and what the clear backend does with it."""

import math
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork._native import Parameters
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.fitting.sign import sign_stages
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Fill,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
    TwiceReal,
)
from cloakwork.runtime.executor import run
from cloakwork.schemes.ckks import CkksBackend
from cloakwork.schemes.ckks_noise import NoiseModel, noise_of
from cloakwork.schemes.clear_real import ClearBackend, ClearKey, ClearVector
from tests.schemes.ckks_secret import CkksSecret

SETS = {
    "one digit, insecure": Parameters(levels=3, scale_bits=42, log_n=10, insecure=True),
    "many digits, 128 bits": Parameters(levels=3, scale_bits=40, log_n=13),
    "few digits, 128 bits": Parameters(levels=6, scale_bits=45, log_n=14),
}
# How often errors are drawn for a deviation.
_TIMES = 6
KEYS = {name: CkksSecret(p) for name, p in SETS.items()}

Chain = Callable[[Builder, int, int], int]


def rescaled(builder: Builder, product: int) -> int:
    return builder.append(Rescale(product))


def clear_vector(slots: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.random.default_rng(slots).uniform(-1, 1, slots)


def linear(builder: Builder, x: int, count: int) -> int:
    slots = builder.finish().slots
    vectors = np.random.default_rng(7).uniform(-1, 1, (count, slots))
    return rescaled(builder, builder.append(Linear(x, dict(enumerate(vectors)), 4)))


def shared_transforms(builder: Builder, x: int, _: int) -> int:
    """Four of one value: its baby rotations are divided, as they are shared."""
    slots = builder.finish().slots
    vectors = np.random.default_rng(7).uniform(-1, 1, (4, 48, slots))
    total, *others = [builder.append(Linear(x, dict(enumerate(each)), 16)) for each in vectors]
    for other in others:
        total = builder.append(Sub(total, other))
    return rescaled(builder, total)


def constant(builder: Builder) -> int:
    return builder.append(Constant(clear_vector(builder.finish().slots)))


def everything(b: Builder, x: int, y: int) -> int:
    rotated = b.append(Mul(b.append(Rotate(x, 3)), y))
    moved = linear(b, rescaled(b, rotated), 16)
    lowered = b.append(DropLevel(y, b.level(moved)))
    total = b.append(Sub(b.append(Neg(moved)), lowered))
    return rescaled(b, b.append(Mul(total, constant(b))))


CHAINS: dict[str, Chain] = {
    "encrypt": lambda _, x, __: x,
    "add": lambda b, x, y: b.append(Add(x, y)),
    "add constant": lambda b, x, _: b.append(Add(x, constant(b))),
    "fill": lambda b, x, _: b.append(Fill(x, constant(b))),
    "twice the real part": lambda b, x, _: b.append(TwiceReal(x)),
    "rotate": lambda b, x, _: b.append(Rotate(x, 3)),
    "rotate twice": lambda b, x, _: b.append(Rotate(b.append(Rotate(x, 3)), 4)),
    "multiply": lambda b, x, y: rescaled(b, b.append(Mul(x, y))),
    "rotate a product": lambda b, x, y: rescaled(b, b.append(Rotate(b.append(Mul(x, y)), 3))),
    "multiply by a constant": lambda b, x, _: rescaled(b, b.append(Mul(x, constant(b)))),
    "drop a level": lambda b, x, _: b.append(DropLevel(x, b.level(x) - 1)),
    "a small transform": lambda b, x, _: linear(b, x, 2),
    "a large transform": lambda b, x, _: linear(b, x, 64),
    "transforms that share their baby steps": shared_transforms,
    "monomials": lambda b, x, _: b.append(Polynomial(x, (0.5, -1.0, 0.25, 2.0), "monomial")),
    "a power of large numbers": lambda b, x, _: b.append(
        Polynomial(b.append(Add(x, constant(b))), (0,) * 4 + (1.0,), "monomial")
    ),
    "an odd power": lambda b, x, _: b.append(
        Polynomial(b.append(Add(x, constant(b))), (0,) * 7 + (1.0,), "monomial")
    ),
    "chebyshev": lambda b, x, _: b.append(Polynomial(x, (0, 0.5, 0, -1, 0, 0.3), "chebyshev")),
    "everything": everything,
}


def program_of(chain: Chain, parameters: Parameters) -> SlotProgram:
    builder = Builder("chain", parameters.slots)
    x, y = (builder.append(Input(name, parameters.levels)) for name in "xy")
    builder.append(Output(chain(builder, x, y)))
    return builder.finish()


# Of large rings, which take longest, what uses all operations.
FEW = {
    ("many digits, 128 bits", "everything", False),
    ("many digits, 128 bits", "an odd power", True),
    ("few digits, 128 bits", "everything", True),
}


@pytest.mark.parametrize(
    ("name", "chain", "public_inputs"),
    [
        pytest.param(*case, marks=() if case in FEW or "insecure" in case[0] else pytest.mark.slow)
        for case in product(SETS, CHAINS, (False, True))
    ],
)
def test_the_model_is_within_a_factor_of_two_of_the_engine(
    name: str, chain: str, public_inputs: bool
) -> None:
    parameters, key = SETS[name], KEYS[name]
    program = program_of(CHAINS[chain], parameters)
    inputs = np.random.default_rng(2).uniform(-1, 1, (2, parameters.slots))
    exact_key = ClearKey()
    (exact,) = run(
        program,
        ClearBackend(),
        [exact_key.encrypt(v, level=parameters.levels) for v in inputs],
    )
    keys = key.scheme.keys_for(key.key, required_keys(program))
    encrypt = key.encrypt_publicly if public_inputs else key.encrypt
    measured, predicted = 0.0, 0.0
    # Of a power the few largest slots have most of the error: once is too little to tell.
    for seed in range(_TIMES):
        encrypted = [encrypt(v, bound=1.0, level=parameters.levels) for v in inputs]
        (found,) = run(program, CkksBackend(parameters, keys), encrypted)
        measured += float(np.var(key.decrypt(found) - exact.slots))
        model = noise_of(parameters, seed, public_inputs=public_inputs)
        noisy_key = ClearKey(model)
        noisy_inputs = [noisy_key.encrypt(v, level=parameters.levels) for v in inputs]
        (modelled,) = run(program, ClearBackend(model), noisy_inputs)
        predicted += float(np.var(modelled.slots - exact.slots))
    measured, predicted = math.sqrt(measured), math.sqrt(predicted)
    assert measured / 2 < predicted < 2 * measured


@pytest.mark.parametrize("value", [0.3, 0.9, 1.0])
def test_noise_of_a_steep_polynomial_is_that_of_the_engine(value: float) -> None:
    """At the end of its range errors of powers add up, and were ten times what was predicted."""
    parameters = Parameters(levels=6, scale_bits=40, log_n=12, insecure=True)
    secret = CkksSecret(parameters)
    stages = sign_stages(2.0**-9.1)
    assert stages is not None
    steep = stages[0]
    assert len(steep) == 32
    builder = Builder("sign", parameters.slots)
    x = builder.append(Input("x", parameters.levels))
    builder.append(Output(builder.append(Polynomial(x, steep, "chebyshev"))))
    program = builder.finish()
    values = np.full(parameters.slots, value)
    encrypted = secret.encrypt(values, bound=1.0, level=parameters.levels)
    keys = secret.scheme.keys_for(secret.key, required_keys(program))
    (found,) = run(program, CkksBackend(parameters, keys), [encrypted])
    exact = np.polynomial.chebyshev.chebval(value, steep)
    model = noise_of(parameters)
    key, backend = ClearKey(model), ClearBackend(model)
    (modelled,) = run(program, backend, [key.encrypt(values, level=parameters.levels)])
    measured = float(np.std(secret.decrypt(found) - exact))
    predicted = float(np.std(modelled.slots - exact))
    told = model.polynomial(parameters.scale(1), steep, "chebyshev", np.array([value]))[0]
    assert measured / 2 < predicted < 2 * measured
    assert measured / 2 < told < 2 * measured


MODEL = NoiseModel(n=2048, scales=(2.0**30, 2.0**31, 2.0**32), switching_deviation=5.0)


def test_the_same_seed_gives_the_same_errors() -> None:
    x = ClearVector(np.zeros(1024), 2)
    first, again, other = (
        ClearBackend(model).rotate(x, 1).slots
        for model in (MODEL, MODEL, NoiseModel(2048, MODEL.scales, seed=1))
    )
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    backend = ClearBackend(MODEL)
    assert not np.array_equal(backend.rotate(x, 1).slots, backend.rotate(x, 1).slots)


def test_errors_of_key_and_backend_are_independent() -> None:
    zeros = np.zeros(1024)
    fresh = ClearKey(MODEL).encrypt(zeros, level=2).slots
    rotated = ClearBackend(MODEL).rotate(ClearVector(zeros, 2), 1).slots
    assert abs(np.corrcoef(fresh, rotated)[0, 1]) < 0.2


def test_errors_have_the_deviation_that_is_told() -> None:
    zeros = np.zeros(1 << 16)
    fresh = ClearKey(MODEL).encrypt(zeros, level=1).slots
    assert np.std(fresh) == pytest.approx(MODEL.encryption(1), rel=0.05)
    rescaled_one = ClearBackend(MODEL).rescale(ClearVector(zeros, 2, waiting=True))
    assert np.std(rescaled_one.slots) == pytest.approx(MODEL.rounding(2.0**31), rel=0.05)


def test_noise_halves_where_the_scale_doubles() -> None:
    for of_scale in (MODEL.encoding, MODEL.rounding, MODEL.switching, MODEL.rotation):
        assert of_scale(2.0**31) == of_scale(2.0**30) / 2 > 0
    assert MODEL.encryption(2) == MODEL.encryption(1) / 2


def test_products_keep_waiting_until_their_rescale() -> None:
    backend = ClearBackend(MODEL)
    x = ClearVector(np.ones(4), 2)
    product = backend.multiply(x, x)
    diagonals = {0: np.ones(4)}
    waiting = [
        product,
        backend.multiply_constant(x, np.ones(4)),
        backend.linear(x, diagonals, 1),
        backend.rotate(product, 1),
        backend.add(product, product),
        backend.negate(product),
        backend.add_constant(product, np.ones(4)),
    ]
    assert all(value.waiting for value in waiting)
    assert not backend.rescale(product).waiting


def test_a_session_with_noise_is_a_little_wrong() -> None:
    def scores(*, noise: bool) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        session = cw.Session(
            depth=1, precision=20, backend="clear", insecure=True, log_n=11, noise=noise
        )
        x = session.encrypt(np.linspace(-1, 1, 64).reshape(8, 8))
        return session.decrypt(cw.einsum("ij,jk->ik", x, np.linspace(0, 1, 64).reshape(8, 8)))

    exact, noisy = scores(noise=False), scores(noise=True)
    assert 0 < np.abs(exact - noisy).max() < 2**-20
    assert np.array_equal(noisy, scores(noise=True))


def test_ciphertexts_take_no_model() -> None:
    with pytest.raises(InvalidArgumentError, match="backend='clear'"):
        cw.Session(depth=1, insecure=True, log_n=10, noise=True)
    with pytest.raises(InvalidArgumentError, match="noise to be True or False"):
        cw.Session(depth=1, backend="clear", noise=1)  # type: ignore[arg-type]


def squared_often(x: Any) -> Any:
    for _ in range(14):
        x = x * x + 0.2
    return x


def in_512_slots(function: Callable[..., Any], inputs: int, precision: int) -> cw.Program:
    specs = [cw.Spec((512,), bound=1.0)] * inputs
    return cw.compile(function, *specs, precision=precision, log_n=10, insecure=True)


def bootstrapped() -> cw.Program:
    spec = cw.Spec((128,), bound=0.5)
    return cw.compile(squared_often, spec, precision=14, bootstrap=True, log_n=8, insecure=True)


ONES, SIGNS = np.ones(512), np.sign(np.random.default_rng(1).normal(size=(2, 512)))


@pytest.mark.parametrize(
    ("make", "arguments"),
    [
        (lambda: in_512_slots(lambda x: x * 1.0, 1, 30), [ONES]),
        (lambda: in_512_slots(lambda x, y: x * y, 2, 30), [ONES, -ONES]),
        (lambda: in_512_slots(lambda x, y: x * y, 2, 30), SIGNS),
        (lambda: in_512_slots(lambda x: x**16, 1, 20), [ONES]),
        (bootstrapped, [np.full(128, 0.5)]),
        (bootstrapped, [np.linspace(-0.5, 0.5, 128)]),
        (bootstrapped, [np.zeros(128)]),
    ],
    ids=["scaled", "product", "of signs", "power", "bootstrapped", "spread", "zeros"],
)
def test_floods_are_measured_by_no_less_noise_than_there_is(
    make: Callable[[], cw.Program], arguments: Sequence[Any]
) -> None:
    program = make()
    client, evaluator = program.keygen()
    estimates = program.estimated_results
    assert estimates is not None
    found = client.decrypt(evaluator.run(client.encrypt(*arguments)))
    errors = found - program.run_clear(*arguments)
    # Of 128 numbers or more the deviation is known to a tenth.
    assert np.sqrt(np.mean(errors**2)) < 1.2 * max(each.deviation for each in estimates)
