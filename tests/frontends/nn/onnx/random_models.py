"""Random ONNX models of operators that keep shapes or reduce them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator
from onnx import ModelProto, helper, numpy_helper

_SMOOTH = "Tanh", "Sigmoid", "Relu", "Softplus", "Erf", "HardSwish", "Identity"
_OF_TWO = "Add", "Sub", "Mul", "Max", "Min"


def random_model(rng: Generator) -> tuple[ModelProto, list[Any]]:
    """A model of a dozen nodes, each on values before it, and inputs of it."""
    batch, rows, width = 2, int(rng.integers(2, 5)), int(rng.integers(2, 6))
    shape = (batch, rows, width)
    values = ["x", "z"]
    nodes, known = [], []
    for place in range(12):
        made = f"v{place}"
        source, other = (str(each) for each in rng.choice(values, 2))
        match int(rng.integers(6)):
            case 0:
                nodes.append(helper.make_node(str(rng.choice(_SMOOTH)), [source], [made]))
            case 1:
                nodes.append(helper.make_node(str(rng.choice(_OF_TWO)), [source, other], [made]))
            case 2:
                weight = rng.normal(size=(width, width)).astype(np.float32) / width
                known.append(numpy_helper.from_array(weight, f"w{place}"))
                nodes.append(helper.make_node("MatMul", [source, f"w{place}"], [made]))
            case 3:
                nodes += _through_shape(source, made)
            case 4:
                nodes.append(helper.make_node("Softmax", [source], [made], axis=-1))
            case _:
                nodes += _turned(source, made)
        values.append(made)
    graph = helper.make_graph(
        nodes,
        "random",
        [helper.make_tensor_value_info(name, 1, shape) for name in ("x", "z")],
        [helper.make_tensor_value_info(values[-1], 1, None)],
        known,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return model, [rng.uniform(-1, 1, shape).astype(np.float32) for _ in range(2)]


def _through_shape(source: str, made: str) -> list[Any]:
    """A reshape to the shape that a value has, worked out by nodes."""
    parts = [f"{made}_{name}" for name in ("shape", "flat")]
    ends = helper.make_node(
        "Constant", [], [f"{made}_one"], value=numpy_helper.from_array(np.array([0, -1]))
    )
    return [
        helper.make_node("Shape", [source], [parts[0]]),
        ends,
        helper.make_node("Reshape", [source, f"{made}_one"], [parts[1]]),
        helper.make_node("Reshape", [parts[1], parts[0]], [made]),
    ]


def _turned(source: str, made: str) -> list[Any]:
    """The last two axes swapped, an activation, and swapped back."""
    return [
        helper.make_node("Transpose", [source], [f"{made}_t"], perm=[0, 2, 1]),
        helper.make_node("Tanh", [f"{made}_t"], [f"{made}_a"]),
        helper.make_node("Transpose", [f"{made}_a"], [made], perm=[0, 2, 1]),
    ]
