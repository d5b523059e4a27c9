"""Networks from files: ONNX models and archives of torch.export."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")

import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

import cloakwork as cw
from cloakwork.errors import (
    CaptureError,
    CloakworkError,
    FileMissingError,
    MalformedBytesError,
    UnsupportedLayerError,
)
from cloakwork.frontends.nn.capture import capture
from cloakwork.frontends.nn.given_module import module_given

SMALL: dict[str, Any] = {"precision": 8, "log_n": 10, "insecure": True}


def _model(*nodes: Any, opset: int = 17, known: Any = (), outputs: Any = ("y",)) -> Any:
    graph = helper.make_graph(
        [*nodes],
        "net",
        [helper.make_tensor_value_info("image:0", TensorProto.FLOAT, ["batch", 6])],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(array, name) for name, array in known],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def _dense(rng: np.random.Generator) -> tuple[Any, Any]:
    weight = rng.normal(size=(6, 3)).astype(np.float32)
    nodes = [
        helper.make_node("MatMul", ["image:0", "w"], ["h"], name="first"),
        helper.make_node("Sigmoid", ["h"], ["y"]),
    ]
    return _model(*nodes, known=[("w", weight)]), weight


def test_an_onnx_file_runs_on_ciphertexts(tmp_path: Path) -> None:
    model, weight = _dense(np.random.default_rng(0))
    onnx.save(model, tmp_path / "dense.onnx")
    x = torch.rand(50, 6)
    program = cw.nn.compile(str(tmp_path / "dense.onnx"), x, **SMALL)
    assert str(program).startswith("Program(dense: image_0 -> result")
    assert [port.name for port in program.inputs] == ["image_0"]
    expected = 1 / (1 + np.exp(-x.numpy() @ weight))
    assert program.error is not None
    assert abs(program.run(x[0]) - expected[0]).max() < program.error + 1e-6


def test_several_results_have_their_names() -> None:
    nodes = [
        helper.make_node("Neg", ["image:0"], ["turned"]),
        helper.make_node("Mul", ["image:0", "image:0"], ["square.0"]),
    ]
    model = _model(*nodes, outputs=("turned", "square.0"))
    graph = capture(module_given(model), torch.rand(2, 6))
    assert [node.name for node in graph.outputs] == ["turned", "square_0"]


def test_a_batch_that_the_file_fixes_is_that_of_the_sample() -> None:
    shape = numpy_helper.from_array(np.array([1, 2, 3]))
    nodes = [
        helper.make_node("Constant", [], ["shape"], value=shape),
        helper.make_node("Reshape", ["image:0", "shape"], ["y"]),
    ]
    model = _model(*nodes)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    x = torch.rand(4, 6)
    assert torch.equal(module_given(model)(x), x.reshape(4, 2, 3))


def test_a_branch_is_taken_by_what_is_known() -> None:
    def branch(operator: str) -> Any:
        node = helper.make_node(operator, ["image:0"], [f"of_{operator}"])
        return helper.make_graph([node], operator, [], [onnx.ValueInfoProto(name=f"of_{operator}")])

    wide = numpy_helper.from_array(np.array([6]))
    nodes = [
        helper.make_node("Shape", ["image:0"], ["shape"], start=1),
        helper.make_node("Constant", [], ["wide"], value=wide),
        helper.make_node("Equal", ["shape", "wide"], ["is_wide"]),
        helper.make_node(
            "If",
            ["is_wide"],
            ["y"],
            then_branch=branch("Tanh"),
            else_branch=branch("Sin"),
        ),
    ]
    x = torch.rand(2, 6)
    assert torch.equal(module_given(_model(*nodes))(x), x.tanh())


def _unknown() -> Any:
    return _model(helper.make_node("NonZero", ["image:0"], ["y"], name="where it is"))


def _by_chance() -> Any:
    nodes = [
        helper.make_node("RandomNormal", [], ["r"], shape=[1, 6], name="noise"),
        helper.make_node("Add", ["image:0", "r"], ["y"]),
    ]
    return _model(*nodes)


def _foreign() -> Any:
    node = helper.make_node("FusedGelu", ["image:0"], ["y"], name="fused", domain="com.some")
    model = _model(node)
    model.opset_import.append(helper.make_opsetid("com.some", 1))
    return model


def _decided() -> Any:
    nodes = [
        helper.make_node("Gather", ["w", "image:0"], ["y"], axis=1, name="chosen"),
    ]
    return _model(*nodes, known=[("w", np.ones((2, 3), np.float32))])


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (_unknown, "got NonZero of node 'where it is'"),
        (_by_chance, "got RandomNormal of node 'noise'"),
        (_foreign, "got FusedGelu of node 'fused'"),
        (_decided, "'chosen' .*Gather with places that depend"),
        (lambda: _model(helper.make_node("Neg", ["image:0"], ["y"]), opset=6), "got 6; convert"),
    ],
)
def test_what_cannot_be_computed_is_refused_by_its_node(make: Any, advice: str) -> None:
    with pytest.raises(UnsupportedLayerError, match=advice):
        capture(module_given(make()), torch.rand(2, 6))


def test_too_new_an_operator_set_is_refused() -> None:
    model, _ = _dense(np.random.default_rng(0))
    model.opset_import[0].version = 99
    with pytest.raises(UnsupportedLayerError, match="got 99; export it with opset_version="):
        module_given(model)


@pytest.mark.parametrize("name", ["net.onnx", "net.pt2"])
@pytest.mark.parametrize("content", [b"", b"no model at all", bytes(range(256))])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    with pytest.raises(FileMissingError, match="there is no file"):
        module_given(tmp_path / name)
    (tmp_path / name).write_bytes(content)
    kind = MalformedBytesError if name.endswith(".onnx") else CaptureError
    with pytest.raises(kind, match=name):
        module_given(tmp_path / name)


def test_a_damaged_onnx_file_is_refused_or_read(tmp_path: Path) -> None:
    model, _ = _dense(np.random.default_rng(0))
    whole = model.SerializeToString()
    rng = np.random.default_rng(1)
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[rng.integers(len(whole))] = rng.integers(256)
        path = tmp_path / "net.onnx"
        path.write_bytes(bytes(damaged))
        try:
            module = module_given(path)
        except CloakworkError:
            continue
        assert isinstance(module, torch.nn.Module)


def test_an_archive_of_torch_runs_as_its_module(tmp_path: Path) -> None:
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.Tanh()).eval()
    x = torch.rand(5, 6)
    batch = torch.export.Dim("batch")
    exported = torch.export.export(module, (x,), dynamic_shapes=({0: batch},))
    torch.export.save(exported, tmp_path / "net.pt2")
    for given in (exported, tmp_path / "net.pt2"):
        program = cw.nn.compile(given, x, **SMALL)
        expected = module(x[0]).detach().numpy()
        assert program.error is not None
        assert abs(program.run_clear(x[0]) - expected).max() < program.error + 1e-6
    fixed = torch.export.export(module, (x,))
    assert [node.shape for node in capture(module_given(fixed), x).outputs] == [(4,)]
