"""Models of packages as they come: of torchvision, of timm, and ONNX files with their weights.

With those of `published_models` these are sixty. Images are as small as each of them takes.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from cloakwork.frontends.nn.given_module import module_given

_SAMPLES = 2

# The side of the images that each takes.
OF_TORCHVISION: Mapping[str, int] = {
    "alexnet": 64,
    "vgg11_bn": 32,
    "resnet18": 32,
    "resnext50_32x4d": 32,
    "densenet121": 32,
    "squeezenet1_1": 32,
    "googlenet": 32,
    "inception_v3": 75,
    "mobilenet_v2": 32,
    "mobilenet_v3_small": 32,
    "shufflenet_v2_x0_5": 32,
    "efficientnet_b0": 32,
    "regnet_y_400mf": 32,
    "convnext_tiny": 32,
    "swin_t": 32,
    "mnasnet0_5": 32,
}
OF_TIMM: Mapping[str, int] = {
    "resnest14d": 32,
    "ghostnet_100": 32,
    "hrnet_w18_small": 32,
    "mobilevit_xxs": 64,
    "poolformer_s12": 32,
    "convnextv2_atto": 32,
    "repvit_m0_9": 32,
    "levit_128s": 224,
    "tnt_s_patch16_224": 224,
    "halonet26t": 256,
}
# The package of each file, and the inputs that it takes.
OF_ONNX: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "models/standard_v3_3/model.onnx": ("magika", (2048,)),
    "models/ch_PP-OCRv4_det_infer.onnx": ("rapidocr_onnxruntime", (3, 32, 32)),
    "models/ch_PP-OCRv4_rec_infer.onnx": ("rapidocr_onnxruntime", (3, 48, 32)),
    "models/ch_ppocr_mobile_v2.0_cls_infer.onnx": ("rapidocr_onnxruntime", (3, 48, 32)),
}

# Of these the package says otherwise how weights are drawn.
_NOT_DRAWN = frozenset({"googlenet", "inception_v3"})


def _of_torchvision(name: str) -> nn.Module:
    options = {"init_weights": False} if name in _NOT_DRAWN else {}
    made: nn.Module = importlib.import_module("torchvision.models").get_model(name, **options)
    return made


def _of_timm(name: str) -> nn.Module:
    made: nn.Module = importlib.import_module("timm").create_model(name)
    return made


def _of_onnx(name: str) -> nn.Module:
    spec = find_spec(OF_ONNX[name][0])
    assert spec is not None
    assert spec.origin is not None
    return module_given(Path(spec.origin).parent / name)


KINDS: Mapping[str, tuple[Mapping[str, Any], Callable[[str], nn.Module]]] = {
    "torchvision": (OF_TORCHVISION, _of_torchvision),
    "timm": (OF_TIMM, _of_timm),
    "onnx": (OF_ONNX, _of_onnx),
}
NAMES = tuple((kind, name) for kind, (models, _) in KINDS.items() for name in models)


def require_package_of(kind: str, name: str) -> None:
    """Skip a test where the package that has a model is not installed; files need no import."""
    package = OF_ONNX[name][0] if kind == "onnx" else kind
    if find_spec(package) is None:
        pytest.skip(f"{package} is not installed")


def made(kind: str, name: str) -> tuple[nn.Module, torch.Tensor]:
    """A model in eval mode, and inputs for it."""
    models, make = KINDS[kind]
    torch.manual_seed(0)
    module = make(name).eval()
    size = models[name]
    if kind != "onnx":
        return module, 0.5 * torch.randn(_SAMPLES, 3, size, size)
    package, shape = size
    if package == "magika":
        return module, torch.randint(257, (_SAMPLES, *shape))
    return module, 0.5 * torch.randn(_SAMPLES, *shape)
