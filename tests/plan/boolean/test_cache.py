"""Mappings kept in the user's cache, and damage to it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloakwork.base.record import record_of
from cloakwork.plan.boolean import cache as mapping_cache
from cloakwork.plan.boolean import map as boolean_mapping
from cloakwork.plan.boolean.cache import KIND, cached_mapping
from cloakwork.plan.boolean.map import MappedProgram, map_gates
from cloakwork.plan.boolean.parts import map_parts
from cloakwork.programs.bootstraps import EIGHTH, QUARTER, BootstrapBuilder, BootstrapProgram
from cloakwork.runtime import container
from tests.plan.boolean import circuits
from tests.plan.cost.published import published_costs
from tests.programs.bootstrap_facts import facts

SETS = [published_costs()]
GATES = circuits.adder(4)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[MappedProgram]:
    """What was mapped anew, in a cache folder that is empty at first."""
    found: list[MappedProgram] = []

    def noted(*arguments: Any) -> MappedProgram:
        found.append(map_parts(*arguments))
        return found[-1]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(mapping_cache, "map_parts", noted)
    return found


def test_a_program_is_mapped_once(made: list[MappedProgram]) -> None:
    first, again = (cached_mapping(GATES, SETS, 2) for _ in range(2))
    assert len(made) == 1
    assert facts(again.program) == facts(first.program)
    assert (again.costs, again.threads) == (first.costs, 2)
    assert (again.seconds, again.failure) == (first.seconds, first.failure)


def test_other_programs_sets_and_threads_are_mapped_anew(made: list[MappedProgram]) -> None:
    cached_mapping(GATES, SETS, 1)
    cached_mapping(GATES, SETS, 2)
    cached_mapping(circuits.adder(5), SETS, 1)
    cached_mapping(GATES, SETS * 2, 1)
    assert [mapped.threads for mapped in made] == [1, 2, 1, 1]


def test_what_is_damaged_is_mapped_anew(made: list[MappedProgram], tmp_path: Path) -> None:
    cached_mapping(GATES, SETS, 1)
    (path,) = (tmp_path / "cloakwork").iterdir()
    data = path.read_bytes()
    rng = np.random.default_rng(3)
    damaged = [b"", b"\0", data[:-1], b"other" + data, data.partition(b"\0")[0]]
    for _ in range(30):
        place = int(rng.integers(len(data)))
        damaged.append(data[:place] + bytes([data[place] ^ 0x55]) + data[place + 1 :])
    known = 1
    for each in damaged:
        path.write_bytes(each)
        mapped = cached_mapping(GATES, SETS, 1)
        assert facts(mapped.program) == facts(made[0].program)
        # Times and systems of zip members say nothing of the program.
        assert path.read_bytes() == (data if len(made) > known else each)
        known = len(made)
    assert known > 1 + 5 + 15


def poisoned(made: MappedProgram, outputs: list[int]) -> BootstrapProgram:
    """The program of another circuit: each bit of the output another, 0 or 1 whatever goes in."""
    builder = BootstrapBuilder(made.program.title, made.program.inputs)
    (port,) = made.program.outputs
    first = builder.input(0, EIGHTH)
    (constant,) = builder.bootstrap([(first, 2)], 0, 2, [(-EIGHTH, -EIGHTH)], [EIGHTH])
    (bit,) = builder.bootstrap([(first, 2)], 0, 2, [(-EIGHTH, EIGHTH)], [EIGHTH])
    builder.output(port, [(constant, bit)[each] for each in outputs], [QUARTER] * port.bits)
    return builder.finish()


@pytest.mark.parametrize("outputs", [[0] * 5, [1] * 5])
def test_what_computes_something_else_is_mapped_anew(
    made: list[MappedProgram], tmp_path: Path, outputs: list[int]
) -> None:
    cached_mapping(GATES, SETS, 1)
    (path,) = (tmp_path / "cloakwork").iterdir()
    data = path.read_bytes()
    program = poisoned(made[0], outputs)
    container.write(path, KIND, {"name": made[0].costs.name, "program": record_of(program)})
    again = cached_mapping(GATES, SETS, 1)
    assert len(made) == 2
    assert facts(again.program) == facts(made[0].program)
    assert path.read_bytes() == data


def test_a_cache_that_cannot_be_written_is_done_without(
    made: list[MappedProgram], tmp_path: Path
) -> None:
    (tmp_path / "cloakwork").write_text("no folder")
    for _ in range(2):
        cached_mapping(GATES, SETS, 1)
    assert len(made) == 2


@pytest.mark.parametrize("sets", [SETS, SETS * 2])
def test_the_bar_ends_full(sets: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    class Bar:
        def __init__(self, title: str, *, total: int, unit: str) -> None:
            self.left = total

        def __enter__(self) -> "Bar":
            return self

        def __exit__(self, *_: object) -> None:
            assert self.left == 0

        def update(self, steps: int = 1) -> None:
            self.left -= steps

    monkeypatch.setattr(boolean_mapping, "progress_bar", Bar)
    map_gates(GATES, sets, 1)
