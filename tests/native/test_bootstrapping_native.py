"""Bootstrapping through the bindings: it refreshes, and refuses by name what it cannot."""

import math
from dataclasses import asdict
from typing import Literal

import numpy as np
import pytest

from cloakwork import _native
from cloakwork._native import Bootstrapping, BootstrappingParameters, Evaluator, SecretKey
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    LevelExhaustedError,
    MalformedBytesError,
    MissingKeyError,
    ValueOutOfRangeError,
)
from cloakwork.plan.parameters.bootstrapping import ThinLevels, thin_levels

PARAMETERS = BootstrappingParameters(8, levels=2, insecure=True)
SLOTS = 32


@pytest.fixture(scope="module")
def secret() -> SecretKey:
    return SecretKey.generate(PARAMETERS.parameters)


@pytest.mark.parametrize("packing", ["complex", "real"])
def test_a_spent_ciphertext_is_refreshed(
    secret: SecretKey, packing: Literal["complex", "real"]
) -> None:
    bootstrapping = Bootstrapping(PARAMETERS, slots=SLOTS, packing=packing)
    evaluator = Evaluator(secret.bootstrapping_keys(bootstrapping))
    values = np.linspace(-1, 1, SLOTS).astype(np.complex128)
    if packing == "complex":
        values *= 1j
    level = bootstrapping.input_level
    spent = secret.encrypt(PARAMETERS.parameters.encode(values, level=level, bound=1.0))
    fresh = evaluator.bootstrap(spent, bootstrapping)
    assert fresh.level == PARAMETERS.output_level
    streamed = Bootstrapping.streamed(PARAMETERS, slots=SLOTS, packing=packing)
    estimate = spent.estimate.bootstrap(streamed)
    assert fresh.estimate == estimate
    decrypted = secret.decrypt(fresh, estimate).decode()
    assert np.abs(decrypted - values).max() < 2.0**-fresh.precision
    assert fresh.precision > 20


@pytest.mark.parametrize("thin", thin_levels(16))
def test_thin_levels_are_as_precise_as_estimated(thin: ThinLevels) -> None:
    # The ring is smaller than that of the set; errors of the sine and of thin scales are the same.
    parameters = BootstrappingParameters(10, insecure=True, **asdict(thin))
    secret = SecretKey.generate(parameters.parameters)
    bootstrapping = Bootstrapping(parameters, slots=512, packing="real")
    evaluator = Evaluator(secret.bootstrapping_keys(bootstrapping))
    values = np.linspace(-1, 1, 512)
    encoded = parameters.parameters.encode(values, level=bootstrapping.input_level, bound=1.0)
    fresh = evaluator.bootstrap(secret.encrypt(encoded), bootstrapping)
    assert fresh.level - bootstrapping.input_level == thin.levels
    errors = secret.decrypt(fresh, fresh.estimate).decode() - values
    assert errors.std() < fresh.estimate.deviation
    assert np.abs(errors).max() < 2.0**-fresh.precision


def test_two_real_vectors_are_refreshed_at_once(secret: SecretKey) -> None:
    bootstrapping = Bootstrapping(PARAMETERS, slots=SLOTS, packing="real")
    evaluator = Evaluator(secret.bootstrapping_keys(bootstrapping))
    vectors = np.linspace(-1, 1, SLOTS), np.ones(SLOTS)
    level = bootstrapping.input_level
    a, b = (
        secret.encrypt(PARAMETERS.parameters.encode(values, level=each, bound=1.0))
        for values, each in zip(vectors, (level, level + 1), strict=True)
    )
    fresh = evaluator.bootstrap_pair(a, b, bootstrapping)
    estimates = a.estimate.bootstrap_pair(b.estimate, bootstrapping)
    for value, estimate, values in zip(fresh, estimates, vectors, strict=True):
        assert (value.level, value.estimate) == (PARAMETERS.output_level, estimate)
        errors = np.abs(secret.decrypt(value, estimate).decode() - values)
        assert errors.max() < 2.0**-value.precision
    beyond = secret.encrypt(PARAMETERS.parameters.encode(vectors[1], level=level, bound=1.5))
    with pytest.raises(ValueOutOfRangeError):
        evaluator.bootstrap_pair(a, beyond, bootstrapping)


