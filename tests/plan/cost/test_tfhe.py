"""What TFHE's operations cost: the published set, what is refused, what is measured and kept."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import pytest

from cloakwork._native import boolean_parameter_sets
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.plan.cost import cache as cost_cache
from cloakwork.plan.cost import tfhe
from cloakwork.plan.cost.tfhe import BitCosts, known_set, measured_set, stated_sets
from cloakwork.programs.bootstraps import BootstrapProgram
from tests.plan.boolean import circuits
from tests.plan.cost.published import published_costs
from tests.programs.bootstrap_facts import facts

COSTS = published_costs()
MEASURED = {"bootstrap": [0.01, 0.02, 0.03], "linear": 1e-6, "gate": 0.01}


def test_the_published_set() -> None:
    noise = COSTS.noise
    assert COSTS.name == noise.name == "published"
    assert 1e-10 < noise.bootstrap_variance < 1e-8
    assert noise.most_tables(2) == 2
    assert noise.most_tables(noise.max_message_bits + 2) == 0
    assert [COSTS.seconds(tables) for tables in (1, 2, 3)] == [0.018, 0.0185, 0.019]
    assert noise.most_message_bits() == 2


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [
        ({"bootstrap": [1, 1, 1]}, "missing"),
        ({"linear": 0}, "missing"),
        ({"bootstrap": 1, "linear": 0}, "missing"),
        ({"bootstrap": [1, 1, "fast"], "linear": 0}, "missing"),
        ({"bootstrap": [1], "linear": 0}, "for 3 numbers of tables"),
        ({"bootstrap": [1, 1, -1], "linear": 0}, "0 or more"),
        ({"bootstrap": [1, 1, 1], "linear": math.nan}, "finite"),
        ({"bootstrap": [1, 1, math.inf], "linear": 0}, "finite"),
    ],
)
def test_what_is_no_cost_is_refused(seconds: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"costs of 'published': .*{reason}"):
        BitCosts.from_seconds(COSTS.noise, seconds)


@pytest.mark.parametrize(
    "kept",
    [
        None,
        [],
        {**MEASURED, "bootstrap": [0.01]},
        {**MEASURED, "bootstrap": [0.01, 0.02, float("inf")]},
        {**MEASURED, "linear": float("nan")},
        {**MEASURED, "linear": float("inf")},
        {**MEASURED, "gate": -1.0},
        {**MEASURED, "gate": "fast"},
    ],
    ids=str,
)
def test_costs_that_are_none_are_measured_again(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    measured: list[str] = []

    def seconds(name: str, _: int) -> Any:
        measured.append(name)
        return MEASURED

    monkeypatch.setattr(tfhe, "boolean_seconds", seconds)
    assert known_set("space4") is None
    first = measured_set("space4")
    assert known_set("space4") == first
    (path,) = (tmp_path / "cloakwork").iterdir()
    identity = json.loads(path.read_text())["of"]
    assert measured_set("space4") == first
    assert measured == ["space4"]
    cost_cache.keep_costs(identity, kept)
    assert known_set("space4") is None
    again: BitCosts = measured_set("space4")
    assert again == first
    assert measured == ["space4"] * 2


def test_costs_are_those_of_the_failure_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(tfhe, "boolean_seconds", lambda *_: MEASURED)
    usual, often = measured_set("space4"), measured_set("space4", 40)
    assert (usual.noise.failure_bits, often.noise.failure_bits) == (128, 40)
    assert dataclasses.replace(often.noise, failure_bits=128) == usual.noise
    assert often.bootstrap_seconds == usual.bootstrap_seconds


def test_stated_costs_are_of_every_set_and_rise_with_space_and_tables() -> None:
    sets = stated_sets(100)
    assert [costs.name for costs in sets] == boolean_parameter_sets()
    assert {costs.noise.failure_bits for costs in sets} == {100}
    seconds = [costs.bootstrap_seconds for costs in sets]
    assert seconds == sorted(seconds)
    for one, two, four in seconds:
        assert one <= two <= four <= 1.1 * one


def test_a_mapping_depends_on_no_measured_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    # As a cache held them after a busy minute.
    skewed = {
        "space4": [0.0259, 0.0259, 0.0259],
        "space8": [0.0196, 0.0196, 0.0196],
        "space16": [0.0382, 0.0158, 0.0158],
    }
    before = Circuit(circuits.less(8)).compile(threads=2)
    for name, seconds in skewed.items():
        cost_cache.keep_costs(tfhe._identity(name), {**MEASURED, "bootstrap": seconds})
        assert measured_set(name).bootstrap_seconds == tuple(seconds)
    for kept in (tmp_path / "cloakwork").glob("mapping-*"):
        kept.unlink()
    after = Circuit(circuits.less(8)).compile(threads=2)
    assert isinstance(before.body, BootstrapProgram)
    assert isinstance(after.body, BootstrapProgram)
    assert facts(after.body) == facts(before.body)
    assert str(after.scheme) == str(before.scheme)
