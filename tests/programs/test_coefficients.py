"""Coefficients of polynomials: what slots they make is what the engine decodes."""

import numpy as np
import pytest
from numpy.typing import NDArray

from cloakwork._native import Bootstrapping, BootstrappingParameters, Evaluator, SecretKey
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.coefficients import coefficients_of_slots, slots_of_coefficients
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import Bootstrap, Input, Output, SlotProgram
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.clear_real import ClearBackend, ClearVector

PARAMETERS = BootstrappingParameters(8, levels=2, insecure=True)
SLOTS = 128


def numbers(seed: int) -> NDArray[np.complex128]:
    rng = np.random.default_rng(seed)
    parts = rng.uniform(-1, 1, (2, SLOTS))
    return np.asarray(parts[0] + 1j * parts[1])


@pytest.mark.parametrize("size", [1, 2, 8, 256])
def test_slots_are_the_values_of_a_polynomial(size: int) -> None:
    rng = np.random.default_rng(size)
    parts = rng.normal(size=(2, size))
    given = parts[0] + 1j * parts[1]
    bits = size.bit_length() - 1
    places = [int(f"{k:0{bits}b}"[::-1], 2) if bits else 0 for k in range(size)]
    coefficients = np.concatenate([given.real[places], given.imag[places]])
    root = np.exp(2j * np.pi / (4 * size))
    at = [root ** pow(5, j, 4 * size) for j in range(size)]
    expected = [np.polynomial.polynomial.polyval(x, coefficients) for x in at]
    made = slots_of_coefficients(given)
    np.testing.assert_allclose(made, expected, atol=1e-9)
    np.testing.assert_allclose(coefficients_of_slots(made), given, atol=1e-12)


def test_the_engine_takes_coefficients_to_slots() -> None:
    given = numbers(0)
    secret = SecretKey.generate(PARAMETERS.parameters)
    circuit = Bootstrapping(PARAMETERS, slots=SLOTS, packing="coefficients")
    evaluator = Evaluator(secret.bootstrapping_keys(circuit))
    slots = slots_of_coefficients(given)
    encoded = PARAMETERS.parameters.encode(slots, level=1, bound=float(2 * SLOTS))
    spent = secret.encrypt(encoded).with_bound(16.0)
    fresh = evaluator.bootstrap(spent, circuit)
    assert (circuit.input_level, fresh.level) == (0, 5)
    found = secret.decrypt(fresh, fresh.estimate).decode()
    assert np.abs(found - given).max() < 2.0**-fresh.precision < 1e-4
    clear = ClearBackend().bootstrap_of_coefficients(ClearVector(slots, 0), 5)
    np.testing.assert_allclose(clear.slots, given, atol=1e-12)


def test_parameters_refresh_slots_or_coefficients() -> None:
    refreshing = Refreshing(PARAMETERS, "coefficients")
    operations = (Input("x", 3), Bootstrap(0, 0, 5), Output(1))
    program = SlotProgram("slots", SLOTS, operations, (None,) * 3)
    scheme = Ckks(refreshing.chain, refreshing)
    with pytest.raises(InvalidProgramError, match="it has bootstrap, and its parameters"):
        scheme.require_fitting(program)
    assert refreshing.operation(0).kind == "bootstrap_of_coefficients"
    operations = (Input("x", 3), refreshing.operation(0), Output(1))
    scheme.require_fitting(SlotProgram("coefficients", SLOTS, operations, (None,) * 3))
