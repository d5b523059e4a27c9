"""Parts of bootstrap programs: run one after the other they are the whole."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import cloakwork as cw
from cloakwork.programs.bootstrap_parts import part_of
from tests.families import greater, mapped

PROGRAM = mapped(greater(6))


@cache
def roles() -> tuple[cw.Client, cw.Evaluator]:
    return PROGRAM.keygen()


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
def test_parts_one_after_the_other_are_the_whole(size: int) -> None:
    body: Any = PROGRAM.body
    client, evaluator = roles()
    sent = client.encrypt(a=41, b=37)
    (given,) = evaluator._values(sent, "inputs", "test")
    values: dict[int, Any] = {}
    for port, held in given.items():
        for place, signal in enumerate(body.signals_of(port).tolist()):
            values[signal] = held.select([place])
    for start in range(0, body.node_count, size):
        nodes = range(start, min(start + size, body.node_count))
        first, last = body.output_starts[nodes[0]], body.output_starts[nodes[-1] + 1]
        gives = range(body.input_count + int(first), body.input_count + int(last))
        part = part_of(body, nodes, gives)
        assert part.native.bootstraps == int(body.kinds[list(nodes)].sum())
        needed = [values[signal] for signal in part.needs.tolist()]
        run = PROGRAM.scheme.run_part(
            evaluator._key, part, needed[0].concatenate(needed[1:]), threads=1
        )
        assert set(part.nodes[run.nodes].tolist()) <= set(nodes)
        values.update(
            (signal, run.outputs[0].select([place])) for place, signal in enumerate(gives)
        )
    (whole,) = client._values(evaluator.run(sent), "outputs", "test")
    made = [values[signal].to_bytes() for signal in body.output_signals.tolist()]
    expected = [
        held.select([place]).to_bytes() for held in whole.values() for place in range(len(held))
    ]
    assert made == expected
