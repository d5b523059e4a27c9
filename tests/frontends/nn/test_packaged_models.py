"""Models of packages, as they come: each is read, and computes what it does in its package."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from cloakwork.errors import UnsupportedLayerError
from cloakwork.frontends.nn.capture import captured
from cloakwork.programs.ir.layer_values import evaluate
from tests.frontends.nn import published_models
from tests.frontends.nn.packaged_models import NAMES, made, require_package_of
from tests.frontends.nn.results import arrays
from tests.thoroughness import slow

# Packages that are not installed with cloakwork[dev] warn as they like.
pytestmark = pytest.mark.filterwarnings("ignore")

# A model of each kind; all of them in make test-slow.
QUICK = (
    ("torchvision", "mobilenet_v3_small"),
    ("timm", "levit_128s"),
    ("onnx", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx"),
)
# What refuses each of these, by the line that does and what would do.
REFUSED = {
    ("timm", "halonet26t"): r"halo_attn\.py:\d+: .*keep the batch as the first axis",
}
READ = tuple(each for each in NAMES if each not in REFUSED)
# Of the largest result: what models lose that compute in float32.
ROUNDING = 2e-5


def test_sixty_models_are_tried_and_fifty_four_are_read() -> None:
    read = len(published_models.COMPILED) + len(READ)
    assert read + len(published_models.REFUSED) + len(REFUSED) == 60
    assert read >= 54


@pytest.mark.parametrize(
    ("kind", "name"), [*QUICK, *slow(*(each for each in READ if each not in QUICK))]
)
def test_what_is_read_computes_what_the_package_does(kind: str, name: str) -> None:
    require_package_of(kind, name)
    module, inputs = made(kind, name)
    graph, look_up = captured(module, inputs)
    given = inputs.double().numpy() if look_up is None else look_up(inputs)
    with torch.no_grad():
        wanted = arrays(module(inputs))
    for own, each in zip(arrays(evaluate(graph, given)), wanted, strict=True):
        assert own.shape == each.shape
        assert np.abs(own - each).max() < ROUNDING * np.abs(each).max()


@pytest.mark.parametrize(("kind", "name"), slow(*REFUSED))
def test_what_cannot_be_read_is_refused_by_its_line(kind: str, name: str) -> None:
    require_package_of(kind, name)
    module, inputs = made(kind, name)
    with pytest.raises(UnsupportedLayerError, match=REFUSED[kind, name]):
        captured(module, inputs)
