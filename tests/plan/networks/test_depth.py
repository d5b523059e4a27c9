"""Networks that are too deep are refused before anything is fitted, and no others are."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from cloakwork import errors
from cloakwork.frontends.nn.capture import capture
from cloakwork.plan.networks.calibration import calibrate
from cloakwork.plan.networks.compile_graph import compile_graph
from cloakwork.plan.networks.depth import activation_depths, least_depths
from cloakwork.plan.networks.fit import fit
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.plan.networks.samples import Samples
from cloakwork.programs.ir import layers as g
from tests.frontends.nn.random_networks import RandomNetwork, random_networks
from tests.thoroughness import part, slow

# Torch says once how it pads for kernels of even length.
pytestmark = pytest.mark.filterwarnings("ignore:Using padding='same'")


class Block(nn.Module):
    """Two convolutions and a shortcut."""

    def __init__(self, inner: int, outer: int, activation: type[nn.Module]) -> None:
        super().__init__()
        stride = outer // inner
        self.layers = nn.Sequential(
            nn.Conv2d(inner, outer, 3, stride, 1, bias=False),
            nn.BatchNorm2d(outer),
            activation(),
            nn.Conv2d(outer, outer, 3, 1, 1, bias=False),
            nn.BatchNorm2d(outer),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Conv2d(inner, outer, 1, stride, bias=False)
        self.activation = activation()

    def forward(self, x: torch.Tensor) -> Any:
        return self.activation(self.layers(x) + self.shortcut(x))


def resnet_20(activation: type[nn.Module]) -> nn.Module:
    """ResNet-20 for images of 32 x 32 (He, Zhang, Ren, Sun, CVPR 2016, section 4.2)."""
    torch.manual_seed(0)
    widths = [16, 16, 16, 16, 32, 32, 32, 64, 64, 64]
    blocks = [Block(*pair, activation) for pair in pairwise(widths)]
    stem = [nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), activation()]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)]
    return nn.Sequential(*stem, *blocks, *head)


def unexpected(*_: Any, **__: Any) -> Any:
    raise AssertionError("activations were fitted, or a program was planned")


@pytest.mark.parametrize(
    ("activation", "is_trained"),
    [
        (nn.SiLU, False),
        (nn.ReLU, True),
        *slow((nn.SiLU, True), (nn.GELU, False), (nn.GELU, True), (nn.ReLU, False)),
    ],
)
def test_resnet_20_is_refused_before_anything_is_fitted(
    monkeypatch: pytest.MonkeyPatch, activation: type[nn.Module], is_trained: bool
) -> None:
    module = resnet_20(activation)
    if is_trained:
        for _ in range(10):
            module(torch.rand(8, 3, 32, 32))
    for name in "refitted", "worst_case_inputs", "planned", "bootstrapped":
        monkeypatch.setattr(f"cloakwork.plan.networks.compile_graph.{name}", unexpected)
    with pytest.raises(
        errors.LevelExhaustedError,
        match=r"layer '\w+(\.\w+)*' ends \d+ levels or more below the inputs .* log_n=16 .* "
        "there are 50",
    ):
        cw.nn.compile(module.eval(), torch.rand(4, 3, 32, 32), bootstrap=False)


def test_the_rest_of_the_samples_is_not_read_where_the_first_suffice() -> None:
    def samples() -> Any:
        yield torch.randn(8, 6)
        raise AssertionError("the second batch was read")

    module = nn.Sequential(*[nn.Sequential(nn.Linear(6, 6), nn.ReLU()) for _ in range(12)])
    with pytest.raises(errors.LevelExhaustedError):
        cw.nn.compile(module.eval(), torch.zeros(1, 6), samples(), bootstrap=False)


def test_samples_that_say_nothing_of_depth_lead_to_no_refusal() -> None:
    torch.manual_seed(2)
    module = nn.Sequential(nn.Linear(6, 6), nn.SiLU(), nn.Linear(6, 2)).eval()
    x = torch.cat([torch.zeros(8, 6), torch.randn(20, 6)])
    made = cw.nn.compile(module, x[:1], x, precision=8, log_n=9, insecure=True)
    assert np.abs(made.simulate(x).outputs - module(x).detach().numpy()).max() < 2**-8


@pytest.mark.parametrize(
    ("layers", "levels"),
    [
        ([nn.Linear(6, 6), nn.Linear(6, 6)], 1),
        ([nn.Flatten(), nn.Identity()], 0),
        ([nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 1)], 5),
        ([nn.Tanh(), nn.Tanh()], 6),
    ],
)
def test_counts_products_and_given_degrees(layers: list[nn.Module], levels: int) -> None:
    graph = capture(nn.Sequential(*layers).eval(), torch.zeros(1, 6))
    options = NetworkOptions(degrees={"tanh": 7} if "tanh" in str(layers).lower() else None)
    calibration = calibrate(graph, Samples(graph, np.ones((2, 6))))
    depths = least_depths(graph, activation_depths(graph, calibration, options, 0))
    assert depths[-1].levels == levels


@pytest.mark.parametrize("function", ["gelu", "gelu_tanh", "sigmoid", "silu", "tanh"])
@pytest.mark.parametrize("width", [0.01, 0.5, 2.0, 8.0])
@pytest.mark.parametrize("precision", [4, 10, 16])
def test_no_fit_takes_fewer_levels(function: str, width: float, precision: int) -> None:
    nodes = [g.node("x", g.InputLayer((1,)), (), [])]
    for name, layer in ("act", g.Activation(function)), ("y", g.OutputLayer()):
        nodes.append(g.node(name, layer, (len(nodes) - 1,), nodes))
    graph = g.build(nodes)
    for middle in (0.0, width / 2, -3 * width):
        calibration = calibrate(graph, [np.array([[middle - width], [middle + width]])])
        options = NetworkOptions(precision=precision)
        least = activation_depths(graph, calibration, options, 0)[1]
        try:
            fitted = fit(graph, calibration, precision).fits[0]
        except errors.ActivationFitError:
            continue
        # A square takes one level, and so does a constant.
        depth = 1 if fitted.degrees == (2,) else max(1, fitted.depth)
        assert least <= depth <= least + 2


@settings(max_examples=part(20), deadline=None, suppress_health_check=list(HealthCheck))
@given(random_networks(), st.sampled_from([4, 10]))
def test_no_network_takes_fewer_levels(network: RandomNetwork, precision: int) -> None:
    graph = capture(network.module, network.sample)
    samples = Samples(graph, network.sample)
    options = NetworkOptions(precision=precision, log_n=9, insecure=True, bootstrap=False)
    calibration = calibrate(graph, samples)
    least = least_depths(graph, activation_depths(graph, calibration, options, 1))
    try:
        made = compile_graph(graph, network.sample, options)
    except (
        errors.ActivationFitError,
        errors.InvalidParametersError,
        errors.LevelExhaustedError,
    ):
        assume(False)
        raise
    assert max(each.levels for each in least) <= made.scheme.parameters.levels
