"""The vision transformer of the examples: a tiny one in the clear, the trained one encrypted."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch

import cloakwork as cw
from examples.nn.digits import digits
from examples.nn.networks import transformer

ROOT = Path(__file__).parents[2]


def test_a_tiny_one_is_what_torch_computes(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = transformer(width=4, heads=2, blocks=1, patch=4).eval()
    data = digits(8)
    program = cw.nn.compile(
        module, data.train[:200], precision=6, bootstrap=True, log_n=9, insecure=True
    )
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    images = data.test[:16].double()
    expected = module.double()(images).detach().numpy()
    runs = [loaded.simulate(image) for image in images]
    assert [run.outside for run in runs] == [()] * len(images)
    assert loaded.error is not None
    assert np.abs(np.stack([run.outputs for run in runs]) - expected).max() < loaded.error
    assert cw.estimate(loaded).operations["bootstrap"] > 0


@pytest.mark.slow
def test_images_are_classified_as_in_the_clear() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "examples.nn.transformer"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    same = re.findall(r"classified as in the clear +(\d+) of (\d+)", done.stdout)
    assert same == [("100", "100"), ("8", "8")]
    assert done.stderr == ""
