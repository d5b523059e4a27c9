"""Programs on a device: byte for byte what the engine of the CPU makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Never

import numpy as np
import pytest
from hypothesis import given, settings

from cloakwork._native import (
    WORD_BYTES,
    BootstrappingParameters,
    Ciphertext,
    EvaluationKeys,
    Parameters,
)
from cloakwork.errors import (
    DeviceLostError,
    DeviceOperationError,
    InvalidProgramError,
    KeyMismatchError,
    MemoryBudgetError,
)
from cloakwork.programs.keys import required_keys
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Add,
    AddProducts,
    Bootstrap,
    Builder,
    DiagonalProducts,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Output,
    PairedBootstrap,
    Polynomial,
    Rescale,
    Rotate,
    RotatedProducts,
    SlotProgram,
    SwitchProduct,
)
from cloakwork.runtime.executor import run
from cloakwork.runtime.on_device import run_on_device
from cloakwork.runtime.profile import Profile
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.device.backend import CkksDeviceBackend, require_device_operations
from cloakwork.schemes.device.devices import OpenDevice
from cloakwork.schemes.device.staying import on_host
from tests.devices import needs_software, software
from tests.runtime.slot_programs import programs
from tests.schemes.ckks_secret import CkksSecret
from tests.schemes.test_ckks import KEY, LEVELS, PARAMETERS, SLOTS, SMALL, SMALL_KEY, STEPS, X, Y

pytestmark = needs_software

DEVICE = software()
INPUTS = [KEY.encrypt(vector, bound=1.0, level=LEVELS) for vector in (X, Y)]
SMALL_INPUTS = [
    SMALL_KEY.encrypt(np.linspace(-0.5, 0.5, SMALL.slots), bound=0.5, level=2) for _ in "xy"
]
RNG = np.random.default_rng(18)
BOOTSTRAPPED = Refreshing(BootstrappingParameters(8, levels=2, insecure=True))


def _backend(
    secret: CkksSecret, program: SlotProgram, device: OpenDevice, cache_bytes: int = 0
) -> CkksDeviceBackend:
    keys = secret.scheme.keys_for(secret.key, required_keys(program))
    return secret.scheme.device_backend(keys, device, cache_bytes=cache_bytes)


def _bytes(values: Sequence[Any]) -> list[bytes]:
    return [on_host(value).to_bytes() for value in values]


def _is_same(
    secret: CkksSecret, program: SlotProgram, inputs: Sequence[Ciphertext], device: OpenDevice
) -> bool:
    """Whether a program makes the same on the CPU and on a device, with the same keys."""
    backend = _backend(secret, program, device)
    expected = run(program, secret.scheme.backend(backend.keys, cache_bytes=0), inputs)
    return _bytes(run_on_device(program, backend, inputs)) == _bytes(expected)


def _lacks(program: SlotProgram) -> bool:
    return any(isinstance(each, RotatedProducts | SwitchProduct) for each in program.operations)


@pytest.mark.parametrize("name", STEPS)
def test_every_operation_at_every_level_has_the_bytes_of_the_cpu(name: str) -> None:
    depth, step = STEPS[name]
    builder = Builder(name, SLOTS)
    inputs = [builder.append(Input(letter, LEVELS)) for letter in "xy"]
    for level in range(depth, LEVELS + 1):
        lowered = inputs
        if level < LEVELS:
            lowered = [builder.append(DropLevel(value, level)) for value in inputs]
        builder.append(Output(step(builder, *lowered)))
    program = builder.finish()
    if _lacks(program):
        with pytest.raises(DeviceOperationError, match="devices have no"):
            require_device_operations(program)
    else:
        assert _is_same(KEY, program, INPUTS, DEVICE)


@settings(max_examples=25, deadline=None)
@given(programs(slots=SMALL.slots, level=2))
def test_any_program_has_the_bytes_of_the_cpu(program: SlotProgram) -> None:
    assert _is_same(SMALL_KEY, program, SMALL_INPUTS, DEVICE)


def _program(slots: int, level: int) -> SlotProgram:
    """Rotations, a transform, a polynomial and a product: the operations that take most memory."""
    builder = Builder("all of it", slots)
    x, y = (builder.append(Input(letter, level)) for letter in "xy")
    turned = [builder.append(Rotate(x, steps)) for steps in (1, 2, 5)]
    total = builder.append(Add(turned[0], builder.append(Add(*turned[1:]))))
    diagonals = {d: RNG.uniform(-0.1, 0.1, slots) for d in (0, 1, 2, 3, 4, 6)}
    total = builder.append(Rescale(builder.append(Linear(total, diagonals, 2))))
    total = builder.append(Polynomial(total, (0.1, 0.5, 0.0, 0.25), "monomial"))
    low = builder.append(DropLevel(y, builder.level(total)))
    total = builder.append(Rescale(builder.append(Mul(total, low))))
    builder.append(Output(total))
    builder.append(Output(builder.append(Neg(total))))
    return builder.finish()


def test_what_does_not_fit_is_refused_before_anything_runs() -> None:
    """At every budget a program is refused whole or runs whole, and not every large one refuses."""
    parameters = Parameters(levels=LEVELS, log_n=10, insecure=True)
    secret = CkksSecret(parameters)
    program = _program(parameters.slots, LEVELS)
    inputs = [secret.encrypt(np.full(parameters.slots, 0.5), bound=0.5, level=LEVELS) for _ in "xy"]
    expected: list[bytes] | None = None
    refused = 0
    key = parameters.evaluation_key_bytes(LEVELS)
    for budget in range(key, 40 * key, key):
        device, profile = software(budget), Profile()
        try:
            backend = _backend(secret, program, device, cache_bytes=1 << 40)
            found = _bytes(run_on_device(program, backend, inputs, profile=profile))
        except MemoryBudgetError:
            assert not profile.operations
            assert expected is None
            refused += 1
            continue
        assert device.native.used <= budget
        cpu = secret.scheme.backend(backend.keys, cache_bytes=0)
        expected = _bytes(run(program, cpu, inputs))
        assert found == expected
    assert refused > 0
    assert expected is not None


def test_transforms_stay_on_the_device_where_they_may() -> None:
    program = _program(SLOTS, LEVELS)
    used = []
    for cache_bytes in (0, 1 << 40):
        device = software()
        backend = _backend(KEY, program, device, cache_bytes)
        runs = [_bytes(run_on_device(program, backend, INPUTS)) for _ in range(2)]
        assert runs[0] == runs[1]
        used.append(device.native.used)
    assert used[1] - used[0] >= 6 * PARAMETERS.n * PARAMETERS.prime_count(LEVELS) * WORD_BYTES


def test_keys_that_are_on_the_device_stay_there_when_others_join() -> None:
    device = software()
    builder = Builder("rotated", SLOTS)
    builder.append(Output(builder.append(Rotate(builder.append(Input("x", 2)), 1))))
    program = builder.finish()
    x = [KEY.encrypt(X, bound=1.0, level=2)]
    backend = CkksDeviceBackend(PARAMETERS, KEY.evaluation_keys(None, {1: 2}), device)
    before = _bytes(run_on_device(program, backend, x))
    used = device.native.used
    backend.extend_keys(KEY.evaluation_keys(None, {5: 1}))
    assert device.native.used == used
    assert _bytes(run_on_device(program, backend, x)) == before
    # A key of a higher level takes the place of the one before, as it does on the CPU.
    backend.extend_keys(KEY.evaluation_keys(None, {1: LEVELS}))
    cpu = KEY.scheme.backend(backend.keys, cache_bytes=0)
    assert _bytes(run_on_device(program, backend, x)) == _bytes(run(program, cpu, x))
    with pytest.raises(KeyMismatchError):
        backend.extend_keys(CkksSecret(PARAMETERS).evaluation_keys(None, {1: 2}))


def test_a_device_that_was_lost_is_opened_again(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = Builder("negated", SLOTS)
    builder.append(Output(builder.append(Neg(builder.append(Input("x", LEVELS))))))
    program = builder.finish()
    backend = _backend(KEY, program, software())
    before = backend.device

    def lose(*_: object) -> Never:
        raise DeviceLostError("lost")

    with monkeypatch.context() as patched:
        patched.setattr(CkksDeviceBackend, "negate", lose)
        with pytest.raises(DeviceLostError):
            run_on_device(program, backend, INPUTS[:1])
    expected = run(program, KEY.scheme.backend(backend.keys, cache_bytes=0), INPUTS[:1])
    assert _bytes(run_on_device(program, backend, INPUTS[:1])) == _bytes(expected)
    assert backend.device is not before
    assert before.lost.is_set()
    assert not backend.device.lost.is_set()


def test_a_product_less_a_lower_degree_is_the_same_either_way() -> None:
    backend = CkksDeviceBackend(PARAMETERS, KEY.evaluation_keys(LEVELS, {}), DEVICE)
    cpu = KEY.scheme.backend(backend.keys, cache_bytes=0)
    product = cpu.multiply_lazily(*INPUTS)
    line = cpu.multiply_constant(INPUTS[0], Y)
    for left, right in ((product, line), (line, product)):
        found = backend.fetch(backend.subtract(backend.send(left), backend.send(right)))
        assert found.to_bytes() == cpu.subtract(left, right).to_bytes()


LACKING = {
    "rotated_products": lambda b: b.append(RotatedProducts((0,), (1,), SLOTS)),
    "diagonal_products": lambda b: b.append(DiagonalProducts((0,), (1,), SLOTS)),
}


def _refreshed() -> tuple[Ckks, SlotProgram, EvaluationKeys, list[Ciphertext]]:
    """A program that refreshes one value alone and two at once, its keys and inputs."""
    scheme = Ckks(BOOTSTRAPPED.chain, BOOTSTRAPPED)
    slots, low, high = scheme.parameters.slots, BOOTSTRAPPED.input_level, BOOTSTRAPPED.output_level
    builder = Builder("refreshed", slots)
    x, y = (builder.append(Input(letter, low)) for letter in "xy")
    alone = builder.append(Bootstrap(x, low, high))
    builder.append(Output(builder.append(Rescale(builder.append(Mul(alone, alone))))))
    for pair in ((x, y), (y, x)):
        refreshed = builder.append(PairedBootstrap(pair[0], low, high, pair[1]))
        builder.append(Output(refreshed))
    program, secret = builder.finish(), scheme.secret_key()
    vectors = (np.linspace(-0.5, 0.5, slots), np.linspace(0.5, -0.25, slots))
    inputs = [scheme.encrypt_vector(secret, each, bound=0.5, level=low) for each in vectors]
    return scheme, program, scheme.evaluation_keys(secret, program), inputs


@pytest.mark.parametrize("cache_bytes", [0, 1 << 40])
def test_bootstraps_have_the_bytes_of_the_cpu(cache_bytes: int) -> None:
    scheme, program, keys, inputs = _refreshed()
    backend = scheme.device_backend(keys, DEVICE, cache_bytes=cache_bytes)
    expected = _bytes(run(program, scheme.backend(keys, cache_bytes=0), inputs))
    for _ in range(2):
        assert _bytes(run_on_device(program, backend, inputs)) == expected


def test_bootstraps_that_do_not_fit_are_refused_before_anything_runs() -> None:
    scheme, program, keys, inputs = _refreshed()
    expected = _bytes(run(program, scheme.backend(keys, cache_bytes=0), inputs))
    key = scheme.parameters.evaluation_key_bytes(scheme.parameters.levels)
    ran: list[bool] = []
    for budget in range(key, 40 * key, 4 * key):
        device, profile = software(budget), Profile()
        try:
            backend = scheme.device_backend(keys, device, cache_bytes=1 << 40)
            found = _bytes(run_on_device(program, backend, inputs, profile=profile))
        except MemoryBudgetError:
            assert not profile.operations
            assert not any(ran)
            ran.append(False)
            continue
        assert found == expected
        ran.append(True)
    assert ran[0] is False
    assert ran[-1] is True


def test_a_bootstrap_without_levels_for_it_is_refused_by_name() -> None:
    backend = CkksDeviceBackend(PARAMETERS, KEY.evaluation_keys(LEVELS, {}), DEVICE)
    with pytest.raises(InvalidProgramError, match="have no levels for it"):
        backend.bootstrap(backend.send(INPUTS[0]), LEVELS)


@pytest.mark.parametrize("kind", LACKING)
def test_what_devices_lack_is_refused_by_name(kind: str) -> None:
    builder = Builder("lacking", SLOTS)
    for letter in "xy":
        builder.append(Input(letter, LEVELS))
    LACKING[kind](builder)
    with pytest.raises(DeviceOperationError, match=f"lacking on a device: devices have no {kind}"):
        require_device_operations(builder.finish())


def test_sums_of_products_are_refused_by_name() -> None:
    builder = Builder("lacking", SLOTS)
    for letter in "xy":
        builder.append(Input(letter, LEVELS))
    products = builder.append(RotatedProducts((0,), (1,), SLOTS))
    builder.append(AddProducts(products, products))
    with pytest.raises(DeviceOperationError, match="run it on the CPU"):
        require_device_operations(builder.finish())
