"""Evaluators, compiled programs and sessions that run on a device."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Never

import numpy as np
import pytest

import cloakwork as cw
from cloakwork._native import Ciphertext, DeviceCiphertext
from cloakwork.cluster.evaluator_files import file_name
from cloakwork.errors import (
    DeviceLostError,
    DeviceOperationError,
    DeviceUnavailableError,
    InvalidArgumentError,
    MemoryBudgetError,
    RunCancelledError,
)
from cloakwork.programs.slots import Bootstrap, RotatedProducts, SlotProgram
from cloakwork.runtime.executor import run
from cloakwork.schemes.device.devices import device_name, open_device
from cloakwork.schemes.device.staying import StayingCiphertext, on_host
from tests.devices import needs_software, without_gpu
from tests.families import BITS, CIRCUITS, NETWORKS, TENSORS, Family

RNG = np.random.default_rng(18)


def _small_session(backend: str) -> cw.Session:
    return cw.Session(depth=2, backend=backend, log_n=10, insecure=True)


@without_gpu
def test_a_gpu_that_is_missing_is_named_wherever_it_is_asked_for() -> None:
    missing = "cannot use a GPU|cannot start a GPU"
    with pytest.raises(DeviceUnavailableError, match=missing):
        cw.Session(backend="cuda")
    with pytest.raises(DeviceUnavailableError, match=missing):
        cw.compile(lambda x: x * x, (3,), device="cuda:1")
    _, evaluator = TENSORS.keys()
    with pytest.raises(DeviceUnavailableError, match="run on the CPU"):
        evaluator.device = "cuda"
    assert evaluator.device == "cpu"


@pytest.mark.parametrize("value", ["gpu", "cuda:", "cuda:-1", "CUDA", 0, None])
def test_what_is_not_the_name_of_a_device_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgumentError, match="cuda:1 for the second GPU"):
        device_name(value, "run")


def test_sessions_name_their_backends() -> None:
    with pytest.raises(InvalidArgumentError, match="one of ckks, clear, cuda"):
        cw.Session(backend="gpu")
    with pytest.raises(InvalidArgumentError, match="one of ckks, clear, cuda"):
        cw.Session(backend="cpu")


@needs_software
@pytest.mark.parametrize("family", [TENSORS, NETWORKS], ids=str)
def test_an_evaluator_makes_the_same_bytes_on_a_device(family: Family) -> None:
    client, evaluator = family.program.keygen()
    inputs = client.encrypt(**family.arguments)
    expected, name = evaluator.run(inputs).to_bytes(), file_name(evaluator)
    evaluator.device = "software"
    assert evaluator.device == "software"
    made = evaluator.run(inputs)
    assert made.to_bytes() == expected
    assert family.is_right(client.decrypt(made))
    assert file_name(evaluator) == name
    evaluator.device = "cpu"
    assert evaluator.run(inputs).to_bytes() == expected


@needs_software
def test_functions_compiled_for_a_device_run_there() -> None:
    a, b = RNG.uniform(-1, 1, (4, 4)), RNG.uniform(-1, 1, (4, 4))

    def attention(a: cw.Tensor, b: cw.Tensor) -> cw.Tensor:
        return cw.einsum("ij,jk->ik", a, b) * cw.einsum("ij->i", a)[:, None]

    program = cw.compile(attention, (4, 4), (4, 4), device="software", log_n=11, insecure=True)
    assert program.device == "software"
    assert isinstance(program.body, SlotProgram)
    assert not any(isinstance(each, RotatedProducts) for each in program.body.operations)
    client, evaluator = program.keygen()
    inputs = client.encrypt(a, b)
    made = evaluator.run(inputs)
    evaluator.device = "cpu"
    assert evaluator.run(inputs).to_bytes() == made.to_bytes()
    expected = (a @ b) * a.sum(axis=1)[:, None]
    assert np.abs(client.decrypt(made) - expected).max() < 2**-15
    assert np.abs(program.run_clear(a, b) - expected).max() < 2**-15


@needs_software
def test_a_function_with_bootstraps_runs_on_a_device() -> None:
    def iterated(x: Any) -> Any:
        for _ in range(14):
            x = x * x + 0.2
        return x

    spec = cw.Spec((64,), bound=0.5)
    program = cw.compile(
        iterated, spec, precision=14, bootstrap=True, device="software", log_n=8, insecure=True
    )
    assert isinstance(program.body, SlotProgram)
    assert any(isinstance(each, Bootstrap) for each in program.body.operations)
    client, evaluator = program.keygen()
    x = np.linspace(-0.5, 0.5, 64)
    inputs = client.encrypt(x)
    made = evaluator.run(inputs)
    evaluator.device = "cpu"
    assert evaluator.run(inputs).to_bytes() == made.to_bytes()
    assert np.abs(client.decrypt(made) - iterated(x)).max() < 2.0**-14


@needs_software
def test_a_session_refreshes_tensors_on_a_device() -> None:
    session = cw.Session(
        backend="software", bootstrap=True, depth=2, precision=12, log_n=8, insecure=True
    )
    values = np.linspace(-0.5, 0.5, session.parameters.slots)
    x = session.encrypt(values)
    for _ in range(4):
        x = x * 0.75
        x = x.bootstrap()
    assert np.abs(session.decrypt(x) - values * 0.75**4).max() < 2.0**-10


EINSUMS: dict[str, tuple[tuple[int, ...], ...]] = {
    "ij,jk->ik": ((4, 4), (4, 4)),
    "ij->j": ((4, 8),),
    "ij->ji": ((4, 4),),
    "i,i->": ((8,), (8,)),
    "bij,bjk->bik": ((2, 3, 3), (2, 3, 3)),
}


@needs_software
@pytest.mark.parametrize("expression", EINSUMS)
def test_a_session_computes_einsums_on_a_device(expression: str) -> None:
    arrays = [RNG.uniform(-1, 1, shape) for shape in EINSUMS[expression]]
    session = _small_session("software")
    assert session.device == "software"
    operands = [session.encrypt(array, bound=1.0) for array in arrays]
    result = cw.einsum(expression, *operands)
    assert np.abs(session.decrypt(result) - np.einsum(expression, *arrays)).max() < 2**-12
    # Whoever reads a matrix the other way needs no key.
    assert (session.key_bytes > 0) == (expression != "ij->ji")
    # The very program on the CPU, with the very keys.
    program = result.program
    assert program is not None
    inputs = [value for operand in operands for value in operand.values]
    cpu = session.scheme.backend(session._backend.keys, cache_bytes=0)
    expected = run(program, cpu, list(map(on_host, inputs)))
    without_bounds = map(on_host, session.run(program, inputs))
    assert [each.to_bytes() for each in without_bounds] == [each.to_bytes() for each in expected]


@needs_software
def test_what_a_session_computes_stays_on_the_device(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = RNG.uniform(-1, 1, 8)
    session = _small_session("software")
    tensor = session.encrypt(x, bound=1.0)
    first = tensor + tensor
    (value,) = first.values
    device = session._backend.device
    assert isinstance(value, StayingCiphertext)
    assert value.on(device) is not None
    sent: list[Ciphertext] = []
    backend = session._backend
    send: Callable[[Ciphertext], DeviceCiphertext] = backend.send

    def counted(value: Ciphertext) -> DeviceCiphertext:
        sent.append(value)
        return send(value)

    monkeypatch.setattr(backend, "send", counted)
    second = first + first
    assert not sent, "what is there is not sent again"
    third = tensor + first
    assert not sent, "operands stay, too"
    assert np.abs(session.decrypt(second) - 4 * x).max() < 2**-12
    second.save(tmp_path / "second")
    assert np.abs(session.decrypt(session.load(tmp_path / "second")) - 4 * x).max() < 2**-12
    (there,) = second.values
    there.leave()
    assert there.on(device) is None
    assert np.abs(session.decrypt(second + first) - 6 * x).max() < 2**-12
    assert np.abs(session.decrypt(second + third) - 7 * x).max() < 2**-12
    assert len(sent) == 1


@needs_software
def test_a_session_goes_on_after_its_device_was_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    x = RNG.uniform(-1, 1, 8)
    session = _small_session("software")
    tensor = session.encrypt(x, bound=1.0)
    lost = tensor + tensor
    before = session._backend.device

    def lose(*_: object) -> Never:
        raise DeviceLostError("lost")

    with monkeypatch.context() as patched:
        patched.setattr(StayingCiphertext, "_fetched", lose)
        with pytest.raises(DeviceLostError):
            session.decrypt(lost)
    before.lost.set()
    # What the host has is sent to the device that is opened again; what it has not is gone.
    again = tensor + tensor
    assert session._backend.device is not before
    assert np.abs(session.decrypt(again) - 2 * x).max() < 2**-12
    opened = session._backend.device
    for _ in range(2):
        with pytest.raises(DeviceLostError, match="compute the tensor again"):
            tensor + lost
    assert np.abs(session.decrypt(tensor + again) - 3 * x).max() < 2**-12
    assert session._backend.device is opened


@needs_software
def test_a_session_takes_new_keys_before_its_lost_device_is_there_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    x = RNG.uniform(-1, 1, 8)
    session = _small_session("software")
    tensor = session.encrypt(x, bound=1.0)

    def absent(_: str) -> Never:
        raise DeviceUnavailableError("absent")

    session._backend.device.lost.set()
    with monkeypatch.context() as patched:
        patched.setattr("cloakwork.schemes.device.backend.open_device", absent)
        for _ in range(2):
            with pytest.raises(DeviceUnavailableError):
                tensor + tensor
        with pytest.raises(DeviceUnavailableError):
            tensor * tensor
    assert session.device == "software"
    assert np.abs(session.decrypt(tensor * tensor) - x * x).max() < 2**-12


@needs_software
def test_constants_give_way_where_a_session_lacks_the_memory() -> None:
    session = _small_session("software")
    tensor = session.encrypt(RNG.uniform(-1, 1, 8), bound=1.0)
    weights = np.arange(8.0) / 8
    backend = session._backend
    scaled = tensor * weights
    evaluator = backend._evaluator
    kept = dict(backend._cache._kept)
    assert kept

    class Full:
        """An evaluator whose device is full as long as constants are there."""

        def require(self, nbytes: int) -> None:
            if backend._cache._kept:
                raise MemoryBudgetError("no memory")
            evaluator.require(nbytes)

        def __getattr__(self, name: str) -> Any:
            return getattr(evaluator, name)

    backend._evaluator = Full()
    backend.require(scaled.program, 0)
    assert not backend._cache._kept


@needs_software
def test_what_stays_leaves_where_a_session_lacks_the_memory() -> None:
    session = _small_session("software")
    tensor = session.encrypt(RNG.uniform(-1, 1, 8), bound=1.0)
    first, other = tensor + tensor, tensor - 1
    (value,) = other.values
    backend = session._backend
    assert value.on(backend.device) is not None
    require, refused = backend.require, iter([True, False])

    def lacking(program: SlotProgram, needed: int) -> None:
        if next(refused):
            raise MemoryBudgetError("no memory")
        require(program, needed)

    backend.require = lacking
    second = first + tensor
    assert value.on(backend.device) is None
    backend.require = require
    assert np.abs(session.decrypt(second) - 1.5 * session.decrypt(first)).max() < 2**-12


@needs_software
@pytest.mark.parametrize("family", [CIRCUITS, BITS], ids=str)
def test_programs_over_integers_and_bits_run_on_the_cpu_alone(family: Family) -> None:
    _, evaluator = family.keys()
    with pytest.raises(DeviceOperationError, match="expected a program over reals"):
        evaluator.device = "software"
    assert evaluator.device == "cpu"


@needs_software
def test_runs_by_files_are_on_cpus(tmp_path: Path) -> None:
    client, evaluator = TENSORS.program.keygen()
    evaluator.device = "software"
    with pytest.raises(InvalidArgumentError, match="set the evaluator's device to 'cpu'"):
        evaluator.run(client.encrypt(**TENSORS.arguments), on=cw.cluster.Files(tmp_path))


@needs_software
def test_a_run_on_a_device_can_be_cancelled() -> None:
    client, evaluator = TENSORS.program.keygen()
    evaluator.device = "software"
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(RunCancelledError):
        evaluator.run(client.encrypt(**TENSORS.arguments), cancel=cancel)


@needs_software
def test_the_environment_says_how_much_of_a_device_may_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cloakwork.schemes.device.devices._opened", {})
    monkeypatch.setenv("CLOAKWORK_DEVICE_BYTES", "1000000")
    assert open_device("software").native.budget == 1_000_000
    assert open_device("software") is open_device("software")
    client, evaluator = TENSORS.program.keygen()
    evaluator.device = "software"
    profile = cw.Profile()
    with pytest.raises(MemoryBudgetError, match="of device memory"):
        evaluator.run(client.encrypt(**TENSORS.arguments), profile=profile)
    assert not profile.operations
    monkeypatch.setattr("cloakwork.schemes.device.devices._opened", {})
    monkeypatch.setenv("CLOAKWORK_DEVICE_BYTES", "much")
    with pytest.raises(InvalidArgumentError, match="CLOAKWORK_DEVICE_BYTES"):
        open_device("software")
