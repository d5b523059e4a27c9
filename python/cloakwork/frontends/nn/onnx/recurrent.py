"""ONNX's recurrent layers, by those of torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch

from cloakwork.frontends.nn.onnx.onnx_call import OnnxCall

# In which order torch has the parts of weights that ONNX has as i o f c, z r h, and one.
_PARTS: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}
)
_USUAL: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
)


def _recurrent(call: OnnxCall) -> tuple[torch.Tensor, ...]:
    """All states, and the last ones, with the batch where ONNX has it."""
    both = _is_bidirectional(call)
    function = _function(call)
    size = call.attribute("hidden_size")
    by_time = not call.attribute("layout", 0)
    value = call.tensor(0).transpose(0, 1) if by_time else call.tensor(0)
    directions = 1 + both
    first = [_first_state(call, place, value, (directions, size)) for place in _states(call)]
    begun = (first,) if call.operator == "LSTM" else (first[0],)
    options = (True, 1, 0.0, False, both, True)
    states, *last = function(value, *begun, _weights(call, directions), *options)
    apart = states.unflatten(2, (directions, size))
    if by_time:
        return (apart.permute(1, 2, 0, 3), *last)[: call.outputs]
    return (apart, *(each.transpose(0, 1) for each in last))[: call.outputs]


def _states(call: OnnxCall) -> tuple[int, ...]:
    return (5, 6) if call.operator == "LSTM" else (5,)


def _is_bidirectional(call: OnnxCall) -> bool:
    direction = call.attribute("direction", "forward")
    if direction == "reverse":
        raise call.unsupported("direction 'reverse'", "turn the sequence around before and after")
    if call.has(4) and any(call.known(4) != _time(call)):
        raise call.unsupported("sequences of several lengths", "give sequences of one length")
    if call.has(7):
        raise call.unsupported("peepholes", "leave them out and train it again")
    return bool(direction == "bidirectional")


def _time(call: OnnxCall) -> int:
    return call.tensor(0).shape[1 if call.attribute("layout", 0) else 0]


def _function(call: OnnxCall) -> Callable[..., Any]:
    """Torch's function of the layer, whose activations are the usual ones."""
    if call.operator == "GRU" and not call.attribute("linear_before_reset", 0):
        raise call.unsupported("linear_before_reset=0", "export it with 1, as torch's GRU has it")
    if call.attribute("clip") is not None or call.attribute("input_forget", 0):
        raise call.unsupported("clip or input_forget", "leave them out and train it again")
    usual = _USUAL[call.operator]
    given = tuple(call.attribute("activations", usual))[: len(usual)]
    functions: dict[str, Callable[..., Any]] = {
        "LSTM": torch.lstm,
        "GRU": torch.gru,
        "RNN": torch.rnn_tanh,
    }
    if call.operator == "RNN" and given == ("Relu",):
        functions["RNN"] = torch.rnn_relu
        given = usual
    if given != usual:
        raise call.unsupported(f"activations {', '.join(given)}", f"use {', '.join(usual)}")
    return functions[call.operator]


def _first_state(
    call: OnnxCall, place: int, value: torch.Tensor, shape: tuple[int, int]
) -> torch.Tensor:
    if not call.has(place):
        directions, size = shape
        return torch.zeros(directions, len(value), size, dtype=value.dtype)
    state = call.tensor(place)
    return state.transpose(0, 1) if call.attribute("layout", 0) else state


def _weights(call: OnnxCall, directions: int) -> list[torch.Tensor]:
    """For each direction the weights of the input and the state, and their biases."""
    found = []
    parts = _PARTS[call.operator]
    for direction in range(directions):
        for place in (1, 2):
            found.append(_ordered(call.tensor(place)[direction], parts))
        if call.has(3):
            biases = torch.chunk(call.tensor(3)[direction], 2)
            found += [_ordered(each, parts) for each in biases]
        else:
            rows = len(found[-1])
            found += [torch.zeros(rows, dtype=found[-1].dtype)] * 2
    return found


def _ordered(weight: torch.Tensor, parts: Sequence[int]) -> torch.Tensor:
    chunks = torch.chunk(weight, len(parts))
    return torch.cat([chunks[part] for part in parts])


OPERATORS: Mapping[str, Callable[[OnnxCall], Any]] = MappingProxyType(
    dict.fromkeys(_PARTS, _recurrent)
)
