"""Measured costs, and the file that keeps them."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from cloakwork import _native
from cloakwork._native import Parameters
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.cost import cache as cost_cache
from cloakwork.plan.cost import measure as measured_cost
from cloakwork.plan.cost.measure import measured, measured_identity
from cloakwork.runtime.costs import Costs, modelled, modelled_for

PARAMETERS = Parameters(levels=4, log_n=9, insecure=True)
FLAT = Parameters(levels=0, log_n=9, insecure=True)


def cache_path(parameters: Parameters) -> Path:
    return cost_cache.cache_path(measured_identity(parameters))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on nothing may be measured."""

    def refuse(*_: object) -> dict[str, float]:
        raise AssertionError("measured again")

    monkeypatch.setattr(measured_cost, "measured_seconds", refuse)


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations take the seconds of the model, which takes none to tell."""

    def seconds(parameters: Parameters, level: int) -> dict[str, float]:
        return asdict(modelled_for(parameters).at(level))

    monkeypatch.setattr(measured_cost, "measured_seconds", seconds)
    monkeypatch.setattr(measured_cost, "seconds_beside_operations", lambda _: 11.0)


def positive(costs: Costs) -> bool:
    return all(cost > 0 for level in costs.levels for cost in asdict(level).values())


@pytest.mark.parametrize("parameters", [PARAMETERS, FLAT], ids=["levels", "flat"])
def test_every_level_has_a_price_of_every_kind(parameters: Parameters) -> None:
    costs = measured(parameters)
    assert len(costs.levels) == parameters.levels + 1
    assert positive(costs)


@pytest.mark.usefixtures("pretended")
def test_a_table_is_kept_and_read_again(request: pytest.FixtureRequest, folder: Path) -> None:
    costs = measured(PARAMETERS)
    assert cache_path(PARAMETERS).parent == folder / "cloakwork"
    assert [path.name for path in cache_path(PARAMETERS).parent.iterdir()] == [
        cache_path(PARAMETERS).name
    ]
    request.getfixturevalue("once")
    assert measured(PARAMETERS) == costs


def test_other_parameters_have_another_file() -> None:
    assert cache_path(PARAMETERS) != cache_path(FLAT)


def test_other_threads_have_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_path(PARAMETERS)
    monkeypatch.setattr(measured_cost, "threads", lambda: 77)
    assert cache_path(PARAMETERS) != before


def test_another_engine_has_another_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_path(PARAMETERS)
    built = folder / "_native.so"
    built.write_bytes(b"another build")
    monkeypatch.setattr(_native, "__file__", str(built))
    assert cache_path(PARAMETERS) != before


def rewritten(data: object) -> bytes:
    return json.dumps(data).encode()


@pytest.mark.usefixtures("pretended")
@pytest.mark.parametrize(
    "damage", ["empty", "binary", "deep", "foreign", "short", "negative", "huge"]
)
def test_a_damaged_file_is_measured_anew_and_rewritten(damage: str) -> None:
    measured(PARAMETERS)
    path = cache_path(PARAMETERS)
    kept = json.loads(path.read_text())
    rows = kept["costs"]["levels"]
    path.write_bytes(
        {
            "empty": b"",
            "binary": bytes(range(256)),
            "deep": b"[" * 100_000,
            "foreign": rewritten(kept | {"of": kept["of"] | {"parameters": "another"}}),
            "short": rewritten(kept | {"costs": {"run": 1.0, "levels": rows[:-1]}}),
            "huge": rewritten(kept | {"costs": {"run": 10**400, "levels": rows}}),
            "negative": rewritten(
                kept | {"costs": {"run": 1.0, "levels": [rows[0] | {"linear": -1}, *rows[1:]]}}
            ),
        }[damage]
    )
    damaged = path.read_bytes()
    costs = measured(PARAMETERS)
    assert positive(costs)
    assert path.read_bytes() != damaged
    assert measured(PARAMETERS) == costs


@pytest.mark.usefixtures("pretended")
def test_a_folder_that_cannot_be_written_is_no_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = folder / "file"
    blocked.write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert positive(measured(PARAMETERS))


@pytest.mark.parametrize("unusable", ["", "relative/path"])
def test_without_a_usable_variable_the_home_folder_is_taken(
    unusable: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", unusable)
    monkeypatch.setenv("HOME", str(folder))
    assert cache_path(PARAMETERS).parent == folder / ".cache" / "cloakwork"


def test_a_chain_without_levels_is_measured_operation_by_operation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pretended = {"rotation": 7.0, "hoisted_rotation": 5.0, "addition": 3.0, "encoding": 2.0}
    monkeypatch.setattr(measured_cost, "measured_seconds", lambda *_: pretended)
    monkeypatch.setattr(measured_cost, "seconds_beside_operations", lambda _: 11.0)
    costs = measured(FLAT)
    found = asdict(costs.at(0))
    assert {kind: found[kind] for kind in pretended} == pytest.approx(pretended)
    assert costs.run == 11.0


def test_a_run_is_measured_and_not_only_its_operations() -> None:
    assert measured(FLAT).run > 0


def test_the_model_is_corrected_between_the_measured_levels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limbs = [PARAMETERS.prime_count(level) for level in range(PARAMETERS.levels + 1)]
    model = modelled(limbs, PARAMETERS.key_prime_count - limbs[-1])
    factors = {0: 1.0, 1: 2.0, 2: 4.0, 4: 8.0}

    def pretended(_: Parameters, level: int) -> dict[str, float]:
        return {kind: cost * factors[level] for kind, cost in asdict(model.at(level)).items()}

    monkeypatch.setattr(measured_cost, "measured_seconds", pretended)
    found = [measured(PARAMETERS).at(level).rotation for level in range(5)]
    expected = [1.0, 2.0, 4.0, 6.0, 8.0]
    ratios = [found[level] / model.at(level).rotation for level in range(5)]
    assert ratios == pytest.approx(expected)


@pytest.mark.usefixtures("pretended")
def test_without_a_home_costs_are_measured_and_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.delenv("HOME")

    def nobody(_: int) -> None:
        raise KeyError("no such user")

    monkeypatch.setattr("pwd.getpwuid", nobody)
    monkeypatch.setattr(cost_cache, "keep_costs", lambda *_: None)
    assert positive(measured(FLAT))


def test_only_parameters_have_costs() -> None:
    with pytest.raises(InvalidArgumentError, match=r"such as session\.parameters"):
        measured(3)  # type: ignore[arg-type]
