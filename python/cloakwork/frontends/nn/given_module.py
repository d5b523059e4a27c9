"""The module of what a user gives: a module, a model of a file, or what torch exported."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cloakwork.errors import (
    CaptureError,
    CloakworkError,
    FileMissingError,
    MalformedBytesError,
    MissingDependencyError,
)
from cloakwork.frontends.nn.required_module import load_torch, required_module

if TYPE_CHECKING:
    import torch

# Files of networks, by the ends of their names.
ONNX, ARCHIVE = ".onnx", ".pt2"
ENDINGS = ONNX, ARCHIVE


def module_given(given: Any) -> torch.nn.Module:
    """A module; that of an ONNX file or model, and of an archive or program of torch.export.

    Args:
        given: The module, the path of a file that ends in .onnx or .pt2, or what these hold.

    Raises:
        MissingDependencyError: PyTorch or onnx is not installed.
        FileMissingError: There is no such file.
        MalformedBytesError: The file is not a model of its kind.
        UnsupportedLayerError: An operator of ONNX cannot be computed on encrypted numbers.
        CaptureError: The archive cannot be read by this version of torch.
        InvalidArgumentError: It is something else.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> exported = torch.export.export(torch.nn.Linear(2, 3).eval(), (torch.ones(1, 2),))
    >>> module_given(exported)(torch.ones(1, 2)).shape
    torch.Size([1, 3])
    """
    _require_torch()
    load_torch()
    import torch  # noqa: PLC0415

    if isinstance(given, str | os.PathLike):
        path = Path(os.fspath(given))
        if path.suffix == ONNX:
            return _of_onnx_file(path)
        if path.suffix == ARCHIVE:
            given = _archived(path)
    if isinstance(given, torch.export.ExportedProgram):
        return _of_exported(given)
    if type(given).__module__.partition(".")[0] == "onnx":
        return _of_onnx(given)
    return required_module(given)


def title_of(given: Any) -> str:
    """What a program is called that is compiled of a module or a file.

    Example:
        >>> title_of("models/digits.onnx")
        'digits'
    """
    if isinstance(given, str | os.PathLike):
        return Path(os.fspath(given)).stem
    return type(given).__name__


def _require_torch() -> None:
    if find_spec("torch") is None:
        raise MissingDependencyError(
            "cannot read a network: it takes PyTorch; install it by pip install 'cloakwork[torch]'"
        )


def _require_onnx() -> None:
    if find_spec("onnx") is None:
        raise MissingDependencyError(
            "cannot read a network: ONNX models take onnx; install it by pip install "
            "'cloakwork[onnx]'"
        )


def _of_onnx_file(path: Path) -> torch.nn.Module:
    _require_onnx()
    # What reads them loads onnx, which is not always installed.
    from cloakwork.frontends.nn.onnx.onnx_model import read_model  # noqa: PLC0415

    return _of_onnx(read_model(path))


def _of_onnx(model: Any) -> torch.nn.Module:
    from cloakwork.frontends.nn.onnx.onnx_module import OnnxModule  # noqa: PLC0415

    try:
        return OnnxModule(model).eval()
    except CloakworkError:
        raise
    except Exception as error:
        raise MalformedBytesError(
            "cannot read a network: expected an ONNX model by its rules, got one that is damaged "
            f"({type(error).__name__}: {error}); see what onnx.checker.check_model says"
        ) from error


def _of_exported(exported: torch.export.ExportedProgram) -> torch.nn.Module:
    module = exported.module()
    # It has no mode: what was exported in training mode has operations that say so.
    for part in module.modules():
        part.training = False
    return module


def _archived(path: Path) -> torch.export.ExportedProgram:
    import torch  # noqa: PLC0415

    if not path.is_file():
        raise FileMissingError(
            f"cannot read a network: there is no file {path}; give the path of a file"
        )
    try:
        return torch.export.load(path)
    except Exception as error:
        raise CaptureError(
            f"cannot read a network: torch cannot read {path} as an archive of torch.export: "
            f"{type(error).__name__}; save the network again, by torch.export.save, with the "
            "version of torch that is installed here"
        ) from error
