import numpy as np

from cloakwork.explain.figures.slots import slot_elements
from cloakwork.explain.picture import picture
from cloakwork.programs.matrices import GARBAGE, BlockLayout, Blocks

BLOCKS = Blocks(16, side=4, tall=2, wide=2)


def test_blocks_are_drawn_by_their_slots() -> None:
    lines = picture(BlockLayout(BLOCKS, "product", (1, 8, 8)))
    assert lines == [
        "[################]  4 ciphertexts of 16 slots, all in use",
        "slot 0:[0,0] 1:[0,4] 2:[4,0] 3:[4,4] 4:[1,1] 5:[1,5] ...",
    ]


def test_slots_without_an_element_are_told() -> None:
    lines = picture(BlockLayout(BLOCKS, "left", (2, 3, 1)))
    assert lines[0] == "[##..##..##......]  2 ciphertexts of 16 slots, 6 in use, the rest zero"
    assert lines[1] == "slot 0:[0,0,0] 1:[0,0,0] 2:- 3:- 4:[0,1,0] 5:[0,1,0] ..."


def test_images_have_copies_and_garbage() -> None:
    held, copies = slot_elements(BlockLayout(BLOCKS, "left", (1, 8, 1)), 1)
    assert held[0, :4].tolist() == [0, 0, 4, 4]
    assert copies[0, :4].tolist() == [False, True, False, True]
    shared = Blocks(16, side=4, shares=2, wide=2)
    held, copies = slot_elements(BlockLayout(shared, "product", (1, 4, 8)), 2)
    assert held[0, :4].tolist() == [0, 4, GARBAGE, GARBAGE]
    assert not copies.any()
    assert held.shape == copies.shape == (2, 16)
    assert np.issubdtype(held.dtype, np.integer)
