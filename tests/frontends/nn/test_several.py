"""Modules of several inputs and results, compiled and run as torch runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import cloakwork as cw
from cloakwork import errors
from cloakwork.frontends.nn.capture import capture
from cloakwork.programs.ir import layers as g
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.programs.slots import Output, Polynomial, SlotProgram

PRECISION = 10
SMALL: dict[str, Any] = {"precision": PRECISION, "log_n": 9, "insecure": True}

torch.manual_seed(0)
IMAGES, PROFILES = torch.rand(24, 6), 3 * torch.rand(24, 3)


class TwoBranches(nn.Module):
    """An image and a profile, joined by an activation, with results of all kinds of layers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.of_image = nn.Linear(6, 5)
        self.of_profile = nn.Linear(3, 5)
        self.last = nn.Linear(5, 2)

    def forward(self, image: torch.Tensor, profile: torch.Tensor) -> dict[str, torch.Tensor]:
        hidden = nn.functional.silu(self.of_image(image) + self.of_profile(profile))
        return {
            "scores": self.last(hidden),
            "hidden": hidden,
            "gate": image[:, :3] * profile,
        }


class Function(nn.Module):
    """A module of one function."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.forward = function
        self.eval()


class Pair(NamedTuple):
    total: torch.Tensor
    product: torch.Tensor


MODULE = TwoBranches().eval()


@pytest.fixture(scope="module")
def program() -> cw.Program:
    return cw.nn.compile(MODULE, (IMAGES, PROFILES), **SMALL)


def body_of(program: cw.Program) -> SlotProgram:
    assert isinstance(program.body, SlotProgram)
    return program.body


def expected(images: torch.Tensor, profiles: torch.Tensor) -> dict[str, np.ndarray]:
    made = MODULE(images, profiles)
    return {name: part.detach().numpy() for name, part in made.items()}


def test_ports_have_the_names_of_parameters_and_results(program: cw.Program) -> None:
    assert [port.name for port in program.inputs] == ["image", "profile"]
    assert [port.shape for port in program.inputs] == [(6,), (3,)]
    assert [port.name for port in program.outputs] == ["scores", "hidden", "gate"]
    assert [port.shape for port in program.outputs] == [(2,), (5,), (3,)]
    low, high = program.inputs
    assert low.bound == pytest.approx(float(IMAGES.max()), rel=0.3)
    assert high.bound == pytest.approx(float(PROFILES.max()), rel=0.3)


def test_runs_encrypted_as_the_module_does_through_files(
    program: cw.Program, tmp_path: Path
) -> None:
    client, evaluator = program.keygen()
    for holder, name in (program, "program"), (client, "client"), (evaluator, "evaluator"):
        holder.save(tmp_path / name)
    client.encrypt(profile=PROFILES[:3], image=IMAGES[:3]).save(tmp_path / "in")
    server = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
    server.run(cw.load(tmp_path / "in", cw.Encrypted, insecure=True)).save(tmp_path / "out")
    holder = cw.load(tmp_path / "client", cw.Client, insecure=True)
    found = holder.decrypt(cw.load(tmp_path / "out", cw.Encrypted, insecure=True))
    assert list(found) == ["scores", "hidden", "gate"]
    for name, wanted in expected(IMAGES[:3], PROFILES[:3]).items():
        assert np.abs(found[name] - wanted).max() < program.error
    read = cw.load(tmp_path / "program", cw.Program, insecure=True)
    assert read.fingerprint == program.fingerprint
    assert list(read.run_clear(IMAGES[0], PROFILES[0])) == ["scores", "hidden", "gate"]


def test_results_are_as_precise_as_asked_each(program: cw.Program) -> None:
    simulation = program.simulate(IMAGES, PROFILES)
    for name, wanted in expected(IMAGES, PROFILES).items():
        assert np.abs(simulation.outputs[name] - wanted).max() < 2**-PRECISION


def test_runs_a_batch_at_128_bits() -> None:
    made = cw.nn.compile(MODULE, (IMAGES, PROFILES), precision=PRECISION, batch=4)
    assert not made.scheme.insecure
    found = made.run(IMAGES[:4], PROFILES[:4])
    for name, wanted in expected(IMAGES[:4], PROFILES[:4]).items():
        assert np.abs(found[name] - wanted).max() < made.error


@pytest.mark.parametrize(
    "samples",
    [
        {"profile": PROFILES, "image": IMAGES},
        {"profile": PROFILES.tolist(), "image": IMAGES.numpy(), "label": 3},
        [(IMAGES[:10], PROFILES[:10]), {"image": IMAGES[10:], "profile": PROFILES[10:]}],
        [(IMAGES, PROFILES, torch.arange(24))],
        DataLoader(TensorDataset(IMAGES, PROFILES, torch.arange(24)), batch_size=7),
        iter([(IMAGES[:1], PROFILES[:1]), (IMAGES[1:], PROFILES[1:])]),
    ],
)
def test_calibrates_on_tuples_dicts_and_batches(program: cw.Program, samples: Any) -> None:
    sample = {"profile": PROFILES[:2], "image": IMAGES[:2]}
    made = cw.nn.compile(MODULE, sample, samples, **SMALL)
    assert made.fingerprint == program.fingerprint


@pytest.mark.parametrize(
    ("samples", "error", "message"),
    [
        ({"image": IMAGES}, errors.InputNameError, "a batch of 'profile', got batches of image"),
        ([{"profile": PROFILES}], errors.InputNameError, "expected a batch of 'image'"),
        ((IMAGES,), errors.InvalidArgumentError, "tuple of 2 arrays, or a dict by image, profile"),
        ([IMAGES, PROFILES], errors.InvalidArgumentError, "expected a tuple of 2 arrays"),
        (IMAGES, errors.InvalidArgumentError, "expected a tuple of 2 arrays"),
        ((PROFILES, IMAGES), errors.ShapeMismatchError, r"'image' of shape \(batch, 6\)"),
        ((IMAGES, PROFILES[:3]), errors.ShapeMismatchError, "24 of image, 3 of profile"),
        ((IMAGES, PROFILES * torch.nan), errors.NotFiniteError, "is nan"),
        (5, errors.InvalidArgumentError, "such as a DataLoader, got 5"),
        ([], errors.InvalidArgumentError, "expected samples, got none"),
    ],
)
def test_refuses_what_are_no_samples(samples: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cw.nn.compile(MODULE, (IMAGES, PROFILES), samples, **SMALL)


def test_a_client_refuses_each_input_by_its_name(program: cw.Program) -> None:
    client, _ = program.keygen()
    with pytest.raises(errors.ValueOutOfRangeError, match="input 'image'"):
        client.encrypt(2 * PROFILES[:, :1].repeat(1, 6), PROFILES)
    with pytest.raises(errors.InputNameError, match="got none for profile"):
        client.encrypt(IMAGES)
    with pytest.raises(errors.InputNameError, match="no input 'x'"):
        client.encrypt(IMAGES, x=PROFILES)
    with pytest.raises(errors.ShapeMismatchError, match="24 of image, 3 of profile"):
        client.encrypt(IMAGES, PROFILES[:3])
    one_sided = (
        -0.999 * program.inputs[1].bound * np.sign(MODULE.of_profile.weight.detach().numpy()[0])
    )
    with pytest.raises(errors.ValueOutOfRangeError, match="layer 'silu'"):
        client.encrypt(IMAGES[0], one_sided)


@pytest.mark.parametrize(
    ("function", "names", "form"),
    [
        (lambda x, y: x * x, ["result"], None),
        (lambda x, y: (x + x,), ["result"], tuple),
        (lambda x, y: (x * x, x), ["result 1", "result 2"], tuple),
        (lambda x, y: [x * x, x, x], ["result 1", "result 2", "result 3"], list),
        (lambda x, y: Pair(x[:, :3] + y, x[:, :3] * y), ["total", "product"], tuple),
        (lambda x, y: {"b": x, "a": 2 * y}, ["b", "a"], dict),
        (lambda x, y: (x, {"z": y}), ["result 1", "result 2.z"], tuple),
        (lambda x, y: {"s": (x, y)}, ["s.1", "s.2"], dict),
    ],
)
def test_results_keep_their_names_and_form(
    function: Any, names: list[str], form: type | None
) -> None:
    made = cw.nn.compile(Function(function), (IMAGES, PROFILES), **SMALL)
    assert [port.name for port in made.outputs] == names
    wanted = function(IMAGES[:2], PROFILES[:2])
    found = made.run(IMAGES[:2], PROFILES[:2])
    assert type(found) is (form or np.ndarray)
    assert_alike(found, wanted)
    assert_alike(made.run_clear(IMAGES[:2], PROFILES[:2]), wanted)


def assert_alike(found: Any, wanted: Any) -> None:
    """Whether results are the same numbers in the same form."""
    if isinstance(wanted, torch.Tensor):
        np.testing.assert_allclose(found, wanted.numpy(), rtol=0, atol=2**-PRECISION)
        return
    assert len(found) == len(wanted)
    for key in wanted if isinstance(wanted, dict) else range(len(wanted)):
        assert_alike(found[key], wanted[key])


def gated(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return x * gate


def summed(*parts: torch.Tensor) -> torch.Tensor:
    return parts[0] + 2 * parts[1] - parts[2]


def weighted(x: torch.Tensor, scale: float = 2.0, *, y: torch.Tensor) -> torch.Tensor:
    return scale * x - y


@pytest.mark.parametrize(
    ("function", "sample", "names"),
    [
        (gated, (IMAGES, IMAGES), ["x", "gate"]),
        (gated, {"gate": IMAGES, "x": 2 * IMAGES}, ["x", "gate"]),
        (summed, (IMAGES, IMAGES, IMAGES), ["parts_0", "parts_1", "parts_2"]),
        (weighted, {"y": 3 * IMAGES, "x": IMAGES}, ["x", "y"]),
        (torch.relu, IMAGES, ["input"]),
        (torch.relu, (IMAGES,), ["input"]),
    ],
)
def test_inputs_are_named_as_forward_names_them(
    function: Any, sample: Any, names: list[str]
) -> None:
    module = nn.ReLU().eval() if function is torch.relu else Function(function)
    graph = capture(module, sample)
    assert [node.name for node in graph.inputs] == names
    arrays = [IMAGES.double().numpy() * (1 + number) for number in range(len(names))]
    tensors = dict(zip(names, map(torch.tensor, arrays), strict=True))
    wanted = function(*tensors.values()) if function is not weighted else weighted(**tensors)
    np.testing.assert_allclose(evaluate(graph, *arrays), wanted.numpy())


def test_a_single_input_and_result_have_their_own_names() -> None:
    made = cw.nn.compile(Function(lambda scan: scan * scan), IMAGES, **SMALL)
    assert [port.name for port in made.inputs + made.outputs] == ["scan", "result"]
    assert_alike(made.run(scan=IMAGES[0]), IMAGES[0] ** 2)


@pytest.mark.parametrize(
    ("function", "sample", "error", "message"),
    [
        (gated, IMAGES, errors.CaptureError, r"forward\(x.*missing .* 'gate'.* tuple of batches"),
        (gated, (IMAGES,) * 3, errors.CaptureError, "too many positional"),
        (gated, (), errors.CaptureError, "missing a required argument"),
        (summed, (), errors.CaptureError, "expected a sample of one input or more"),
        (gated, {"x": IMAGES, "y": IMAGES}, errors.InputNameError, "unexpected keyword|missing"),
        (gated, {"x": IMAGES}, errors.InputNameError, "missing a required argument: 'gate'"),
        (gated, (IMAGES, IMAGES[:5]), errors.InvalidArgumentError, "24 of x, 5 of gate"),
        (gated, (IMAGES, 2.0), errors.InvalidArgumentError, r"'gate' of shape \(batch, \.\.\.\)"),
        (gated, (IMAGES, None), errors.InvalidArgumentError, "'gate' that is a tensor"),
        (gated, [IMAGES, IMAGES], errors.CaptureError, "missing a required argument"),
        (gated, (IMAGES, PROFILES), errors.CaptureError, r"shape \(24, 6\), \(24, 3\)"),
        (lambda x, y: x // y, (IMAGES, IMAGES), errors.UnsupportedLayerError, "whole parts"),
        (lambda x, y: x @ y.t(), (IMAGES, IMAGES), errors.UnsupportedLayerError, "'t'.*first axis"),
        (lambda x, y: x.flip(0) + y, (IMAGES, IMAGES), errors.UnsupportedLayerError, "mixes"),
        (lambda x, y: x - y[:1], (IMAGES, IMAGES), errors.UnsupportedLayerError, "first axis"),
        (
            lambda x, y: (x, torch.ones(24, 2)),
            (IMAGES, IMAGES),
            errors.CaptureError,
            "'result 2' depends on the input",
        ),
        (lambda x, y: (x, y[:, :0]), (IMAGES, IMAGES), errors.CaptureError, "'result 2' of shape"),
        (lambda x, y: (x, None), (IMAGES, IMAGES), errors.CaptureError, "'result 2' depends"),
        (lambda x, y: (), (IMAGES, IMAGES), errors.CaptureError, "expected a result, got none"),
    ],
)
def test_refuses_by_name_what_it_cannot_read(
    function: Any, sample: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        capture(Function(function), sample)


def test_a_result_that_depends_on_the_batch_is_refused_whichever_it_is() -> None:
    with pytest.raises(errors.CaptureError, match="in a batch of 25 than in one of 24"):
        capture(Function(lambda x, y: (x, y * len(x))), (IMAGES, IMAGES))
    with pytest.raises(errors.CaptureError, match="in a batch of 25 than in one of 24"):
        capture(Function(lambda x, y: (x, y) if len(x) == 24 else x), (IMAGES, IMAGES))


def test_an_input_that_nothing_uses_is_taken_and_changes_nothing() -> None:
    made = cw.nn.compile(Function(lambda x, y: x * x), (IMAGES, PROFILES), **SMALL)
    assert [port.name for port in made.inputs] == ["x", "y"]
    first, second = (made.run(IMAGES[0], sign * PROFILES[0]) for sign in (1, -1))
    assert np.abs(first - second).max() < made.error


def test_a_result_that_other_layers_use_is_computed_once() -> None:
    layer = nn.Linear(6, 6)

    def function(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        hidden = torch.tanh(layer(x))
        return hidden, hidden * hidden, hidden

    graph = capture(Function(function), IMAGES)
    kinds = [type(node.operation) for node in graph.nodes]
    assert kinds.count(g.Activation) == 1
    made = cw.nn.compile(Function(function), IMAGES, **SMALL)
    operations = body_of(made).operations
    assert sum(isinstance(each, Polynomial) for each in operations) == 1
    assert_alike(made.run(IMAGES[:1]), tuple(part.detach() for part in function(IMAGES[:1])))


def test_every_result_stands_at_the_lowest_level() -> None:
    made = cw.nn.compile(Function(lambda x: (x, x**2, x**4)), IMAGES, **SMALL)
    body = body_of(made)
    outputs = [n for n, each in enumerate(body.operations) if isinstance(each, Output)]
    assert [body.states[number].level for number in outputs] == [0, 0, 0]


def test_images_and_vectors_go_in_side_by_side() -> None:
    torch.manual_seed(3)
    convolution, linear = nn.Conv2d(2, 3, 3, padding=1), nn.Linear(4, 3)

    def function(image: torch.Tensor, condition: torch.Tensor) -> torch.Tensor:
        made = torch.relu(convolution(image) + linear(condition)[:, :, None, None])
        return made.mean((2, 3))

    images, conditions = torch.rand(12, 2, 6, 6), torch.rand(12, 4)
    made = cw.nn.compile(
        Function(function), (images, conditions), batch=2, precision=8, log_n=11, insecure=True
    )
    found = made.run(images[:2], conditions[:2])
    wanted = function(images[:2], conditions[:2]).detach().numpy()
    assert np.abs(found - wanted).max() < 2**-8
