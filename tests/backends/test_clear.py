"""The clear backend's own facts; its operations are tested where programs run."""

import numpy as np

from cloakwork.backends.clear import ClearKey, ClearVector


def test_a_key_that_hides_nothing() -> None:
    vector = np.arange(4.0)
    value = ClearKey().encrypt(vector, bound=4.0, level=2)
    vector[0] = 9
    assert value.level == 2
    assert ClearKey().decrypt(value, flooding=None).tolist() == [0, 1, 2, 3]


def test_size_and_precision() -> None:
    value = ClearVector(np.zeros(4), 1)
    assert (value.nbytes, value.precision) == (32, 52.0)
