"""Nodes of every ONNX operator that is taken, with operands of random shapes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from onnx import ModelProto, ValueInfoProto, helper, numpy_helper

Array = NDArray[Any]


@dataclass(frozen=True)
class Case:
    """A node: its operands, those that are inputs of the network first, and its attributes."""

    inputs: list[Array]
    known: list[Array | None] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1


def model_of(operator: str, case: Case, opset: int) -> ModelProto:
    """A model of one node."""
    given = [f"x{place}" for place in range(len(case.inputs))]
    known = ["" if each is None else f"k{place}" for place, each in enumerate(case.known)]
    made = [f"y{place}" for place in range(case.outputs)]
    node = helper.make_node(operator, [*given, *known], made, "the node", **case.attributes)
    graph = helper.make_graph(
        [node],
        "one",
        [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape
            )
            for name, each in zip(given, case.inputs, strict=True)
        ],
        [ValueInfoProto(name=name) for name in made],
        [
            numpy_helper.from_array(each, name)
            for name, each in zip(known, case.known, strict=True)
            if each is not None
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _real(rng: Generator, *shape: int) -> Array:
    return rng.uniform(-1, 1, shape).astype(np.float32)


def _positive(rng: Generator, *shape: int) -> Array:
    return rng.uniform(0.5, 2, shape).astype(np.float32)


def _shape(rng: Generator, axes: int) -> tuple[int, ...]:
    return tuple(int(each) for each in rng.integers(1, 5, axes))


def _whole(*numbers: int) -> Array:
    return np.array(numbers, np.int64)


def _of_one(rng: Generator) -> Case:
    return Case([_real(rng, *_shape(rng, 3))])


def _of_positive(rng: Generator) -> Case:
    return Case([_positive(rng, *_shape(rng, 3))])


def _with(**attributes: Any) -> Callable[[Generator], Case]:
    return lambda rng: Case([_real(rng, *_shape(rng, 3))], attributes=attributes)


def _of_two(rng: Generator) -> Case:
    shape = _shape(rng, 3)
    return Case([_real(rng, *shape)], [_positive(rng, *shape[1:])])


def _of_several(rng: Generator) -> Case:
    shape = _shape(rng, 3)
    return Case([_real(rng, *shape), _real(rng, *shape)], [_real(rng, 1, *shape[1:])])


def _truths(rng: Generator) -> Case:
    return Case([rng.uniform(size=(2, 3)) > 0.5, rng.uniform(size=(2, 3)) > 0.5])


def _chosen(rng: Generator) -> Case:
    return Case([rng.uniform(size=(2, 3)) > 0.5, _real(rng, 2, 3)], [_real(rng, 3)])


def _reduced(rng: Generator) -> Case:
    return Case(
        [_positive(rng, *_shape(rng, 3))],
        [_whole(*rng.permutation([0, 1, -1])[: rng.integers(1, 3)])],
        {"keepdims": int(rng.integers(2))},
    )


def _reduced_by_attribute(rng: Generator) -> Case:
    axes = [int(axis) for axis in rng.permutation([0, 1, -1])[: rng.integers(1, 3)]]
    return Case([_positive(rng, *_shape(rng, 3))], [], {"axes": axes})


def _convolution(rng: Generator) -> Case:
    axes, groups = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    kernel = _shape(rng, axes)
    return Case(
        [_real(rng, 2, 2 * groups, *rng.integers(6, 9, axes))],
        [_real(rng, 3 * groups, 2, *kernel), _real(rng, 3 * groups)],
        {
            "group": groups,
            "strides": [int(each) for each in rng.integers(1, 3, axes)],
            "pads": [int(each) for each in rng.integers(0, 3, 2 * axes)],
        },
    )


def _padded_convolution(rng: Generator) -> Case:
    side = str(rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"]))
    return Case(
        [_real(rng, 2, 3, 7, 6)],
        [_real(rng, 4, 3, *_shape(rng, 2))],
        {"auto_pad": side, "strides": [2, 1]},
    )


def _transposed_convolution(rng: Generator) -> Case:
    kernel = [int(each) for each in rng.integers(2, 5, 2)]
    return Case(
        [_real(rng, 2, 4, 3, 5)],
        [_real(rng, 4, 3, *kernel), _real(rng, 6)],
        {
            "group": 2,
            "strides": [2, 3],
            "output_padding": [1, 0],
            "pads": [int(each) for each in rng.integers(0, 2, 4)],
        },
    )


def _pool(rng: Generator) -> Case:
    kernel = [int(each) for each in rng.integers(2, 4, 2)]
    return Case(
        [_real(rng, 2, 3, 7, 8)],
        [],
        {
            "kernel_shape": kernel,
            "strides": [1, 2],
            "pads": [1, 0, 1, 0],
            "ceil_mode": int(rng.integers(2)),
        },
    )


def _uneven_pool(rng: Generator) -> Case:
    return Case(
        [_real(rng, 2, 3, 7, 8)],
        [],
        {
            "kernel_shape": [3, 3],
            "pads": [1, 0, 2, 1],
            "count_include_pad": int(rng.integers(2)),
        },
    )


def _image(rng: Generator) -> Case:
    return Case([_real(rng, 2, 3, 4, 5)])


def _resized(rng: Generator) -> Case:
    mode = str(rng.choice(["nearest", "linear", "cubic"]))
    lined_up = "align_corners" if mode != "nearest" else "asymmetric"
    place = str(rng.choice(["half_pixel", "pytorch_half_pixel", lined_up]))
    return Case(
        [_real(rng, 2, 3, 4, 5)],
        [None, np.array([1, 1, 2, 1.6], np.float32)],
        {"mode": mode, "coordinate_transformation_mode": place},
    )


def _sized(rng: Generator) -> Case:
    return Case([_real(rng, 2, 3, 4, 5)], [None, None, _whole(2, 3, 7, 3)], {"mode": "linear"})


def _norm(*names: str) -> Callable[[Generator], Case]:
    def case(rng: Generator) -> Case:
        known: list[Array | None] = [
            _positive(rng, 4) if name in {"scale", "variance"} else _real(rng, 4) for name in names
        ]
        return Case([_real(rng, 2, 4, 3)], known)

    return case


def _last_norm(rng: Generator) -> Case:
    return Case([_real(rng, 2, 3, 4)], [_positive(rng, 4), _real(rng, 4)])


def _root_norm(rng: Generator) -> Case:
    return Case([_real(rng, 2, 3, 4)], [_positive(rng, 3, 4)], {"axis": 1})


def _group_norm(rng: Generator) -> Case:
    return Case([_real(rng, 2, 4, 3)], [_positive(rng, 4), _real(rng, 4)], {"num_groups": 2})


def _gemm(rng: Generator) -> Case:
    rows, inner, columns = _shape(rng, 3)
    turned = int(rng.integers(2))
    weight = (columns, inner) if turned else (inner, columns)
    return Case(
        [_real(rng, rows, inner)],
        [_real(rng, *weight), _real(rng, columns)],
        {"transB": turned, "alpha": float(rng.choice([1.0, 0.5])), "beta": 2.0},
    )


def _matmul(rng: Generator) -> Case:
    rows, inner, columns = _shape(rng, 3)
    return Case([_real(rng, 2, rows, inner)], [_real(rng, inner, columns)])


def _einsum(rng: Generator) -> Case:
    return Case([_real(rng, 2, 3, 4), _real(rng, 2, 4, 5)], [], {"equation": "bij,bjk->bki"})


def _recurrent(parts: int, **attributes: Any) -> Callable[[Generator], Case]:
    def case(rng: Generator) -> Case:
        both, size = int(rng.integers(2)), 3
        ways = 1 + both
        return Case(
            [_real(rng, 4, 2, 5)],
            [
                _real(rng, ways, parts * size, 5),
                _real(rng, ways, parts * size, size),
                _real(rng, ways, 2 * parts * size),
            ],
            {
                "hidden_size": size,
                "direction": "bidirectional" if both else "forward",
                **attributes,
            },
            outputs=3 if parts == 4 else 2,
        )

    return case


def _sliced(rng: Generator) -> Case:
    start, end = int(rng.integers(0, 3)), int(rng.integers(3, 9))
    return Case(
        [_real(rng, 2, 6, 5)],
        [_whole(start, -1), _whole(end, -9), _whole(1, -1), _whole(2, -1)],
    )


def _padded(rng: Generator) -> Case:
    mode = str(rng.choice(["constant", "reflect", "edge"]))
    pads = _whole(0, *rng.integers(0, 3, 2), 0, *rng.integers(0, 3, 2))
    return Case([_real(rng, 2, 4, 5)], [pads, np.array(0.5, np.float32)], {"mode": mode})


CASES: Mapping[str, Callable[[Generator], Case]] = {
    **dict.fromkeys(
        (
            *("Abs", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid"),
            *("HardSwish", "Identity", "LeakyRelu", "Mish", "Neg", "Reciprocal", "Relu"),
            *("Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Tanh"),
            *("Dropout", "GlobalAveragePool", "GlobalMaxPool", "LogSoftmax", "Softmax"),
            *("Flatten", "Transpose", "ThresholdedRelu", "LpNormalization"),
        ),
        _of_one,
    ),
    **dict.fromkeys(("Log", "Sqrt"), _of_positive),
    **dict.fromkeys(("Add", "Div", "Mul", "Sub", "Equal", "PRelu"), _of_two),
    **dict.fromkeys(("Greater", "GreaterOrEqual", "Less", "LessOrEqual"), _of_two),
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), _of_several),
    **dict.fromkeys(("And", "Or"), _truths),
    **dict.fromkeys(
        (
            *("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax"),
            *("ReduceMean", "ReduceMin", "ReduceSum", "ReduceSumSquare"),
        ),
        _reduced,
    ),
    "AveragePool": _pool,
    "BatchNormalization": _norm("scale", "bias", "mean", "variance"),
    "Cast": _with(to=1),
    "CastLike": lambda rng: Case([_real(rng, 2, 3)], [np.zeros((), np.float32)]),
    "Clip": lambda rng: Case(
        [_real(rng, 2, 9)], [np.array(-0.5, np.float32), np.array(0.25, np.float32)]
    ),
    "Concat": lambda rng: Case([_real(rng, 2, 3)], [_real(rng, 2, 4)], {"axis": -1}),
    "Conv": _convolution,
    "ConvTranspose": _transposed_convolution,
    "DepthToSpace": lambda rng: Case(
        [_real(rng, 2, 8, 3, 2)], [], {"blocksize": 2, "mode": str(rng.choice(["CRD", "DCR"]))}
    ),
    "Einsum": _einsum,
    "Expand": lambda rng: Case([_real(rng, 2, 3, 1)], [_whole(3, 4)]),
    "GRU": _recurrent(3, linear_before_reset=1),
    "Gather": lambda rng: Case(
        [_real(rng, 2, 5, 3)], [rng.integers(-5, 5, _shape(rng, 2))], {"axis": 1}
    ),
    "GatherElements": lambda rng: Case(
        [_real(rng, 2, 5, 3)], [rng.integers(-3, 3, (2, 5, 4))], {"axis": -1}
    ),
    "Gelu": lambda rng: Case(
        [_real(rng, 2, 3)], [], {"approximate": str(rng.choice(["none", "tanh"]))}
    ),
    "Gemm": _gemm,
    "GroupNormalization": _group_norm,
    "InstanceNormalization": _norm("scale", "bias"),
    "LSTM": _recurrent(4),
    "LayerNormalization": _last_norm,
    "MatMul": _matmul,
    "MaxPool": _pool,
    "Mod": lambda rng: Case([rng.integers(-9, 9, (2, 3))], [_whole(4, 5, 3)]),
    "Not": lambda rng: Case([rng.uniform(size=(2, 3)) > 0.5]),
    "Pad": _padded,
    "Pow": lambda rng: Case([_positive(rng, 2, 3)], [np.array(rng.integers(-1, 4), np.float32)]),
    "RMSNormalization": _root_norm,
    "RNN": _recurrent(1),
    "Reshape": lambda rng: Case([_real(rng, 2, 3, 4)], [_whole(0, -1, 2)]),
    "Resize": _resized,
    "Slice": _sliced,
    "SpaceToDepth": lambda rng: Case([_real(rng, 2, 3, 4, 6)], [], {"blocksize": 2}),
    "Split": lambda rng: Case([_real(rng, 2, 6, 3)], [_whole(1, 5)], {"axis": 1}, outputs=2),
    "Squeeze": lambda rng: Case([_real(rng, 2, 1, 3, 1)], [_whole(1, -1)]),
    "Tile": lambda rng: Case([_real(rng, 2, 3)], [_whole(1, 3)]),
    "Trilu": lambda rng: Case(
        [_real(rng, 2, 4, 5)],
        [_whole(int(rng.integers(-2, 3)))[0]],
        {"upper": int(rng.integers(2))},
    ),
    "Unsqueeze": lambda rng: Case([_real(rng, 2, 3)], [_whole(1, -1)]),
    "Where": _chosen,
}

# Further nodes: other attributes, and operators that are written out by others.
OTHERS: Mapping[str, tuple[str, Callable[[Generator], Case], tuple[int, ...]]] = {
    "axes as attribute": ("ReduceMean", _reduced_by_attribute, (11, 13)),
    "pads by itself": ("Conv", _padded_convolution, (13, 21)),
    "resize by sizes": ("Resize", _sized, (13, 19)),
    "uneven average pool": ("AveragePool", _uneven_pool, (13, 19)),
    "old softmax": ("Softmax", _with(axis=1), (9, 11)),
    "old upsample": (
        "Upsample",
        lambda rng: Case([_real(rng, 2, 3, 4, 5)], [np.array([1, 1, 2, 3], np.float32)]),
        (9,),
    ),
    "rectified states": ("RNN", _recurrent(1, activations=["Relu", "Relu"]), (14,)),
    "all of it": ("MeanVarianceNormalization", _image, (13,)),
    "swish": ("Swish", _of_one, (24,)),
    "split evenly": (
        "Split",
        lambda rng: Case([_real(rng, 2, 6, 3)], [], {"axis": 1}, outputs=3),
        (13,),
    ),
}
