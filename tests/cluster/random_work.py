"""Work of any shape, for hypothesis."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st

from cloakwork.cluster.work import Work
from tests.thoroughness import part

# An example takes long to draw, and many more find nothing else.
few = settings(max_examples=part(40))


@st.composite
def works(draw: st.DrawFn) -> Work:
    """Tasks that each need some values before theirs and make one or two."""
    inputs = draw(st.integers(1, 4))
    values = inputs
    needs: list[tuple[int, ...]] = []
    gives: list[tuple[int, ...]] = []
    for _ in range(draw(st.integers(1, 40))):
        # Of the last few values, most often, so that chains come about.
        near = st.integers(max(0, values - 5), values - 1)
        anywhere = st.integers(0, values - 1)
        used = draw(st.sets(st.one_of(near, anywhere), min_size=1, max_size=4))
        made = draw(st.integers(1, 2))
        needs.append(tuple(sorted(used)))
        gives.append(tuple(range(values, values + made)))
        values += made
    seconds = draw(
        st.lists(
            st.sampled_from([0.0, 1e-4, 5e-3, 0.05, 1.0]), min_size=len(needs), max_size=len(needs)
        )
    )
    sizes = draw(st.lists(st.sampled_from([0, 10**3, 10**7]), min_size=values, max_size=values))
    results = draw(st.lists(st.integers(0, values - 1), min_size=1, max_size=6))
    return Work(seconds, needs, gives, sizes, frozenset(range(inputs)), tuple(results))
