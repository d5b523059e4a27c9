"""Which grains of a job are to be done, by the files of an earlier attempt that are there."""

from __future__ import annotations

from collections.abc import Container, Sequence

from cloakwork.cluster.cut import Cut
from cloakwork.cluster.job import Order


def needed_grains(made: Cut, orders: Sequence[Order], present: Container[str]) -> dict[int, bool]:
    """The places of the grains that missing results take, and whether files hold what each makes.

    Those whose files are there need no other grains.

    Args:
        made: The cut.
        orders: The order for every grain.
        present: The names of the files that there are.
    """
    left = [
        place
        for place, each in enumerate(orders)
        if each.grain.results and each.results_file not in present
    ]
    needed: dict[int, bool] = {}
    while left:
        place = left.pop()
        if place not in needed:
            needed[place] = orders[place].is_done(present)
            if not needed[place]:
                left += [maker for maker, _ in made.grains[place].needs]
    return dict(sorted(needed.items()))
