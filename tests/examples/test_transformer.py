"""The transformers of the examples: tiny ones in the clear, the trained ones encrypted."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from torch import nn

import cloakwork as cw
from examples.nn.digits import digits
from examples.nn.labelled import Labelled
from examples.nn.networks import text_transformer, vision_transformer
from examples.nn.translations import translations

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("module_of", "data_of"),
    [
        (lambda: vision_transformer(width=4, heads=2, blocks=1, patch=4), lambda: digits(8)),
        pytest.param(
            lambda: text_transformer(width=4, heads=2, blocks=1),
            translations,
            marks=pytest.mark.slow,
        ),
    ],
    ids=["vision", "text"],
)
def test_a_tiny_one_is_what_torch_computes(
    module_of: Callable[[], nn.Module], data_of: Callable[[], Labelled], tmp_path: Path
) -> None:
    torch.manual_seed(0)
    module, data = module_of().eval(), data_of()
    program = cw.nn.compile(
        module, data.train[:200], precision=6, bootstrap=True, log_n=9, insecure=True
    )
    program.save(tmp_path / "program")
    loaded = cw.load(tmp_path / "program", cw.Program, insecure=True)
    inputs = data.test[:16].double()
    expected = module.double()(inputs).detach().numpy()
    runs = [loaded.simulate(each) for each in inputs]
    assert [run.outside for run in runs] == [()] * len(inputs)
    assert loaded.error is not None
    assert np.abs(np.stack([run.outputs for run in runs]) - expected).max() < loaded.error
    assert cw.estimate(loaded).operations["bootstrap"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["vision_transformer", "text_transformer"])
def test_inputs_are_classified_as_in_the_clear(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", f"examples.nn.{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    same = re.findall(r"classified as in the clear +(\d+) of (\d+)", done.stdout)
    assert same == [("100", "100"), ("5", "5")]
    assert re.search(r"leave the range of a layer +0\n", done.stdout)
    assert done.stderr == ""
