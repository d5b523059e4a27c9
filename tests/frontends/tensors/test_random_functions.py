"""Random functions that drop values and repeat expressions equal numpy within the stated error."""

from __future__ import annotations

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import CloakworkError, PlanMismatchError, ValueOutOfRangeError
from tests.frontends.tensors.random_functions import random_function
from tests.thoroughness import ALL

# In `make test` a hundredth of them.
SEEDS = range(3000 if ALL else 30)
GROUP = 10
# Those that no parameters have the depth for are refused.
LEAST_COMPARED = 0.4


def differences(seed: int) -> list[str] | None:
    """Where a compiled function is off by more than it states; None where it is refused."""
    source, function = random_function(seed)
    try:
        program = cw.compile(function, (4,), precision=8, log_n=10, insecure=True, bootstrap=False)
    except PlanMismatchError as mismatch:
        return [f"{source}\n{mismatch}"]
    except CloakworkError:
        return None
    random, found = np.random.default_rng(seed), []
    for x in (*random.uniform(-1, 1, (3, 4)), random.choice([-1.0, 1.0], 4)):
        try:
            made = program.run_clear(x)
        except ValueOutOfRangeError:
            # Compared numbers are too close to one another.
            continue
        off = float(np.abs(made - function(x)).max())
        if off > (program.error or 2.0**-8):
            found.append(f"{source}\nx = {x.tolist()}: off by {off}, stated {program.error}")
    return found


@pytest.mark.random
@pytest.mark.parametrize("first", SEEDS[::GROUP])
def test_random_functions_equal_numpy(first: int) -> None:
    found = [differences(seed) for seed in range(first, first + GROUP)]

    assert not [each for one in found if one for each in one]
    assert sum(one is not None for one in found) >= LEAST_COMPARED * GROUP
