"""Every operation on ciphertexts against the clear backend, from every level it can start at."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings

from cloakwork._native import Ciphertext, Parameters
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
    RotatedProducts,
    SlotProgram,
    Sub,
    SwitchProduct,
    TakeSum,
    TimesI,
    TwiceReal,
    WeightedSums,
)
from cloakwork.runtime.executor import run
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.schedule import degrees
from cloakwork.schemes.ckks import CkksBackend
from cloakwork.schemes.clear_real import ClearBackend, ClearKey
from tests.runtime.slot_programs import programs
from tests.schemes.ckks_secret import CkksSecret

LEVELS = 4
PARAMETERS = Parameters(levels=LEVELS, scale_bits=42, log_n=11, insecure=True)
KEY = CkksSecret(PARAMETERS)
SLOTS = PARAMETERS.slots
RNG = np.random.default_rng(8)
X, Y, C = (RNG.uniform(-1, 1, SLOTS) for _ in range(3))
DIAGONALS = {d: RNG.uniform(-1, 1, SLOTS) for d in (0, 1, 5, 30, SLOTS - 2)}

Step = Callable[[Builder, int, int], int]


def _rescaled(builder: Builder, product: int) -> int:
    return builder.append(Rescale(product))


def _products(builder: Builder, x: int, y: int) -> int:
    c = builder.append(Constant(C))
    total = builder.append(Sub(builder.append(Mul(x, y)), builder.append(Mul(x, x))))
    total = builder.append(Add(builder.append(Mul(c, x)), total))
    total = builder.append(Sub(builder.append(Linear(y, {0: C, 1: X}, 1)), total))
    total = builder.append(Sub(c, builder.append(Neg(total))))
    return _rescaled(builder, total)


def _shared_product(builder: Builder, x: int, y: int) -> int:
    product, square = builder.append(Mul(x, y)), builder.append(Mul(y, y))
    first = _rescaled(builder, builder.append(Add(product, square)))
    return builder.append(Sub(first, _rescaled(builder, builder.append(Sub(square, product)))))


def _rotated_products(builder: Builder, x: int, y: int) -> int:
    total = builder.append(Add(builder.append(Mul(x, y)), builder.append(Mul(y, y))))
    total = builder.append(Add(total, builder.append(Mul(x, x))))
    turned = [builder.append(Rotate(total, steps)) for steps in (1, 37)]
    return _rescaled(builder, builder.append(Add(builder.append(Add(*turned)), total)))


def _weighted_sums(builder: Builder, x: int, y: int) -> int:
    weights, offsets = np.array([[0.5, -1.0], [0.0, 2.0]]), np.array([0.25, -1.0])
    sums = builder.append(WeightedSums((x, y), weights, offsets))
    return builder.append(Sub(builder.append(TakeSum(sums, 0)), builder.append(TakeSum(sums, 1))))


def _with_filled(builder: Builder, x: int, y: int) -> int:
    filled = builder.append(Fill(y, builder.append(Constant(C))))
    products = builder.append(RotatedProducts((x, filled), (filled, y), SLOTS))
    return _rescaled(builder, builder.append(SwitchProduct(products, 0)))


def _both_halves(builder: Builder, x: int, y: int) -> int:
    """The real part of (x - i y) (y + i x) is 2 x y; it is taken of a product of degree 2."""
    one = builder.append(Sub(x, builder.append(TimesI(y))))
    other = builder.append(Add(y, builder.append(TimesI(x))))
    product = builder.append(TwiceReal(builder.append(Mul(one, other))))
    return _rescaled(builder, product)


def _shared_transforms(builder: Builder, x: int, _: int) -> int:
    """Four of one value, whose sixteen baby rotations are divided as they share them."""
    diagonals = [{d: np.roll(C, d + turn) / 48 for d in range(48)} for turn in range(4)]
    first, *others = [builder.append(Linear(x, each, 16)) for each in diagonals]
    for other in others:
        first = builder.append(Sub(first, other))
    return _rescaled(builder, first)


def _summed_transforms(builder: Builder, x: int, y: int) -> int:
    """Two values into two results: few diagonals and many, so that some are divided sooner."""
    few, many = ({d: np.roll(C, d) / 64 for d in range(count)} for count in (6, 48))
    first, second = (
        builder.append(Add(*(builder.append(Linear(*each)) for each in terms)))
        for terms in (((x, few, 16), (y, many, 16)), ((x, many, 16), (y, few, 16)))
    )
    return builder.append(Sub(_rescaled(builder, first), _rescaled(builder, second)))


STEPS: dict[str, tuple[int, Step]] = {
    "add": (0, lambda b, x, y: b.append(Add(x, y))),
    "add constant": (0, lambda b, x, _: b.append(Add(x, b.append(Constant(C))))),
    "sub": (0, lambda b, x, y: b.append(Sub(x, y))),
    "sub constant": (0, lambda b, x, _: b.append(Sub(x, b.append(Constant(C))))),
    "constant sub": (0, lambda b, x, _: b.append(Sub(b.append(Constant(C)), x))),
    "neg": (0, lambda b, x, _: b.append(Neg(x))),
    "fill": (0, lambda b, x, _: b.append(Fill(x, b.append(Constant(C))))),
    "product with what is filled": (1, _with_filled),
    "imaginary unit twice": (0, lambda b, x, _: b.append(TimesI(b.append(TimesI(x))))),
    "twice the real part": (0, lambda b, x, _: b.append(TwiceReal(x))),
    "both halves of the slots": (1, _both_halves),
    "rotate": (0, lambda b, x, _: b.append(Rotate(x, 37))),
    "mul": (1, lambda b, x, y: _rescaled(b, b.append(Mul(x, y)))),
    "square": (1, lambda b, x, _: _rescaled(b, b.append(Mul(x, x)))),
    "mul constant": (1, lambda b, x, _: _rescaled(b, b.append(Mul(x, b.append(Constant(C)))))),
    "linear by ones": (1, lambda b, x, _: _rescaled(b, b.append(Linear(x, DIAGONALS, 1)))),
    "linear by fours": (1, lambda b, x, _: _rescaled(b, b.append(Linear(x, DIAGONALS, 4)))),
    "linear by fives": (1, lambda b, x, _: _rescaled(b, b.append(Linear(x, DIAGONALS, 5)))),
    "transforms that share their baby steps": (1, _shared_transforms),
    "transforms that share their giant steps": (1, _summed_transforms),
    "sum of products": (
        1,
        lambda b, x, y: _rescaled(
            b,
            b.append(Add(b.append(Rotate(b.append(Mul(x, y)), 37)), b.append(Mul(x, x)))),
        ),
    ),
    "sum of products with all that a product can meet": (1, _products),
    "one product in two sums": (1, _shared_product),
    "rotations of a sum of products": (1, _rotated_products),
    "rotations together": (
        0,
        lambda b, x, _: b.append(Sub(b.append(Rotate(x, 37)), b.append(Rotate(x, SLOTS - 1)))),
    ),
    "polynomial": (
        2,
        lambda b, x, _: b.append(Polynomial(x, (0.5, -1.0, 0.25, 2.0), "monomial")),
    ),
    "weighted sums": (1, _weighted_sums),
    "chebyshev": (
        3,
        lambda b, x, _: b.append(Polynomial(x, (0.1, 0.5, 0.0, -1.0, 0.0, 0.3), "chebyshev")),
    ),
}


@pytest.mark.parametrize(
    ("name", "start"),
    [(name, start) for name, (depth, _) in STEPS.items() for start in range(depth, LEVELS + 1)],
)
def test_operation_from_level(name: str, start: int) -> None:
    builder = Builder(f"{name} from level {start}", SLOTS)
    inputs = [builder.append(Input(letter, LEVELS)) for letter in "xy"]
    if start < LEVELS:
        inputs = [builder.append(DropLevel(value, start)) for value in inputs]
    made = STEPS[name][1](builder, *inputs)
    # A sum with a dropped input shows that the result stands at its level's own scale.
    level = builder.level(made)
    if level < LEVELS:
        made = builder.append(Add(made, builder.append(DropLevel(0, level))))
    builder.append(Output(made))
    program = builder.finish()

    keys = KEY.scheme.keys_for(KEY.key, required_keys(program))
    encrypted = [KEY.encrypt(vector, bound=1.0, level=LEVELS) for vector in (X, Y)]
    (found,) = run(program, CkksBackend(PARAMETERS, keys), encrypted)
    clear_key = ClearKey()
    clear = [clear_key.encrypt(vector, level=LEVELS) for vector in (X, Y)]
    (expected,) = run(program, ClearBackend(), clear)

    assert found.level == expected.level
    assert found.scale == pytest.approx(PARAMETERS.scale(found.level), rel=1e-9)
    error = np.abs(KEY.decrypt(found) - expected.slots).max()
    assert error < 1e-5
    assert error < 2**-found.precision


def test_a_key_prints_nothing_of_itself() -> None:
    assert repr(KEY.key) == repr(PARAMETERS).replace("Parameters", "SecretKey")


def test_further_keys_join_those_held() -> None:
    backend = CkksBackend(PARAMETERS, KEY.evaluation_keys(None, {1: 2}))
    backend.extend_keys(KEY.evaluation_keys(None, {5: 1}))
    assert backend.keys.rotations() == {1: 2, 5: 1}
    low = backend.drop_level(KEY.encrypt(X, bound=1.0, level=LEVELS), 1)
    turned = KEY.decrypt(backend.rotate(low, 5))
    assert np.abs(turned - np.roll(X, -5)).max() < 1e-5


def test_products_are_relinearised_where_they_must_be() -> None:
    backend = CkksBackend(PARAMETERS, KEY.evaluation_keys(LEVELS, {1: LEVELS}))
    x = KEY.encrypt(X, bound=1.0, level=LEVELS)
    product = backend.multiply_lazily(x, x)
    assert product.degree == 2
    assert backend.multiply(x, x).degree == 1
    assert backend.add(product, product).degree == 2
    assert backend.add_constant(backend.negate(product), C).degree == 2
    assert [turned.degree for turned in backend.rotate_many(product, [1, 1])] == [1, 1]
    assert backend.rotate(product, 1).degree == 1
    assert backend.rescale(product).degree == 1


def test_a_sum_of_products_is_relinearised_once() -> None:
    class Counting(CkksBackend):
        lazily = 0

        def multiply_lazily(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
            self.lazily += 1
            return super().multiply_lazily(left, right)

        def multiply(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
            raise AssertionError("relinearised")

    builder = Builder("", SLOTS)
    x, y = builder.append(Input("x", LEVELS)), builder.append(Input("y", LEVELS))
    total = builder.append(Mul(x, y))
    for _ in range(5):
        total = builder.append(Add(total, builder.append(Mul(x, x))))
    builder.append(Output(builder.append(Rescale(total))))
    backend = Counting(PARAMETERS, KEY.evaluation_keys(LEVELS, {}))
    inputs = [KEY.encrypt(vector, bound=1.0, level=LEVELS) for vector in (X, Y)]
    (found,) = run(builder.finish(), backend, inputs)
    assert backend.lazily == 6
    assert np.abs(KEY.decrypt(found) - X * (Y + 5 * X)).max() < 1e-5


SMALL = Parameters(levels=2, log_n=8, insecure=True)
SMALL_KEY = CkksSecret(SMALL)


@settings(max_examples=25, deadline=None)
@given(programs(slots=SMALL.slots, level=2))
def test_threads_change_no_bit(program: SlotProgram) -> None:
    backend = CkksBackend(SMALL, SMALL_KEY.evaluation_keys(2, dict.fromkeys(range(1, 4), 2)))
    inputs = [
        SMALL_KEY.encrypt(np.full(SMALL.slots, 0.5), bound=0.5, level=SMALL.levels) for _ in "xy"
    ]
    profile = Profile()
    in_order = run(program, backend, inputs, threads=1, profile=profile)
    at_once = run(program, backend, inputs, threads=8)
    assert [v.to_bytes() for v in at_once] == [v.to_bytes() for v in in_order]
    assert all(value.degree == 1 for value in in_order)
    found = degrees(program)
    for operation in profile.operations:
        state = program.states[operation.number]
        size = SMALL_KEY.scheme.bytes_at(state) * (found[operation.number] + 1) // 2
        assert operation.nbytes == size