def test_parameters_return_from_bytes_and_bytes_do_not_decide_on_security() -> None:
    data = PARAMETERS.to_bytes()
    read = BootstrappingParameters.from_bytes(data, insecure=True)
    assert read.to_bytes() == data
    assert read.parameters.fingerprint == PARAMETERS.parameters.fingerprint
    assert (read.input_level, read.output_level, read.bound) == (3, 5, 1.0)
    with pytest.raises(InsecureParametersError):
        BootstrappingParameters.from_bytes(data)
    for length in range(0, len(data), 7):
        with pytest.raises(MalformedBytesError):
            BootstrappingParameters.from_bytes(data[:length], insecure=True)


def test_damaged_parameters_are_refused_or_other_parameters() -> None:
    data = bytearray(PARAMETERS.to_bytes())
    for place in range(len(data)):
        damaged = bytes([*data[:place], data[place] ^ 0x55, *data[place + 1 :]])
        with pytest.raises((MalformedBytesError, InvalidParametersError)):
            BootstrappingParameters.from_bytes(damaged, insecure=True)


def test_secure_sets_exist_for_three_rings() -> None:
    for log_n, least, weight, failure_bits in (
        (15, 89, 40, 178),
        (16, 380, 32, 128),
        (17, 1590, 32, math.inf),
    ):
        parameters = BootstrappingParameters(log_n)
        assert not parameters.parameters.insecure
        assert parameters.bits_left >= least
        assert parameters.sparse_weight == weight
        assert parameters.failure_bits >= failure_bits
    with pytest.raises(InvalidParametersError):
        BootstrappingParameters(14)
    with pytest.raises(InsecureParametersError):
        BootstrappingParameters(16, sparse_weight=16)
    with pytest.raises(InsecureParametersError, match="use a weight of 40"):
        BootstrappingParameters(15, sparse_weight=32)


def test_wrong_use_is_refused_by_name(secret: SecretKey) -> None:
    bootstrapping = Bootstrapping(PARAMETERS, slots=SLOTS, packing="real")
    evaluator = Evaluator(secret.bootstrapping_keys(bootstrapping))
    encode = PARAMETERS.parameters.encode
    ones = np.ones(SLOTS)
    spent = secret.encrypt(encode(ones, level=3, bound=1.0))
    with pytest.raises(ValueOutOfRangeError):
        evaluator.bootstrap(secret.encrypt(encode(ones, level=3, bound=2.0)), bootstrapping)
    with pytest.raises(LevelExhaustedError):
        evaluator.bootstrap(secret.encrypt(encode(ones, level=1, bound=1.0)), bootstrapping)
    bare = Evaluator(
        secret.evaluation_keys(relinearisation_level=None, rotations={}, conjugation_level=None)
    )
    with pytest.raises(MissingKeyError):
        bare.bootstrap(spent, bootstrapping)
    with pytest.raises(InvalidArgumentError, match="'real' or 'coefficients'"):
        Bootstrapping(PARAMETERS, slots=SLOTS, packing="imaginary")  # type: ignore[arg-type]


def test_keys_are_those_that_are_used(secret: SecretKey) -> None:
    bootstrapping = Bootstrapping.streamed(PARAMETERS, slots=SLOTS, packing="real")
    keys = secret.bootstrapping_keys(bootstrapping)
    assert keys.rotations() == {k % 128: level for k, level in bootstrapping.rotations().items()}
    assert keys.relinearisation_level == keys.conjugation_level == bootstrapping.reduction_level
    assert keys.encapsulation_weight == 32
    read = _native.EvaluationKeys.from_bytes(PARAMETERS.parameters, keys.to_bytes())
    assert read.encapsulation_weight == 32
