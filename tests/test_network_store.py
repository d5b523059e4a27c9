"""Networks, keys and encrypted inputs in files."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.nn.networks import SQUARE, Weights, network
from cloakwork import load_client, load_evaluator, nn, save_client, save_evaluator
from cloakwork.errors import (
    InvalidArgumentError,
    MalformedBytesError,
    ProgramMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.nn.evaluate import evaluate
from cloakwork.programs.ir import layers as g
from cloakwork.runtime.container import read, write

GRAPH = network((5,), Weights().linear(3, 5), SQUARE, Weights(1).linear(2, 3))
SAMPLES = np.random.default_rng(3).uniform(-1, 1, (4, 5))


def compiled(log_n: int = 9) -> nn.Network:
    return nn.compile_graph(GRAPH, SAMPLES, insecure=True, log_n=log_n)


def test_parties_run_from_files_alone(tmp_path: Path) -> None:
    made = compiled()
    client, evaluator = made.keygen()
    nn.save_network(made, tmp_path / "network")
    save_client(client.party, tmp_path / "client")
    save_evaluator(evaluator.party, tmp_path / "evaluator")
    del made, client, evaluator

    network = nn.load_network(tmp_path / "network", insecure=True)
    client = network.client(load_client(tmp_path / "client", insecure=True))
    nn.save_encrypted(client.encrypt(SAMPLES[0]), tmp_path / "inputs")
    evaluator = network.evaluator(load_evaluator(tmp_path / "evaluator", insecure=True))
    result = evaluator.run(nn.load_encrypted(tmp_path / "inputs", network))
    nn.save_encrypted(result, tmp_path / "result")
    got = client.decrypt(nn.load_encrypted(tmp_path / "result", network))
    assert np.abs(got - evaluate(GRAPH, SAMPLES[:1])[0]).max() < 2**-16


def test_a_client_from_files_refuses_what_leaves_a_layers_range(tmp_path: Path) -> None:
    narrow = g.Polynomial((0.0, 1.0, 0.0, 1.0), "chebyshev", -0.4, 0.4)
    made = nn.compile_graph(
        network((3,), g.Affine(np.full(1, 0.5), np.zeros(1)), narrow, Weights().linear(2, 3)),
        np.full((1, 3), 0.5),
        insecure=True,
        log_n=9,
    )
    nn.save_network(made, tmp_path / "network")
    save_client(made.keygen()[0].party, tmp_path / "client")
    client = nn.load_network(tmp_path / "network", insecure=True).client(
        load_client(tmp_path / "client", insecure=True)
    )
    client.encrypt([0.5, -0.5, 0.0])
    with pytest.raises(ValueOutOfRangeError, match=r"layer '1' .* to 0\.4, and got 0\.45 to 0\.5"):
        client.encrypt([0.9, 1.0, 0.9])


def test_a_loaded_network_is_the_same(tmp_path: Path) -> None:
    made = compiled()
    nn.save_network(made, tmp_path / "network")
    loaded = nn.load_network(tmp_path / "network", insecure=True)
    assert str(loaded.program) == str(made.program)
    assert loaded.bounds == made.bounds
    assert (loaded.batch, loaded.error, loaded.title) == (made.batch, made.error, made.title)
    assert (loaded.input.shape, loaded.output.shape) == ((5,), (2,))
    assert loaded.fingerprint == made.fingerprint
    assert np.array_equal(loaded.run_clear(SAMPLES), made.run_clear(SAMPLES))
    found = loaded.simulate(SAMPLES).outputs
    assert np.array_equal(found, made.simulate(SAMPLES).outputs)


def test_refuses_what_is_of_another_network(tmp_path: Path) -> None:
    made = compiled()
    client, _ = made.keygen()
    nn.save_encrypted(client.encrypt(SAMPLES[0]), tmp_path / "inputs")
    with pytest.raises(ProgramMismatchError, match="another network"):
        nn.load_encrypted(tmp_path / "inputs", compiled(log_n=10))
    with pytest.raises(InvalidArgumentError, match="expected the network that it is for"):
        nn.load_encrypted(tmp_path / "inputs", client)  # type: ignore[arg-type]


def with_range(low: float, high: float, scale: float = 1.0) -> Callable[[dict[str, Any]], None]:
    def change(facts: dict[str, Any]) -> None:
        facts["watches"][0][2:5] = low, high, scale

    return change


@pytest.mark.parametrize(
    "change",
    [
        with_range(np.nan, 1.0),
        with_range(-1.0, np.inf),
        with_range(2.0, 1.0),
        with_range(-1.0, 1.0, 0.0),
        with_range(-1.0, 1.0, np.nan),
        with_range(-1.0, 10**400),
        lambda facts: facts["watches"][0].__setitem__(1, []),
        lambda facts: facts["packings"][2].__setitem__(0, 1),
        lambda facts: facts.update(error=np.nan),
        lambda facts: facts.update(error=-1.0),
        lambda facts: facts.update(error="1.0"),
        lambda facts: facts.update(bounds=[None] * len(facts["bounds"])),
        lambda facts: facts.update(bounds=[np.inf] * len(facts["bounds"])),
        lambda facts: facts.update(bounds=facts["bounds"][1:]),
        lambda facts: facts["ports"][0].__setitem__(1, np.nan),
        lambda facts: facts["ports"][1].__setitem__(1, -1.0),
    ],
)
def test_refuses_ranges_and_bounds_that_none_compiles(
    tmp_path: Path, change: Callable[[dict[str, Any]], None]
) -> None:
    nn.save_network(compiled(), tmp_path / "network")
    facts, parts = read(tmp_path / "network", "network")
    forged = copy.deepcopy(dict(facts))
    change(forged)
    write(tmp_path / "forged", "network", forged, parts)
    with pytest.raises(MalformedBytesError, match=r"cannot read .*forged: "):
        nn.load_network(tmp_path / "forged", insecure=True)


def test_refuses_a_layer_packed_beyond_its_ciphertexts(tmp_path: Path) -> None:
    nn.save_network(compiled(), tmp_path / "network")
    facts, parts = read(tmp_path / "network", "network")
    places = np.frombuffer(parts["places2"], dtype="<u8").copy()
    places[0] += 1 << 20
    write(tmp_path / "forged", "network", facts, {**parts, "places2": places.tobytes()})
    with pytest.raises(MalformedBytesError, match=r"cannot read .*forged: "):
        nn.load_network(tmp_path / "forged", insecure=True)


@pytest.mark.parametrize("place", range(0, 4000, 400))
def test_a_damaged_file_is_refused_or_the_same(tmp_path: Path, place: int) -> None:
    made = compiled()
    path = tmp_path / "network"
    nn.save_network(made, path)
    data = bytearray(path.read_bytes())
    data[place % len(data)] ^= 0x55
    path.write_bytes(data)
    try:
        loaded = nn.load_network(path, insecure=True)
    except MalformedBytesError:
        return
    # A zip file says some of what it says twice.
    assert loaded.fingerprint == made.fingerprint
    assert (loaded.bounds, loaded.error) == (made.bounds, made.error)
