"""Torch's recurrent layers and cells, written out step by step.

The products of all inputs with a weight are one layer; what follows from the state before is one
for each step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cloakwork.frontends.nn.call import BATCH_FIRST, TorchCall, Value, array_of
from cloakwork.frontends.nn.known import constant, first_of_batch
from cloakwork.frontends.nn.trace import Term
from cloakwork.frontends.nn.turned import Turned
from cloakwork.programs.ir import layers as g


@dataclass(frozen=True, slots=True)
class _State:
    """What a step leaves to the next; None for zeros. Only an LSTM has a cell."""

    hidden: Term | None
    cell: Term | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Direction:
    """The weights of a layer in one direction, biases as zeros where it has none."""

    of_input: g.LinearLayer
    of_hidden: g.LinearLayer

    @property
    def size(self) -> int:
        """The numbers of a state."""
        return int(self.of_hidden.weight.shape[1])


def recurrent(call: TorchCall) -> list[Value]:
    """All states along the sequence, and the last ones of every layer and direction."""
    if "batch_sizes" in call.arguments:
        raise call.unsupported("packed sequences", "give sequences of one length")
    value, batch_first = _sequence(call)
    both = bool(call.arguments["bidirectional"])
    weights = _directions(call)
    states = _first_states(call, len(weights), value)
    last: list[_State] = []
    for layer in range(int(call.arguments["num_layers"])):
        found = []
        for way in range(1 + both):
            number = (1 + both) * layer + way
            made, state = _along(call, weights[number], value, states[number], bool(way))
            found.append(made)
            last.append(state)
        value = call.append(g.Concatenate(1), *found) if both else found[0]
    ends = [[each.hidden for each in last]]
    if call.name == "lstm":
        ends.append([each.cell for each in last])
    output = value if batch_first else Turned(value, 1, call)
    return [output, *(Turned(_stacked(call, each), 1, call) for each in ends)]


def cell(call: TorchCall) -> Term | list[Value]:
    """One step."""
    value = call.value()
    kind = call.name.removesuffix("_cell")
    given = call.arguments["hx"]
    known = [_state(call, each, value, 0) for each in (given if kind == "lstm" else [given])]
    names = ("w_ih", "w_hh", "b_ih", "b_hh")
    [direction] = _weighted([call.array(name) for name in names])
    products = call.append(direction.of_input, value)
    made = _step(call, kind, direction, products, _State(*known))
    assert made.hidden is not None
    return [made.hidden, made.cell] if made.cell is not None else made.hidden


def _sequence(call: TorchCall) -> tuple[Term, bool]:
    """The sequence, its steps behind the batch, and whether torch has it so."""
    value: Any = call.arguments["input"]
    batch_first = bool(call.arguments["batch_first"])
    if isinstance(value, Turned) and not batch_first and value.axis == 1:
        value = value.value
    elif not batch_first or isinstance(value, Turned):
        raise call.unsupported(
            "the sequence first, and the batch behind it",
            f"give it batch_first=True; {BATCH_FIRST}",
        )
    if not isinstance(value, Term) or len(call.trace.shape(value)) != 2:
        raise call.unsupported("another shape than (batch, steps, features)")
    return value, batch_first


def _directions(call: TorchCall) -> list[_Direction]:
    given = call.arguments["params"]
    each = 4 if call.arguments["has_biases"] else 2
    expected = int(call.arguments["num_layers"]) * (1 + bool(call.arguments["bidirectional"]))
    if len(given) != each * expected:
        raise call.unsupported("a projection of states", "leave proj_size out")
    if any(isinstance(weight, Term) for weight in given):
        raise call.unsupported("weights that depend on the network's input")
    arrays = [array_of(weight) for weight in given]
    return [
        direction
        for start in range(0, len(arrays), each)
        for direction in _weighted(arrays[start : start + each])
    ]


def _weighted(arrays: Sequence[g.Array | None]) -> list[_Direction]:
    of_input, of_hidden, *biases = arrays
    assert of_input is not None
    assert of_hidden is not None
    zeros = np.zeros(len(of_input))
    first, second = (zeros if each is None else each for each in (biases or (None, None)))
    return [_Direction(g.LinearLayer(of_input, first), g.LinearLayer(of_hidden, second))]


def _first_states(call: TorchCall, count: int, like: Term) -> list[_State]:
    given = call.arguments["hx"]
    parts = [_state(call, each, like, 1) for each in (given if call.name == "lstm" else [given])]

    def of(value: Term | None, number: int) -> Term | None:
        if value is None:
            return None
        size = call.trace.shape(value)[-1]
        return call.append(g.Rearrange(number * size + np.arange(size), (size,)), value)

    return [_State(*(of(each, number) for each in parts)) for number in range(count)]


def _state(call: TorchCall, given: Any, like: Term, axis: int) -> Term | None:
    """A state that is given, the batch along an axis; None for zeros."""
    if isinstance(given, Turned) and given.axis == axis and isinstance(given.value, Term):
        return given.value
    if isinstance(given, Term) and axis == 0:
        return given
    if isinstance(given, Term | Turned):
        raise call.unsupported("a state whose batch is along another axis", BATCH_FIRST)
    known = first_of_batch(call, np.moveaxis(array_of(given), axis, 0))
    return constant(call, known, like) if known.any() else None


def _along(
    call: TorchCall, direction: _Direction, value: Term, state: _State, backwards: bool
) -> tuple[Term, _State]:
    """The states of all steps in one direction, and the last of them."""
    products = call.append(direction.of_input, value)
    steps, width = call.trace.shape(products)
    order = range(steps)[::-1] if backwards else range(steps)
    found: dict[int, Term] = {}
    for step in order:
        places = step * width + np.arange(width)
        of_step = call.append(g.Rearrange(places, (width,)), products)
        state = _step(call, call.name, direction, of_step, state)
        assert state.hidden is not None
        found[step] = state.hidden
    return _stacked(call, [found[step] for step in range(steps)]), state


def _stacked(call: TorchCall, values: Sequence[Term | None]) -> Term:
    """Values of one size along a new first axis."""
    known = [value for value in values if value is not None]
    rows = [call.reshaped(value, (1, *call.trace.shape(value))) for value in known]
    return call.append(g.Concatenate(0), *rows) if len(rows) > 1 else rows[0]


def _step(
    call: TorchCall, kind: str, direction: _Direction, products: Term, state: _State
) -> _State:
    """The state after one step, the products of its input given."""
    of_hidden = None if state.hidden is None else call.append(direction.of_hidden, state.hidden)
    if kind == "gru":
        return _gated(call, direction, products, of_hidden, state.hidden)
    total = (
        _shifted(call, products, direction.of_hidden.bias)
        if of_hidden is None
        else call.trace.sum(call.layer, products, of_hidden)
    )
    if kind == "lstm":
        return _remembered(call, total, state.cell, direction.size)
    return _State(call.append(g.Activation(kind.removeprefix("rnn_")), total))


def _shifted(call: TorchCall, value: Term, bias: g.Array) -> Term:
    return call.append(g.Affine(np.ones(1), bias), value) if bias.any() else value


def _remembered(call: TorchCall, total: Term, cell: Term | None, size: int) -> _State:
    """An LSTM's: the cell forgets, takes in, and is seen through a gate."""
    gates = _part(call, total, [0, 1, 3], size)
    gates = call.append(g.Activation("sigmoid"), gates)
    taken_in, forgotten, seen = (_part(call, gates, [place], size) for place in range(3))
    new = call.append(g.Activation("tanh"), _part(call, total, [2], size))
    made = call.trace.product(call.layer, taken_in, new)
    if cell is not None:
        made = call.trace.sum(call.layer, call.trace.product(call.layer, forgotten, cell), made)
    shown = call.append(g.Activation("tanh"), made)
    return _State(call.trace.product(call.layer, seen, shown), made)


