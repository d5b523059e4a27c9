"""Stages of ml-inference meet in the files of its harness, which is not here."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.suite.__main__ import lay_out
from tests.benchmarks.stages import secret_kept_from_servers

torch = pytest.importorskip("torch")
datasets = pytest.importorskip("sklearn.datasets")

# Stages look for their modules in the folder that they run in.
WITH_MODULES = {**os.environ, "PYTHONPATH": "."}
STAGES = (
    "client_preprocess_input",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
)


@pytest.mark.slow
def test_stages_give_the_labels_of_the_trained_network(tmp_path: Path) -> None:
    place, given = tmp_path / "place", tmp_path / "given"
    place.mkdir()
    pixels, labels = digits()
    network = trained(pixels[:1500], labels[:1500])
    as_harness_trains(given / "harness" / "mnist", network, pixels[:1500])
    lay_out(place, given, "ml-inference")
    data = place / "datasets" / "small" / "intermediate"
    data.mkdir(parents=True)
    np.savetxt(data / "test_pixels.txt", pixels[-15:], fmt="%.6f")
    stages, secret = place / "submission" / "build", place / "io" / "small" / "secret_key"
    subprocess.run([stages / "client_key_generation", "1"], cwd=place, env=WITH_MODULES, check=True)
    subprocess.run([stages / "server_preprocess_model"], cwd=place, env=WITH_MODULES, check=True)
    for stage in STAGES:
        with secret_kept_from_servers(stage, secret):
            subprocess.run([stages / stage, "1"], cwd=place, env=WITH_MODULES, check=True)
    found = np.loadtxt(place / "io" / "small" / "encrypted_model_predictions.txt", dtype=int)
    expected = network(normalised(pixels[-15:])).argmax(1).numpy()
    assert (found == expected).all()
    assert (found == labels[-15:]).mean() > 0.7


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Digits of scikit-learn on 28 x 28 pixels from 0 to 1, and their labels."""
    small, labels = datasets.load_digits(return_X_y=True)
    large = np.kron(small.reshape(-1, 8, 8) / 16, np.ones((3, 3)))
    return np.pad(large, ((0, 0), (2, 2), (2, 2))).reshape(-1, 784), labels


def normalised(pixels: np.ndarray) -> Any:
    """Pixels as the harness gives them to its network."""
    return torch.tensor((pixels - 0.1307) / 0.3081).float()


def trained(pixels: np.ndarray, labels: np.ndarray) -> Any:
    """A network in the form of the harness's."""
    torch.manual_seed(0)
    fc1, fc2, fc3 = (torch.nn.Linear(*size) for size in ((784, 128), (128, 64), (64, 10)))
    network = torch.nn.Sequential(fc1, torch.nn.ReLU(), fc2, torch.nn.ReLU(), fc3)
    optimiser = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(30):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(normalised(pixels)), torch.tensor(labels))
        loss.backward()
        optimiser.step()
    return network.eval()


def as_harness_trains(folder: Path, network: Any, pixels: np.ndarray) -> None:
    """Write the network's weights, and images in the form of MNIST's file."""
    raw = folder / "data" / "MNIST" / "raw"
    raw.mkdir(parents=True)
    header = np.array([2051, len(pixels), 28, 28], ">u4").tobytes()
    images = (pixels * 255).astype(np.uint8)
    (raw / "train-images-idx3-ubyte").write_bytes(header + images.tobytes())
    names = {"0": "fc1", "2": "fc2", "4": "fc3"}
    weights = {
        f"{names[name.split('.')[0]]}.{name.split('.')[1]}": value
        for name, value in network.state_dict().items()
    }
    torch.save(weights, folder / "mnist_ffnn_model.pth")
