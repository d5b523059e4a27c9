"""ONNX models read from files and checked, before any of their operators is looked at."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import onnx
from google.protobuf.message import DecodeError
from onnx import ModelProto, inliner

from cloakwork.errors import FileMissingError, MalformedBytesError, UnsupportedLayerError

# The operator sets whose operators are known, of those called ai.onnx.
OLDEST, NEWEST = 7, 28
_OWN_DOMAINS = "", "ai.onnx"
# What is read beside the operators of the table.
KNOWN_BEFORE = frozenset({"Constant", "If", "Shape", "Size"})


def read_model(path: Path) -> ModelProto:
    """The model of a file, its weights in files beside it among them.

    Raises:
        FileMissingError: There is no such file.
        MalformedBytesError: It is not an ONNX model.
    """
    if not path.is_file():
        raise FileMissingError(
            f"cannot read a network: there is no file {path}; give the path of a file"
        )
    try:
        model = onnx.load(path)
    except (DecodeError, ValueError) as error:
        raise _not_onnx(path) from error
    except onnx.checker.ValidationError as error:
        raise MalformedBytesError(
            f"cannot read a network: {path} lacks weights that it has in other files: {error}; put "
            "them beside it"
        ) from error
    if not model.graph.node or not model.opset_import:
        raise _not_onnx(path)
    return model


def _not_onnx(path: Path) -> MalformedBytesError:
    return MalformedBytesError(
        f"cannot read a network: expected an ONNX model, got a file of another kind or a damaged "
        f"one, {path}; export the network again, by torch.onnx.export"
    )


def plain_model(model: ModelProto) -> ModelProto:
    """The same model, its own functions written out.

    Raises:
        UnsupportedLayerError: Its operator set is too old or too new.
    """
    version = opset_of(model)
    if not OLDEST <= version <= NEWEST:
        newer = version > NEWEST
        raise UnsupportedLayerError(
            f"cannot read a network: expected an operator set of ONNX from {OLDEST} to {NEWEST}, "
            f"got {version}; "
            + (
                f"export it with opset_version={NEWEST}"
                if newer
                else "convert it by onnx.version_converter"
            )
        )
    return inliner.inline_local_functions(model)


def written_out(model: ModelProto, operators: Collection[str]) -> ModelProto:
    """The same model, some operators written out by others where ONNX says how."""
    ids = [("", name) for name in operators]
    model = _with_defaults(model, {*operators})
    return inliner.inline_selected_functions(model, ids, inline_schema_functions=True)


def _with_defaults(model: ModelProto, operators: set[str]) -> ModelProto:
    """The same model, attributes of some operators written down where they are left out."""
    made = ModelProto()
    made.CopyFrom(model)
    for node in made.graph.node:
        if node.op_type in operators and is_own(node):
            schema = onnx.defs.get_schema(node.op_type, opset_of(model))
            missing = {*schema.attributes} - {each.name for each in node.attribute}
            defaults = [schema.attributes[name].default_value for name in sorted(missing)]
            node.attribute.extend(each for each in defaults if each.type)
    return made


def opset_of(model: ModelProto) -> int:
    """The version of the operator set called ai.onnx."""
    versions = {each.domain: int(each.version) for each in model.opset_import}
    return next((versions[each] for each in _OWN_DOMAINS if each in versions), 0)


def is_own(node: Any) -> bool:
    """Whether a node's operator is one of the set called ai.onnx."""
    return node.domain in _OWN_DOMAINS
