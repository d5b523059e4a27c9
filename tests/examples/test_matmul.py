"""The examples of encrypted matrices, whole: real data at 128-bit parameters, clients and files."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

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


def test_two_databases_are_compared() -> None:
    told = printed("similarities")
    assert "pictures labelled as in the clear   898 of 898" in told
    error = re.search(r"largest error +(\S+)", told)
    bits = re.search(r"error +below 2\^-(\d+)", told)
    assert error
    assert bits
    assert float(error[1]) < 2.0 ** -int(bits[1])


@pytest.mark.slow
def test_encrypted_images_go_through_an_encrypted_network() -> None:
    pytest.importorskip("torch")
    same = re.search(r"images classified as in the clear +(\d+) of 4096", printed("mnist"))
    assert same
    assert int(same[1]) >= 0.995 * 4096


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
