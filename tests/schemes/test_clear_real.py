"""The clear backend's own facts; its operations are tested where programs run."""

import numpy as np
import pytest

from cloakwork._native import Parameters
from cloakwork.base.record import Fields, Record
from cloakwork.errors import MalformedBytesError
from cloakwork.programs.diagonals import SparseDiagonals
from cloakwork.schemes.ckks_noise import NoiseModel
from cloakwork.schemes.clear_real import ClearBackend, ClearKey, ClearReal, ClearVector

SCHEME = ClearReal(Parameters(levels=2, log_n=5, insecure=True))
CHANCE = np.random.default_rng(5)
SLOTS = 16
SPARSE = SparseDiagonals(
    SLOTS, CHANCE.integers(0, SLOTS, 60), CHANCE.integers(0, SLOTS, 60), CHANCE.normal(size=60)
)
REAL = CHANCE.normal(size=SLOTS)


def test_a_key_that_hides_nothing() -> None:
    vector = np.arange(4.0)
    value = ClearKey().encrypt(vector, level=2)
    vector[0] = 9
    assert (value.level, value.slots.tolist()) == (2, [0, 1, 2, 3])
    found = SCHEME.decrypt(SCHEME.secret_key(), [value], None)
    assert found.vectors[0].tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("diagonals", [SPARSE, dict(SPARSE)], ids=["sparse", "dense"])
@pytest.mark.parametrize("slots", [REAL, REAL + 1j * REAL[::-1]], ids=["real", "complex"])
@pytest.mark.parametrize("baby_steps", [1, 4])
@pytest.mark.parametrize("noise", [None, NoiseModel(2 * SLOTS, (2.0**60,) * 3)])
def test_transforms_are_those_of_the_matrix(
    diagonals: SparseDiagonals, slots: np.ndarray, baby_steps: int, noise: NoiseModel | None
) -> None:
    expected = sum(diagonal * np.roll(slots, -d) for d, diagonal in SPARSE.items())
    made = ClearBackend(noise).linear(ClearVector(slots, level=2), diagonals, baby_steps)
    np.testing.assert_allclose(made.slots, expected, atol=1e-12)
    assert (made.level, made.waiting) == (2, True)


def test_size_and_precision() -> None:
    value = ClearVector(np.zeros(4), 1)
    assert (value.nbytes, value.precision) == (32, 52.0)


def test_vectors_come_back_from_records() -> None:
    value = ClearVector(np.arange(16.0), 1)
    again = SCHEME.read_ciphertext(Fields(SCHEME.dump(value), "the record"))
    assert (again.level, again.slots.tolist()) == (1, value.slots.tolist())


@pytest.mark.parametrize(
    "changed",
    [
        {"level": 3},
        {"level": -1},
        {"level": True},
        {"slots": np.zeros(15)},
        {"slots": np.zeros((4, 4))},
        {"slots": np.zeros(16, dtype=np.int64)},
        {"slots": [0.0] * 16},
    ],
    ids=str,
)
def test_hostile_records_are_refused(changed: Record) -> None:
    record = {"slots": np.zeros(16), "level": 1, **changed}
    with pytest.raises(MalformedBytesError, match="cannot read the record"):
        SCHEME.read_ciphertext(Fields(record, "the record"))
