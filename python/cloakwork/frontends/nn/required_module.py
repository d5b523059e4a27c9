"""Refuses what is given for a module and is not one, and says how to make one of it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, MissingDependencyError

if TYPE_CHECKING:
    import torch

_ONNX = (
    "give the module that it was exported from, or make one of it, such as by "
    "onnx2torch.convert, and compare the two"
)


def load_torch() -> None:
    """Load PyTorch, which is installed.

    Raises:
        MissingDependencyError: It cannot be loaded: an earlier attempt was interrupted, or a part
            of it is missing.
    """
    try:
        import torch  # noqa: F401, PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            f"cannot read a network: PyTorch cannot be loaded: {error}; start the process anew "
            "where loading it was interrupted before, otherwise install PyTorch anew"
        ) from error


def required_module(given: Any) -> torch.nn.Module:
    """What is given, where it is a module.

    Raises:
        InvalidArgumentError: It is something else.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> required_module(torch.nn.ReLU)
    Traceback (most recent call last):
    cloakwork.errors.InvalidArgumentError: ... got the class ReLU; make a module of it, ReLU(...)
    """
    import torch  # noqa: PLC0415

    if isinstance(given, torch.nn.Module):
        return given
    what, advice = _described(given)
    raise InvalidArgumentError(
        f"cannot read a network: expected a torch.nn.Module, got {what}; {advice}"
    )


def _described(given: Any) -> tuple[str, str]:
    """What something is that models are often had as, and how to make a module of it."""
    import torch  # noqa: PLC0415

    package, name = type(given).__module__.partition(".")[0], type(given).__name__
    match given:
        case str() | os.PathLike() if os.fspath(given).endswith(".onnx"):
            return f"the path of an ONNX model, {shown(given)}", _ONNX
        case str() | os.PathLike():
            return f"the path {shown(given)}", (
                "make the module and give it the weights of the file, by "
                "module.load_state_dict(torch.load(path, weights_only=True))"
            )
        case torch.export.ExportedProgram():
            return "an ExportedProgram", "give the module that it was exported from"
        case Mapping() if given and all(isinstance(v, torch.Tensor) for v in given.values()):
            return "a state_dict, which has weights without layers", (
                "make the module and give it these by module.load_state_dict"
            )
        case type() if issubclass(given, torch.nn.Module):
            return f"the class {given.__name__}", f"make a module of it, {given.__name__}(...)"
    if package == "onnx":
        return f"an ONNX model of type {name}", _ONNX
    if package == "sklearn" or hasattr(given, "get_params"):
        return f"the scikit-learn estimator {name}", (
            "write what it computes as a module with its numbers: of a linear model "
            "torch.nn.Linear with coef_ and intercept_, of an MLP one for each of coefs_"
        )
    if callable(given):
        return f"the function {getattr(given, '__name__', name)}", (
            "wrap it in a module's forward, or compile it by cloakwork.compile, which takes numpy's"
        )
    return shown(given), "give a trained module"
