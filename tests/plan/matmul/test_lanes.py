import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloakwork.plan.matmul.lanes import Digit, Lanes, lane_choices, least_blocks
from cloakwork.programs.matrices import BlockLayout

LANES = Lanes(64, 4, tall=2, shares=2, wide=3)
DIGITS: list[Digit] = ["rows", "summed", "columns", "whole"]


def blocks_in_lanes(layout: BlockLayout, axis: int) -> list[int]:
    """Of each lane in use the block along an axis that it holds of the first row of lanes."""
    elements = layout.elements(np.array([0]))[0].reshape(LANES.side, -1)[0]
    index = np.unravel_index(np.maximum(elements, 0), layout.shape)[axis]
    used = LANES.tall * LANES.shares * LANES.wide
    return list(map(int, index[:used] // LANES.side))


def expected(digit: Digit) -> list[int]:
    """The block of each lane along an axis."""
    lanes = np.arange(LANES.tall * LANES.shares * LANES.wide)
    strides = {"rows": LANES.shares * LANES.wide, "summed": LANES.wide, "columns": 1}
    if digit == "whole":
        return [0] * len(lanes)
    return list(map(int, lanes // strides[digit] % LANES.size(digit)))


@pytest.mark.parametrize("rows", ["rows", "summed", "whole"])
@pytest.mark.parametrize("columns", DIGITS)
def test_a_pair_has_its_blocks_in_every_lane(rows: Digit, columns: Digit) -> None:
    if rows == columns != "whole" or (rows, columns) == ("rows", "summed"):
        return
    layout = LANES.pair(rows, columns, (40, 40))
    of_rows, of_columns = (1, 2) if layout.role == "product" else (2, 1)
    if (rows, columns) == ("rows", "columns"):
        # Shares other than the first are what sums leave.
        lanes = [lane for lane, share in enumerate(expected("summed")) if share == 0]
    else:
        lanes = list(range(len(expected("rows"))))
    for axis, digit in ((of_rows, rows), (of_columns, columns)):
        found = blocks_in_lanes(layout, axis)
        assert [found[lane] for lane in lanes] == [expected(digit)[lane] for lane in lanes]


@pytest.mark.parametrize("rows", DIGITS)
def test_operands_from_outside_are_copied_along_what_they_are_not_shared_out_by(
    rows: Digit,
) -> None:
    if rows != "columns":
        left = BlockLayout(LANES.left(rows, "whole", 1), "left", (1, 40, 5))
        assert blocks_in_lanes(left, 1) == expected(rows)
    right = BlockLayout(LANES.right("whole", rows, 1), "right", (1, 5, 40))
    assert blocks_in_lanes(right, 2) == expected(rows)


@given(st.integers(1, 300), st.integers(1, 64))
def test_parts_hold_all_blocks_without_one_too_many(blocks: int, most: int) -> None:
    found = least_blocks(blocks, most)
    least = {-(-blocks // count) for count in range(1, blocks + 1)}
    assert found == sorted(each for each in least if each <= most)


@given(*(st.integers(1, 200) for _ in range(3)), st.sampled_from([1, 2]))
def test_choices_fit_their_lanes(rows: int, inner: int, columns: int, parts: int) -> None:
    found = list(lane_choices((rows, columns), [inner], 256, parts))
    assert found
    assert len(set(found)) == len(found)
    for each in found:
        assert each.tall * each.shares * each.wide <= each.step
