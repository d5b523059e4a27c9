"""Stages of face-recognition meet in the files of its harness, which is not here, nor the model."""

from __future__ import annotations

import math
import runpy
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from benchmarks.suite.__main__ import lay_out
from benchmarks.suite.face_recognition import network
from tests.benchmarks.stages import secret_kept_from_servers

STAGES = (
    "client_key_generation",
    "server_preprocess_model",
    "client_preprocess_input",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
)
PATCHES, WIDTH, VECTOR = 4, 2, 16
# A ring that is far too small for security.
SMALL = {"precision": 7, "log_n": 11, "insecure": True, "bootstrap": False}


def test_the_network_is_the_published_one() -> None:
    model = as_published(width=4, side=16)
    pairs = drawn(6, side=16).unflatten(0, (3, 2))
    found = network.SameFace(model.state_dict()).eval()(pairs.flatten(1, 3))
    assert torch.allclose(found, torch.stack([cosine(model, pair) for pair in pairs]), atol=1e-5)


@pytest.mark.slow
def test_stages_compare_faces_and_the_server_reads_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = 8
    model = as_published(WIDTH, side)
    given, place = tmp_path / "given", tmp_path / "place"
    (given / "harness").mkdir(parents=True)
    checkpoints = given / network.CHECKPOINT
    checkpoints.parent.mkdir(parents=True)
    torch.save({"backbone": model.state_dict()}, checkpoints)
    place.mkdir()
    lay_out(place, given, "face-recognition")
    monkeypatch.chdir(place)
    monkeypatch.setattr(network, "OPTIONS", SMALL)
    monkeypatch.setattr(network, "SIDE", side)
    monkeypatch.setattr(cw, "load", partial(cw.load, insecure=True))
    random = np.random.default_rng(0)
    shown = random.integers(0, 256, (8, 2, 2 * side, 2 * side, 3)).astype(np.uint8)

    pictures = {
        "Picture": Any,
        "read": lambda path, *_: iter(shown if path.name == "face_dataset.h5" else shown[:2]),
        "aligner": lambda: lambda picture: picture,
    }
    named = "benchmarks.suite.face_recognition.pictures"
    monkeypatch.setitem(sys.modules, named, SimpleNamespace(**pictures))
    secret = Path("io", "single", "secret_key")
    for stage in STAGES:
        monkeypatch.setattr("sys.argv", [stage, "0"])
        with secret_kept_from_servers(stage, secret):
            runpy.run_path(f"submission/{stage}.py", run_name="__main__")
    found = np.loadtxt(Path("io", "single", "encrypted_model_predictions.txt"))
    cut = torch.from_numpy(np.stack([np.stack([patches(face) for face in pair]) for pair in shown]))
    expected = torch.stack([cosine(model, pair) for pair in cut[:2]]).detach().numpy()
    assert abs(found - expected).max() < 2**-6


def patches(face: Any) -> Any:
    """The patches of a picture, one after the other."""
    half = len(face) // 2
    parts = [face[r : r + half, c : c + half] for r in (0, half) for c in (0, half)]
    return np.stack(parts).transpose(0, 3, 1, 2).astype(np.float32) / 127.5 - 1


def drawn(count: int, side: int) -> Any:
    """Patches of so many faces."""
    return torch.rand(count, PATCHES, 3, side, side) * 2 - 1


def cosine(model: Any, pair: Any) -> Any:
    """What the published submission computes of the patches of two faces."""
    first, second = model(pair)
    found = first @ second
    for vector in (first, second):
        square = vector @ vector
        found = found * (network.NORM[0] * square**2 + network.NORM[1] * square + network.NORM[2])
    return found


def as_published(width: int, side: int) -> Any:
    """A network of the published architecture, whose norms have the statistics of pictures."""
    torch.manual_seed(0)
    model = Faces(width).train()
    # Squares are weak, as those of trained networks are: else few pictures outgrow all others.
    for rounds in range(2):
        for module in model.modules():
            if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
                module.momentum = 0.5
            if rounds and isinstance(module, HerPN):
                module.bn2.eval()
                module.bn2.get_buffer("running_var").mul_(16)
        with torch.no_grad():
            for _ in range(16):
                model(drawn(64, side))
    return model.eval()


class HerPN(nn.Module):
    """Three Hermite polynomials, each with a norm of its own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bn0, self.bn1, self.bn2 = (nn.BatchNorm2d(width, affine=False) for _ in range(3))
        self.weight = nn.Parameter(1 + torch.randn(width, 1, 1) / 10)
        self.bias = nn.Parameter(torch.randn(width, 1, 1) / 10)

    def forward(self, values: Any) -> Any:
        found = self.bn0(torch.ones_like(values)) / math.sqrt(2 * math.pi) + self.bn1(values) / 2
        found = found + self.bn2((values**2 - 1) / math.sqrt(2)) / math.sqrt(4 * math.pi)
        return self.weight * found + self.bias


class Block(nn.Module):
    """Two convolutions behind activations, and a shortcut."""

    def __init__(self, ins: int, outs: int) -> None:
        super().__init__()
        stride = 1 if ins == outs else 2
        self.herpn1, self.herpn2 = HerPN(ins), HerPN(outs)
        self.conv1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
        self.conv2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False)
        self.shortcut = nn.Sequential()
        if stride == 2:
            past = nn.Conv2d(ins, outs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(past, nn.BatchNorm2d(outs))

    def forward(self, values: Any) -> Any:
        active = self.herpn1(values)
        return self.conv2(self.herpn2(self.conv1(active))) + self.shortcut(active)


class Pool(nn.Module):
    """Means of quarters behind an activation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.herpn = HerPN(width)

    def forward(self, values: Any) -> Any:
        return nn.functional.adaptive_avg_pool2d(self.herpn(values), (2, 2))


class Backbone(nn.Module):
    """The network of one patch."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, width, 3, padding=1, bias=False)
        widths = (width, width, 2 * width, 2 * width, 4 * width, 4 * width)
        self.layers = nn.Sequential(*map(Block, widths, widths[1:]))
        self.herpnpool = Pool(4 * width)
        self.bn = nn.BatchNorm1d(16 * width)

    def forward(self, values: Any) -> Any:
        return self.bn(self.herpnpool(self.layers(self.conv(values))).flatten(1))


class Faces(nn.Module):
    """The networks of all patches, and the vector of a face."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.nets = nn.ModuleList([Backbone(width) for _ in range(PATCHES)])
        self.linear = nn.Linear(PATCHES * 16 * width, VECTOR)
        self.bn = nn.BatchNorm1d(VECTOR, affine=False)

    def forward(self, values: Any) -> Any:
        found = [net(values[:, number]) for number, net in enumerate(self.nets)]
        return self.bn(self.linear(torch.cat(found, 1)))
