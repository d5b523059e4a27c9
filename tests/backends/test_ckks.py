"""Every operation on ciphertexts against the clear backend, from every level it can start at."""

from collections.abc import Callable

import numpy as np
import pytest

from cloakwork._native import Parameters, SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey
from cloakwork.backends.clear import ClearBackend, ClearKey
from cloakwork.plan.keys import demand_of
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    Polynomial,
    Rescale,
    Rotate,
    Sub,
)
from cloakwork.runtime.executor import run

LEVELS = 4
PARAMETERS = Parameters(levels=LEVELS, scale_bits=42, log_n=11, insecure=True)
SECRET = SecretKey.generate(PARAMETERS)
KEY = CkksKey(PARAMETERS, SECRET)
SLOTS = PARAMETERS.slots
RNG = np.random.default_rng(8)
X, Y, C = (RNG.uniform(-1, 1, SLOTS) for _ in range(3))
DIAGONALS = {d: RNG.uniform(-1, 1, SLOTS) for d in (0, 1, 5, 30, SLOTS - 2)}

Step = Callable[[Builder, int, int], int]


def _rescaled(builder: Builder, product: int) -> int:
    return builder.append(Rescale(product))


STEPS: dict[str, tuple[int, Step]] = {
    "add": (0, lambda b, x, y: b.append(Add(x, y))),
    "add constant": (0, lambda b, x, _: b.append(Add(x, b.append(Constant(C))))),
    "sub": (0, lambda b, x, y: b.append(Sub(x, y))),
    "sub constant": (0, lambda b, x, _: b.append(Sub(x, b.append(Constant(C))))),
    "constant sub": (0, lambda b, x, _: b.append(Sub(b.append(Constant(C)), x))),
    "neg": (0, lambda b, x, _: b.append(Neg(x))),
    "rotate": (0, lambda b, x, _: b.append(Rotate(x, 37))),
    "mul": (1, lambda b, x, y: _rescaled(b, b.append(Mul(x, y)))),
    "square": (1, lambda b, x, _: _rescaled(b, b.append(Mul(x, x)))),
    "mul constant": (1, lambda b, x, _: _rescaled(b, b.append(Mul(x, b.append(Constant(C)))))),
    "linear by ones": (1, lambda b, x, _: _rescaled(b, b.append(Linear(x, DIAGONALS, 1)))),
    "linear by fours": (1, lambda b, x, _: _rescaled(b, b.append(Linear(x, DIAGONALS, 4)))),
    "linear by fives": (1, lambda b, x, _: _rescaled(b, b.append(Linear(x, DIAGONALS, 5)))),
    "sum of products": (
        1,
        lambda b, x, y: _rescaled(
            b,
            b.append(Add(b.append(Rotate(b.append(Mul(x, y)), 37)), b.append(Mul(x, x)))),
        ),
    ),
    "polynomial": (
        2,
        lambda b, x, _: b.append(Polynomial(x, (0.5, -1.0, 0.25, 2.0), "monomial")),
    ),
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

    demand = demand_of(program)
    keys = KEY.evaluation_keys(demand.relinearisation_level, demand.rotations)
    encrypted = [KEY.encrypt(vector, bound=1.0) for vector in (X, Y)]
    (found,) = run(program, CkksBackend(PARAMETERS, keys), encrypted)
    clear_key = ClearKey(LEVELS)
    clear = [clear_key.encrypt(vector, bound=1.0) for vector in (X, Y)]
    (expected,) = run(program, ClearBackend(), clear)

    assert found.level == expected.level
    assert found.scale == pytest.approx(PARAMETERS.scale(found.level), rel=1e-9)
    assert np.abs(KEY.decrypt(found, flood_bits=None) - expected.slots).max() < 1e-5


def test_a_key_prints_nothing_of_itself() -> None:
    assert repr(KEY) == "CkksKey(hidden)"


def test_further_keys_join_those_held() -> None:
    backend = CkksBackend(PARAMETERS, KEY.evaluation_keys(None, {1: 2}))
    backend.extend_keys(KEY.evaluation_keys(None, {5: 1}))
    assert backend.keys.rotations() == {1: 2, 5: 1}
    low = backend.drop_level(KEY.encrypt(X, bound=1.0), 1)
    turned = KEY.decrypt(backend.rotate(low, 5), flood_bits=None)
    assert np.abs(turned - np.roll(X, -5)).max() < 1e-5
