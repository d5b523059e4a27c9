"""The examples of encrypted matrices, whole: real data at 128-bit parameters, clients and files."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import cloakwork as cw

ROOT = Path(__file__).parents[2]


def printed(name: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", f"examples.matmul.{name}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.slow
def test_two_databases_are_compared() -> None:
    told = printed("similarities")
    assert "pictures labelled as in the clear   898 of 898" in told
    error = re.search(r"largest error +(\S+)", told)
    bits = re.search(r"error +below 2\^-(\d+)", told)
    assert error
    assert bits
    assert float(error[1]) < 2.0 ** -int(bits[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mnist", "five_layers"])
def test_encrypted_images_go_through_an_encrypted_network(name: str) -> None:
    pytest.importorskip("torch")
    same = re.search(r"images classified as in the clear +(\d+) of 4096", printed(name))
    assert same
    assert int(same[1]) >= 0.995 * 4096


def test_five_small_layers_compute_what_they_do_in_the_clear(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("torch")
    five_layers = import_module("examples.matmul.five_layers")
    monkeypatch.setattr(five_layers, "POSITIONS", 3)
    rng = np.random.default_rng(0)
    shapes = {"kernels": (5, 5, 5), "middle": (20, 45), "last": (10, 20)}
    model = {name: rng.uniform(-0.1, 0.1, shape) for name, shape in shapes.items()}
    images = rng.uniform(0, 1, (9, 9, 120))
    model["last"] /= np.abs(five_layers.products(images, model)[-1]).max()
    seen = five_layers.products(images, model)
    largest = [float(np.abs(each).max()) for each in model.values()]
    specs = [
        cw.Spec(each.shape, bound=bound)
        for each, bound in zip((images, *model.values()), (1.0, *largest), strict=True)
    ]
    program = cw.compile(five_layers.network(seen), *specs, precision=five_layers.PRECISION)
    assert program.packing.kind == "matrices"
    # One a layer.
    assert program.scheme.parameters.levels == 5
    found = program.run(images=images, **model)
    assert np.abs(found - seen[-1]).max() < 2.0**-five_layers.PRECISION
    # The margin is twice what was seen, and weights with one sign come to more.
    same_sign = {name: np.abs(each) for name, each in model.items()}
    with pytest.raises(cw.errors.ValueOutOfRangeError, match="product 1"):
        program.run_clear(images=images, **same_sign)


@pytest.mark.slow
def test_components_of_two_halves_are_those_of_the_whole() -> None:
    told = printed("pca")
    shares = re.search(r"variance of the first components +(.+)", told)
    clear = re.search(r"in the clear  +([\d., ]+)\n", told)
    cosine = re.search(r"least cosine to those in the clear +(\S+)", told)
    assert shares
    assert clear
    assert shares[1] == clear[1]
    assert cosine
    # Errors of 2^-16 turn components by as much over the gaps between variances.
    assert float(cosine[1]) > 0.999999
