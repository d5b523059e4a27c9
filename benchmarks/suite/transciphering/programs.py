"""The programs that decipher blocks by encrypted round keys, and compute on their words."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import cloakwork as cw
from benchmarks.suite.transciphering.cipher import (
    BYTES,
    CIPHER,
    DECIPHER,
    ROUNDS,
    Direction,
    added,
)

# The harness tells stages nothing of what it compares with: its own argument, in the environment.
INNER_PRODUCT = os.environ.get("MINI_WORKLOAD") == "1"
_BYTE, _WORD = (0, 0xFF), 1 << 16
_BLOCK = cw.vector(BYTES, bounds=_BYTE)


@dataclass(frozen=True, slots=True)
class Enciphered:
    """Blocks that are enciphered, which everybody may see.

    Args:
        blocks: The blocks.
        counters: What was enciphered and added to them; None where they were enciphered themselves.
    """

    blocks: list[bytes]
    counters: list[bytes] | None

    @property
    def direction(self) -> Direction:
        """What is done to encrypted blocks."""
        return DECIPHER if self.counters is None else CIPHER

    @property
    def ends(self) -> Iterator[tuple[bytes, bytes]]:
        """For each block what goes in, and what is added at last."""
        nothing = [bytes(BYTES)] * len(self.blocks)
        if self.counters is None:
            return zip(self.blocks, nothing, strict=True)
        return zip(self.counters, self.blocks, strict=True)


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs of one set of keys, in a row.

    Args:
        keys: Takes the round keys.
        rounds: For each block what its rounds compute.
        total: What is computed on the words of all blocks.
    """

    keys: cw.Program
    rounds: list[list[cw.Program]]
    total: cw.Program


def programs(given: Enciphered) -> Programs:
    """The programs for some blocks, which are known to the server."""
    keys = cw.circuit(keys=cw.vector(BYTES * (ROUNDS + 1), bounds=_BYTE))(_parted).compile(
        on="bits"
    )
    rounds = [_rounds(keys, given.direction, *ends) for ends in given.ends]
    names = [f"block_{number}" for number in range(len(rounds))]
    words = cw.circuit(**dict.fromkeys(names, _BLOCK))(
        _inner_product if INNER_PRODUCT else _largest
    )
    results = [cw.result(each[-1]) for each in rounds]
    total = words.compile(on="bits", after=dict(zip(names, results, strict=True)))
    *_, total = cw.together(keys, *(program for each in rounds for program in each), total)
    return programs_before(total)


def programs_before(total: cw.Program) -> Programs:
    """The programs whose results one computes on, by what it takes."""
    rounds = []
    for link in total.after:
        row = [link.program]
        while len(row) < ROUNDS:
            row.append(_taken(row[-1], "state"))
        rounds.append(row[::-1])
    return Programs(_taken(rounds[0][0], "key"), rounds, total)


def _taken(program: cw.Program, name: str) -> cw.Program:
    """The program whose result an input is."""
    return next(link.program for link in program.after if link.input == name)


def _parted(keys: Any) -> dict[str, Any]:
    """The keys of all rounds, each by itself."""
    return {
        _key(number): keys[BYTES * number : BYTES * (number + 1)] for number in range(ROUNDS + 1)
    }


def _rounds(keys: cw.Program, direction: Direction, first: bytes, last: bytes) -> list[cw.Program]:
    """The rounds of one block, each after the one before."""

    def begun(before: Any, key: Any) -> list[Any]:
        return direction.round(added(list(first), before), key)

    def gone_on(state: Any, key: Any) -> list[Any]:
        return direction.round(state, key)

    def ended(state: Any, key: Any) -> list[Any]:
        return added(direction.last(state, key), list(last))

    taken = {"before": cw.result(keys, _key(0)), "key": cw.result(keys, _key(1))}
    made = [cw.circuit(before=_BLOCK, key=_BLOCK)(begun).compile(on="bits", after=taken)]
    for number in range(2, ROUNDS + 1):
        function = ended if number == ROUNDS else gone_on
        taken = {"state": cw.result(made[-1]), "key": cw.result(keys, _key(number))}
        made.append(cw.circuit(state=_BLOCK, key=_BLOCK)(function).compile(on="bits", after=taken))
    return made


def _key(number: int) -> str:
    return f"key_{number}"


def _largest(**blocks: Any) -> Any:
    """The largest word."""
    return max(_words(blocks.values()))


def _inner_product(**blocks: Any) -> Any:
    """The inner product of the first half of all words and the other one, modulo 2^16."""
    words = _words(blocks.values())
    half = len(words) // 2
    return sum(a * b % _WORD for a, b in zip(words[:half], words[half:], strict=True)) % _WORD


def _words(blocks: Sequence[Any] | Any) -> list[Any]:
    """Words of two bytes, the higher one first."""
    return [(block[n] << 8) + block[n + 1] for block in blocks for n in range(0, BYTES, 2)]