def _gated(
    call: TorchCall,
    direction: _Direction,
    products: Term,
    of_hidden: Term | None,
    hidden: Term | None,
) -> _State:
    """A GRU's: between the state before and a new one, by a gate."""
    size = direction.size
    of_gates = _part(call, products, [0, 1], size)
    if of_hidden is None:
        gates = _shifted(call, of_gates, direction.of_hidden.bias[: 2 * size])
    else:
        gates = call.trace.sum(call.layer, of_gates, _part(call, of_hidden, [0, 1], size))
    gates = call.append(g.Activation("sigmoid"), gates)
    reset, kept = (_part(call, gates, [place], size) for place in range(2))
    if of_hidden is None:
        bias = direction.of_hidden.bias[2 * size :]
        old = call.append(g.Affine(bias, np.zeros(1)), reset)
    else:
        old = call.trace.product(call.layer, reset, _part(call, of_hidden, [2], size))
    total = call.trace.sum(call.layer, _part(call, products, [2], size), old)
    new = call.append(g.Activation("tanh"), total)
    difference = call.trace.scaled(call.layer, new, -1.0, 0.0)
    if hidden is not None:
        difference = call.trace.sum(call.layer, hidden, difference)
    between = call.trace.product(call.layer, kept, difference)
    return _State(call.trace.sum(call.layer, new, between))


def _part(call: TorchCall, value: Term, parts: Sequence[int], size: int) -> Term:
    places = np.concatenate([part * size + np.arange(size) for part in parts])
    return call.append(g.Rearrange(places, (len(places),)), value)
