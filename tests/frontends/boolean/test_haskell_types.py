"""Types made of others as ports, against Python's own computation."""

from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cloakwork import boolean
from cloakwork.errors import NotBitsError, ValueOutOfRangeError
from cloakwork.frontends.boolean import Circuit
from tests.frontends.boolean.haskell_types import GEOMETRY, GRIDS, PROJECT

# Clash takes ten seconds for each function. docs/boolean.md has fewer types, in every test.
pytestmark = pytest.mark.slow

RUNS = 400
Read = Callable[[str], Circuit]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Reads a function of the project, once for all tests."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "Geometry").mkdir()
    (folder / "my project.hs").write_text(PROJECT)
    (folder / "geometry.hs").write_text(GEOMETRY)
    (folder / "Geometry" / "Grids.hs").write_text(GRIDS)
    return cache(partial(boolean.from_haskell, folder / "my project.hs"))


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def signed(numbers: NDArray[Any], width: int) -> NDArray[Any]:
    """What is left of numbers in two's complement."""
    half = 1 << width - 1
    return (numbers + half) % (1 << width) - half


def ports(program: Circuit) -> list[str]:
    return [str(port) for port in (*program.gates.inputs, *program.gates.outputs)]


def test_records_newtypes_and_constructors_are_ports_for_what_they_hold(
    read: Read, rng: np.random.Generator
) -> None:
    program = read("products")
    assert ports(program) == [
        "key: bytes, 32 bits",
        "point_across: signed, 6 bits",
        "point_up: unsigned, 5 bits",
        "corner_across: signed, 6 bits",
        "corner_up: unsigned, 5 bits",
        "sizes: 2 x unsigned, 4 bits",
        "points_across: 3 x signed, 6 bits",
        "points_up: 3 x unsigned, 5 bits",
        "pairs_0: 2 x unsigned, 4 bits",
        "pairs_1_0: 2 x unsigned, 3 bits",
        "pairs_1_1: 2 x unsigned, 1 bit",
        "x5_0: unsigned, 3 bits",
        "x5_1: unsigned, 1 bit",
        "grid_cells: 3 x unsigned, 2 bits",
        "grid_origin_0: unsigned, 6 bits",
        "grid_origin_1: 8 x unsigned, 1 bit",
        "number: unsigned, 7 bits",
        "out_0: bytes, 32 bits",
        "out_1_across: signed, 6 bits",
        "out_1_up: unsigned, 5 bits",
        "out_2_corner_across: signed, 6 bits",
        "out_2_corner_up: unsigned, 5 bits",
        "out_2_sizes: 2 x unsigned, 4 bits",
        "out_3_across: 3 x signed, 6 bits",
        "out_3_up: 3 x unsigned, 5 bits",
        "out_4_0: 2 x unsigned, 4 bits",
        "out_4_1_0: 2 x unsigned, 3 bits",
        "out_4_1_1: 2 x unsigned, 1 bit",
        "out_5_0: unsigned, 1 bit",
        "out_5_1: unsigned, 3 bits",
        "out_6_cells: 3 x unsigned, 2 bits",
        "out_6_origin_0: unsigned, 6 bits",
        "out_6_origin_1: 8 x unsigned, 1 bit",
        "out_7_number': unsigned, 7 bits",
    ]
    given: dict[str, Any] = {
        "key": rng.integers(0, 256, (RUNS, 4), dtype=np.uint8),
        "point_across": rng.integers(-32, 32, RUNS),
        "point_up": rng.integers(0, 32, RUNS),
        "corner_across": rng.integers(-32, 32, RUNS),
        "corner_up": rng.integers(0, 32, RUNS),
        "sizes": rng.integers(0, 16, (RUNS, 2)),
        "points_across": rng.integers(-32, 32, (RUNS, 3)),
        "points_up": rng.integers(0, 32, (RUNS, 3)),
        "pairs_0": rng.integers(0, 16, (RUNS, 2)),
        "pairs_1_0": rng.integers(0, 8, (RUNS, 2)),
        "pairs_1_1": rng.integers(0, 2, (RUNS, 2)),
        "x5_0": rng.integers(0, 8, RUNS),
        "x5_1": rng.integers(0, 2, RUNS),
        "grid_cells": rng.integers(0, 4, (RUNS, 3)),
        "grid_origin_0": rng.integers(0, 64, RUNS),
        "grid_origin_1": rng.integers(0, 2, (RUNS, 8)),
        "number": rng.integers(0, 128, RUNS),
    }
    wanted = {
        "out_0": given["key"][:, ::-1],
        "out_1_across": signed(given["point_across"] + 1, 6),
        "out_1_up": (given["point_up"] + 2) % 32,
        "out_2_corner_across": signed(given["corner_across"] + 1, 6),
        "out_2_corner_up": (given["corner_up"] + 2) % 32,
        "out_2_sizes": (given["sizes"] + 1) % 16,
        "out_3_across": signed(given["points_across"] + 1, 6),
        "out_3_up": (given["points_up"] + 2) % 32,
        "out_4_0": (given["pairs_0"] + given["pairs_1_0"]) % 16,
        "out_4_1_0": given["pairs_0"] % 8,
        "out_4_1_1": 1 - given["pairs_1_1"],
        "out_5_0": given["x5_1"],
        "out_5_1": (given["x5_0"] + 1) % 8,
        "out_6_cells": np.roll(given["grid_cells"], -1, axis=1),
        "out_6_origin_0": (given["grid_origin_0"] + 1) % 64,
        "out_6_origin_1": 1 - given["grid_origin_1"],
        "out_7_number'": 127 - given["number"],
    }
    found = program.run_clear(**given)
    assert {name: each.tolist() for name, each in found.items()} == {
        name: each.tolist() for name, each in wanted.items()
    }


