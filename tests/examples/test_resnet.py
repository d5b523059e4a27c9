"""ResNet of the examples: its images, its networks, and encrypted images classified."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

from examples.nn.coloured import cifar_10, coloured_digits
from examples.nn.image_networks import alexnet, mobilenet, resnet, vgg_16

ROOT = Path(__file__).parents[2]
RECORD = 1 + 3 * 32 * 32


def test_digits_in_colours() -> None:
    data = coloured_digits()
    assert data.train.shape == (1347, 3, 32, 32)
    assert data.test.shape == (450, 3, 32, 32)
    assert 0 <= data.train.min() < data.train.max() <= 1
    assert torch.equal(data.test, coloured_digits().test)
    # Ink differs from the ground in every channel.
    spread = data.train.amax(dim=(2, 3)) - data.train.amin(dim=(2, 3))
    assert spread.min() > 0.15


def written(folder: Path, names: list[str], images: int = 2) -> None:
    for number, name in enumerate(names):
        records = np.full((images, RECORD), 51, np.uint8)
        records[:, 0] = number
        records.tofile(folder / name)


FILES = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]


def test_cifar_10_is_read_from_a_folder(tmp_path: Path) -> None:
    written(tmp_path, FILES)
    data = cifar_10(tmp_path)
    assert data.train.shape == (10, 3, 32, 32)
    assert data.train_labels.tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert data.test_labels.tolist() == [5, 5]
    assert torch.equal(data.test, torch.full((2, 3, 32, 32), 0.2))


def test_what_is_not_cifar_10_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="No such file"):
        cifar_10(tmp_path)
    written(tmp_path, FILES)
    (tmp_path / FILES[2]).write_bytes(b"\x0b" * RECORD)
    with pytest.raises(SystemExit, match=r"data_batch_3.bin is not of the binary version"):
        cifar_10(tmp_path)


@pytest.mark.parametrize(
    ("network", "weights"),
    [
        (resnet(20), 272_474),
        (resnet(110), 1_730_714),
        (vgg_16(), 14_724_042),
        (alexnet(), 3_835_338),
        (mobilenet(), 3_217_226),
    ],
    ids=["resnet-20", "resnet-110", "vgg-16", "alexnet", "mobilenet"],
)
def test_networks_are_as_large_as_published(network: nn.Module, weights: int) -> None:
    assert network.eval()(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert sum(each.numel() for each in network.parameters()) == weights


@pytest.mark.slow
@pytest.mark.parametrize(("activation", "bootstraps_of_orion"), [("silu", 19), ("relu", 37)])
def test_images_are_classified_as_in_the_clear(activation: str, bootstraps_of_orion: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.nn.resnet", "--images", "2", "--activation", activation],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert re.search(r"classified as in the clear +2 of 2", done.stdout)
    [bootstraps] = re.findall(r"bootstraps of a run +(\d+)", done.stdout)
    assert int(bootstraps) <= bootstraps_of_orion
    [bits] = re.findall(r"mean error of the scores +2\^(-[\d.]+)", done.stdout)
    assert float(bits) < -8
