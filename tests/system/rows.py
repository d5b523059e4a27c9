"""Clients and evaluators of programs in a row."""

from __future__ import annotations

import cloakwork as cw
from cloakwork.runtime.row import key_bytes_of


def row(*programs: cw.Program) -> tuple[list[cw.Client], list[cw.Evaluator]]:
    """Clients and evaluators of several programs under one key."""
    client, evaluator = programs[0].keygen()
    clients, evaluators = [client], [evaluator]
    for number, program in enumerate(programs[1:], start=1):
        clients.append(client.serving(program))
        lacking = clients[-1].evaluation_keys(*programs[:number])
        evaluators.append(evaluators[-1].serving(program, lacking))
    return clients, evaluators


def keys_are_once(*programs: cw.Program, evaluators: list[cw.Evaluator]) -> bool:
    """Whether the evaluators hold one union of keys, in which each is once."""
    held = [each._key for each in evaluators]
    return all(each is held[0] for each in held) and (
        evaluators[-1].key_bytes == key_bytes_of(programs)
    )
