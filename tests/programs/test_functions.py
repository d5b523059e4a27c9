import numpy as np
import pytest

from cloakwork.programs.functions import FUNCTIONS


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_function_is_steeper_than_is_said(name: str) -> None:
    function = FUNCTIONS[name]
    parameters = (0.2,) * function.parameters
    for ends in ((0.3, 0.9), (1.0, 5.0), (-4.0, 2.0)):
        if function.jumps or not function.has(*ends):
            continue
        if name == "bit_of_phase":
            # Between half turns it is steep, and errors from them count by their squares.
            assert function.moved_by(*ends, 1e-5) <= 1e-5 * function.slope(*ends)
            continue
        numbers = np.linspace(*ends, 20_001)
        slopes = np.diff(function.value(numbers, *parameters)) / np.diff(numbers)
        assert np.abs(slopes).max() <= function.slope(*ends, *parameters) * (1 + 1e-4)
