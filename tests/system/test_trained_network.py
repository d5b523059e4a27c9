"""A trained network between two processes that share files, the evaluator's without PyTorch."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.plan.analysis.memory import process_memory
from cloakwork.programs.slots import SlotProgram
from cloakwork.schemes.encoded_cache import default_cache_bytes

pytest.importorskip("torch")

import torch

from examples.nn.digits import digits
from examples.nn.networks import Square

IMAGES = 4

EVALUATOR = """
import sys
from pathlib import Path
import cloakwork as cw

folder = Path(sys.argv[1])
evaluator = cw.load(folder / "evaluator", cw.Evaluator)
for number in range(2):
    encrypted = cw.load(folder / f"inputs{number}", cw.Encrypted)
    evaluator.run(encrypted).save(folder / f"results{number}")
assert not hasattr(evaluator, "decrypt")
assert not {"torch", "scipy", "sklearn"} & set(sys.modules)
try:
    cw.load(folder / "evaluator", cw.Client)
except cw.errors.MalformedBytesError:
    print("no client")
print(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
"""


def trained() -> torch.nn.Module:
    """A small convolutional network on digits of 8x8 pixels."""
    data = digits(8)
    torch.manual_seed(1)
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 6, 3, stride=2, padding=1),
        torch.nn.BatchNorm2d(6),
        Square(),
        torch.nn.Flatten(),
        torch.nn.Linear(96, 10),
    )
    optimiser = torch.optim.Adam(module.parameters(), lr=0.03)
    for _ in range(60):
        optimiser.zero_grad()
        loss = torch.nn.functional.cross_entropy(module(data.train), data.train_labels)
        torch.autograd.backward(loss)
        optimiser.step()
    return module.eval()


def test_an_evaluator_process_classifies_images_from_files(tmp_path: Path) -> None:
    data, module = digits(8), trained()
    images, labels = data.test[: 2 * IMAGES], data.test_labels[: 2 * IMAGES].numpy()
    network = cw.nn.compile(module, images, calibration=data.train, batch=IMAGES)
    assert not network.scheme.insecure
    client, evaluator = network.keygen()
    given, kept = tmp_path / "given", tmp_path / "kept"
    given.mkdir()
    kept.mkdir()
    evaluator.save(given / "evaluator")
    for number, part in enumerate(torch.split(images, IMAGES)):
        client.encrypt(part).save(given / f"inputs{number}")
    client.save(kept / "client")

    done = subprocess.run(
        [sys.executable, "-c", EVALUATOR, str(given)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    refused, kilobytes = done.stdout.splitlines()
    assert refused == "no client"
    assert isinstance(network.body, SlotProgram)
    memory = process_memory(network.body, network.scheme.parameters, default_cache_bytes())
    assert memory.total == pytest.approx(1024 * int(kilobytes), rel=0.2)

    # The client too comes back from its file, as in another process.
    again = cw.load(kept / "client", cw.Client)
    results = [cw.load(given / f"results{number}", cw.Encrypted) for number in range(2)]
    scores = np.concatenate([again.decrypt(each) for each in results])
    with torch.no_grad():
        clear = module.double()(images.double()).numpy()
    assert np.abs(scores - clear).max() < 2**-12
    assert (scores.argmax(axis=1) == clear.argmax(axis=1)).all()
    assert (scores.argmax(axis=1) == labels).sum() >= 2 * IMAGES - 1