RED, GREEN, BLUE = range(3)
CIRCLE, RECTANGLE, DOT = range(3)


def grown(shape: int, radius: int, wide: int, high: int) -> tuple[int, int, int, int]:
    """A shape that a circle or rectangle becomes; what others hold is 0."""
    if shape == CIRCLE:
        return RECTANGLE, 0, radius % 16, radius >> 3
    if shape == RECTANGLE:
        return CIRCLE, wide + high, 0, 0
    return DOT, 0, 0, 0


def test_types_of_several_constructors_have_their_number_and_what_each_holds(
    read: Read, rng: np.random.Generator
) -> None:
    program = read("sums")
    assert ports(program) == [
        "shape: unsigned, 2 bits",
        "shape_Circle_radius: unsigned, 6 bits",
        "shape_Rectangle_wide: unsigned, 4 bits",
        "shape_Rectangle_high: unsigned, 4 bits",
        "number: unsigned, 1 bit",
        "number_Just: signed, 5 bits",
        "either': unsigned, 1 bit",
        "either'_Left: unsigned, 3 bits",
        "either'_Right: unsigned, 1 bit",
        "colour: unsigned, 2 bits",
        "several: 2 x unsigned, 1 bit",
        "several_Just: 2 x unsigned, 2 bits",
        "packed: bits, 3 bits",
        "nested: unsigned, 1 bit",
        "nested_Just: unsigned, 1 bit",
        "out_0: unsigned, 2 bits",
        "out_0_Circle_radius: unsigned, 6 bits",
        "out_0_Rectangle_wide: unsigned, 4 bits",
        "out_0_Rectangle_high: unsigned, 4 bits",
        "out_1: unsigned, 1 bit",
        "out_1_Just: signed, 5 bits",
        "out_2: unsigned, 1 bit",
        "out_2_Left: unsigned, 1 bit",
        "out_2_Right: unsigned, 3 bits",
        "out_3: unsigned, 2 bits",
        "out_4: 2 x unsigned, 1 bit",
        "out_4_Just: 2 x unsigned, 2 bits",
        "out_5: bits, 3 bits",
        "out_6: unsigned, 1 bit",
        "out_6_Just: unsigned, 1 bit",
        "out_7: unsigned, 2 bits",
    ]
    shapes = rng.integers(0, 3, RUNS)
    radius, wide, high = (rng.integers(0, most, RUNS) for most in (64, 16, 16))
    is_number, number = rng.integers(0, 2, RUNS), rng.integers(-16, 16, RUNS)
    is_right, left, right = (rng.integers(0, most, RUNS) for most in (2, 8, 2))
    colour = rng.integers(0, 3, RUNS)
    are_there, several = rng.integers(0, 2, (RUNS, 2)), rng.integers(0, 4, (RUNS, 2))
    is_on, level = rng.integers(0, 2, RUNS), rng.integers(0, 4, RUNS)
    nested, inner = rng.integers(0, 2, RUNS), rng.integers(0, 2, RUNS)
    found = program.run_clear(
        shape=shapes,
        shape_Circle_radius=radius,
        shape_Rectangle_wide=wide,
        shape_Rectangle_high=high,
        number=is_number,
        number_Just=number,
        **{"either'": is_right, "either'_Left": left, "either'_Right": right},
        colour=colour,
        several=are_there,
        several_Just=several,
        # As Clash packs it: the number of the constructor above what it holds.
        packed=np.stack([level % 2, level // 2, is_on], axis=1),
        nested=nested,
        nested_Just=inner,
    )
    made = np.array([grown(*each) for each in zip(shapes, radius, wide, high, strict=True)])
    assert found["out_0"].tolist() == made[:, 0].tolist()
    assert found["out_0_Circle_radius"].tolist() == made[:, 1].tolist()
    assert found["out_0_Rectangle_wide"].tolist() == made[:, 2].tolist()
    assert found["out_0_Rectangle_high"].tolist() == made[:, 3].tolist()
    assert found["out_1"].tolist() == is_number.tolist()
    assert found["out_1_Just"].tolist() == signed(-number * is_number, 5).tolist()
    assert found["out_2"].tolist() == (1 - is_right).tolist()
    assert found["out_2_Left"].tolist() == (right * is_right).tolist()
    assert found["out_2_Right"].tolist() == (left * (1 - is_right)).tolist()
    assert found["out_3"].tolist() == ((colour + 1) % 3).tolist()
    kept = np.where(are_there, several > 0, 1)
    assert found["out_4"].tolist() == kept.tolist()
    assert found["out_4_Just"].tolist() == (np.where(are_there, several - 1, 3) * kept).tolist()
    stays = is_on * (level > 1)
    assert found["out_5"][:, 2].tolist() == stays.tolist()
    lower = found["out_5"][:, 0] + 2 * found["out_5"][:, 1].astype(int)
    # What a constructor packs that holds nothing is undefined.
    assert lower[stays == 1].tolist() == (level - 1)[stays == 1].tolist()
    assert found["out_6"].tolist() == nested.tolist()
    assert found["out_6_Just"].tolist() == (nested * inner).tolist()
    area = np.where(shapes == CIRCLE, radius, np.where(shapes == RECTANGLE, wide * high, 0))
    assert found["out_7"].tolist() == (np.sign(area - 20) + 1).tolist()


def test_numbers_of_no_constructor_are_taken_for_the_last_one(read: Read) -> None:
    names = [port.name for port in read("sums").gates.inputs if port.kind != "bits"]
    ports_of = {port.name: port for port in read("sums").gates.inputs}
    zeros: dict[str, Any] = {name: [0] * 2 if ports_of[name].shape else 0 for name in names} | {
        "packed": [0, 0, 0]
    }
    found = read("sums").run_clear(**(zeros | {"colour": 3, "shape": 3}))
    assert (found["out_3"], found["out_0"]) == (RED, DOT)


def test_numbers_with_a_fixed_point_are_given_and_returned_as_they_are(
    read: Read, rng: np.random.Generator
) -> None:
    program = read("fixed")
    assert ports(program) == [
        "x: signed, 8 bits, 4 of them after the point",
        "y: unsigned, 8 bits, 5 of them after the point",
        "several: 3 x signed, 8 bits, 6 of them after the point",
        "small: unsigned, 8 bits, 8 of them after the point",
        "large: signed, 70 bits, 30 of them after the point",
        "out_0: signed, 16 bits, 8 of them after the point",
        "out_1: unsigned, 9 bits, 5 of them after the point",
        "out_2: 3 x signed, 9 bits, 6 of them after the point",
        "out_3: signed, 71 bits, 30 of them after the point",
        "out_4: signed, 8 bits, 4 of them after the point",
    ]
    x, y = rng.integers(-128, 128, RUNS) / 16, rng.integers(0, 256, RUNS) / 32
    several = rng.integers(-128, 128, (RUNS, 3)) / 64
    small = rng.integers(0, 256, RUNS) / 256
    parts = rng.integers(-(1 << 34), 1 << 34, (RUNS, 2))
    large = [Fraction((int(high) << 35) + int(low), 1 << 30) for high, low in parts]
    found = program.run_clear(x=x, y=y, several=several, small=small, large=large)
    assert (found["out_0"] == x * x).all()
    assert (found["out_1"] == y + np.floor(small * 32) / 32).all()
    assert (found["out_2"] == 2 * several).all()
    assert found["out_3"].tolist() == [2 * number for number in large]
    # Clash's sums of one type stay within its range.
    assert (found["out_4"] == np.minimum(x + 1.5, 127 / 16)).all()


def test_real_numbers_are_rounded_to_those_of_the_port(read: Read) -> None:
    given = {"y": 0, "several": [0, 0, 0], "small": 0, "large": 0}
    assert read("fixed").run_clear(x=1.25, **given)["out_0"] == 1.5625
    assert read("fixed").run_clear(x=0.28, **given)["out_0"] == 0.25**2
    assert read("fixed").run_clear(x=[0.03125, 0.09375], **given)["out_4"].tolist() == [1.5, 1.625]
    with pytest.raises(ValueOutOfRangeError, match=r"expected -8\.0 to 7\.9375, got 8\.0"):
        read("fixed").run_clear(x=7.97, **given)


def test_numbers_of_the_machine_have_its_widths(read: Read, rng: np.random.Generator) -> None:
    a, c = rng.integers(0, 256, RUNS), rng.integers(0, 256, (RUNS, 2))
    b = rng.integers(-(1 << 15), 1 << 15, RUNS)
    found = read("machine").run_clear(a=a, b=b, c=c)
    assert (found["out_0"] == (a + 1) % 256).all()
    assert (found["out_1"] == signed(-b, 16)).all()
    assert (found["out_2"] == c[:, ::-1]).all()
    assert (found["out_3"] == a * b).all()
    assert (found["out_4_0"] == (b > 300)).all()
    assert (found["out_4_1"] == (a > 100)).all()


def test_a_type_that_holds_itself_is_refused(read: Read) -> None:
    with pytest.raises(
        NotBitsError, match=r"stands Tree, .* argument x0; it holds others of its kind"
    ):
        read("listed")
