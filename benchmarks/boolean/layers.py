"""A bootstrap program run layer by layer: the next one begins when all of this one is done."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork import _native
from cloakwork._native import BooleanCiphertexts, BooleanEvaluationKey
from cloakwork.errors import InvalidArgumentError
from cloakwork.plan.cost.tfhe import BitCosts, node_seconds
from cloakwork.programs.bootstraps import BOOTSTRAP, BootstrapProgram


@dataclass(frozen=True, slots=True)
class Layer:
    """The nodes of one level as a program of its own.

    Args:
        program: The program.
        operands: Which of the ciphertexts that are there it takes.
        kept: Which of them and its outputs, one after the other, are there afterwards.
    """

    program: _native.BootstrapProgram
    operands: list[int]
    kept: list[int]


@dataclass(frozen=True, slots=True)
class Layers:
    """The layers of a program, and which of the last ciphertexts are its outputs."""

    layers: tuple[Layer, ...]
    outputs: list[int]

    def run(
        self, key: BooleanEvaluationKey, inputs: BooleanCiphertexts, threads: int
    ) -> BooleanCiphertexts:
        """Run them one after the other."""
        there = inputs
        for layer in self.layers:
            made = key.run(layer.program, there.select(layer.operands), threads=threads)
            there = there.concatenate([made]).select(layer.kept)
        return there.select(self.outputs)


def layers_of(program: BootstrapProgram) -> Layers:
    """Cut a program into layers."""
    return _Cutter(program).cut()


def layered_seconds(program: BootstrapProgram, costs: BitCosts, threads: int) -> float:
    """Seconds when all bootstraps of one level are done before any of the next begins.

    Linear nodes are done with the bootstraps whose outputs they use, spread over the threads.

    Args:
        program: The program.
        costs: What its nodes cost.
        threads: Threads, 1 or more.

    Raises:
        InvalidArgumentError: There are no threads.
    """
    if threads < 1:
        raise InvalidArgumentError(
            f"cannot predict the time of a program: expected 1 thread or more, got {threads}"
        )
    seconds = node_seconds(program, costs)
    layers: dict[int, list[float]] = {}
    sums: dict[int, float] = {}
    for kind, level, cost in zip(
        program.kinds.tolist(), program.levels.tolist(), seconds, strict=True
    ):
        if kind == BOOTSTRAP:
            layers.setdefault(level, []).append(cost)
        else:
            sums[level] = sums.get(level, 0.0) + cost
    total = sum(sums.values()) / threads
    for of_level in layers.values():
        of_level.sort(reverse=True)
        # Equal or nearly equal costs: the first of every round is the longest.
        total += sum(of_level[::threads])
    return total


class _Cutter:
    def __init__(self, program: BootstrapProgram) -> None:
        self._program = program
        self._starts = program.term_starts.tolist()
        self._signals: list[int] = program.term_signals.tolist()
        self._made = (program.output_starts.astype(np.int64) + program.input_count).tolist()
        self._leaving: list[int] = program.output_signals.tolist()
        self._last_level = self._last_levels()

    def cut(self) -> Layers:
        there = list(range(self._program.input_count))
        layers = []
        for level, nodes in self._by_level():
            made = [
                signal
                for node in nodes
                for signal in self._made_by(node)
                if self._last_level.get(signal, -1) > level
            ]
            own = {signal for node in nodes for signal in self._made_by(node)}
            used = {signal for node in nodes for signal in self._used_by(node)}
            operands = sorted(used - own)
            place = {signal: number for number, signal in enumerate(there + made)}
            after = [signal for signal in place if self._last_level.get(signal, -1) > level]
            layers.append(
                Layer(
                    self._part(nodes, operands, made),
                    [place[signal] for signal in operands],
                    [place[signal] for signal in after],
                )
            )
            there = after
        place = {signal: number for number, signal in enumerate(there)}
        return Layers(tuple(layers), [place[signal] for signal in self._leaving])

    def _by_level(self) -> Iterator[tuple[int, list[int]]]:
        nodes: dict[int, list[int]] = {}
        for node, level in enumerate(self._program.levels.tolist()):
            nodes.setdefault(level, []).append(node)
        yield from sorted(nodes.items())

    def _last_levels(self) -> dict[int, float]:
        """For every signal that is used the last level that uses it; never, where it leaves."""
        last: dict[int, float] = {}
        for node, level in enumerate(self._program.levels.tolist()):
            for signal in self._used_by(node):
                last[signal] = max(level, last.get(signal, -1))
        return last | dict.fromkeys(self._leaving, np.inf)

    def _used_by(self, node: int) -> list[int]:
        return self._signals[self._starts[node] : self._starts[node + 1]]

    def _made_by(self, node: int) -> range:
        return range(self._made[node], self._made[node + 1])

    def _part(
        self, nodes: list[int], operands: list[int], made: list[int]
    ) -> _native.BootstrapProgram:
        whole, chosen = self._program, np.array(nodes, dtype=np.int64)
        number = {signal: place for place, signal in enumerate(operands)}
        for node in nodes:
            for signal in self._made_by(node):
                number[signal] = len(number)
        terms = _places(whole.term_starts, chosen)
        return _native.BootstrapProgram(
            inputs=len(operands),
            kinds=whole.kinds[chosen],
            term_starts=_starts(whole.term_starts, chosen),
            term_signals=np.array(
                [number[signal] for signal in whole.term_signals[terms].tolist()], dtype=np.uint32
            ),
            term_weights=whole.term_weights[terms],
            constants=whole.constants[chosen],
            message_bits=whole.message_bits[chosen],
            output_starts=_starts(whole.output_starts, chosen),
            tables=whole.tables[_places(whole.table_starts, chosen)],
            output_constants=whole.output_constants[_places(whole.output_starts, chosen)],
            output_signals=np.array([number[signal] for signal in made], dtype=np.uint32),
        )


def _starts(starts: NDArray[np.uint32], nodes: NDArray[np.int64]) -> NDArray[np.uint32]:
    """Where what these nodes have begins, once theirs alone is there."""
    counts = np.diff(starts.astype(np.int64))[nodes]
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.uint32)


def _places(starts: NDArray[Any], nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where what these nodes have stands."""
    return np.concatenate(
        [np.arange(starts[node], starts[node + 1], dtype=np.int64) for node in nodes]
    )
