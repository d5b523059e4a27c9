"""What is re-encoded where no AND can be done."""

import pytest

from cloakwork.plan.boolean.cover_state import Progress
from cloakwork.plan.boolean.planes import Planes
from cloakwork.plan.boolean.reencode import Reencodings
from cloakwork.plan.boolean.xag import XorAndGraph


@pytest.mark.parametrize(("slack", "made"), [(0.0, 1), (3.0, 1), (4.0, 2)])
def test_a_pair_is_re_encoded_where_neither_comes_late_for_it(slack: float, made: int) -> None:
    network = XorAndGraph(8)
    bits = network.inputs()
    late, early, with_late, with_early = map(network.land, bits[::2], bits[1::2])
    both = network.xor(late, early)
    waiting = [network.land(late, with_late), network.land(early, with_early)]
    network.outputs = [*waiting, both]
    progress = Progress(Planes(network), slack)
    for literal, level in ((late, 5), (with_late, 5), (early, 1), (with_early, 1)):
        progress.level[literal >> 1] = level
    reencodings = Reencodings(progress, 2)
    progress.quarter[both >> 1] = 5
    reencodings.note(both >> 1)
    step = reencodings.choose(literal >> 1 for literal in waiting)
    assert len(step.makes) == made
    assert (step.x == both >> 1) == (made == 2)
