"""A module some parameters of whose forward are known, the same for every input."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Mapping
from types import MethodType
from typing import TYPE_CHECKING, Any, cast

from cloakwork.base.arguments import shown
from cloakwork.errors import InputNameError, InvalidArgumentError
from cloakwork.frontends.nn.required_module import load_torch, required_module

if TYPE_CHECKING:
    import torch

_BUFFER = "known_{}"


def with_known_inputs(module: torch.nn.Module, known: Mapping[str, Any]) -> torch.nn.Module:
    """The same network, whose forward is given some parameters already.

    Args:
        module: The network.
        known: What they are given, by name: tensors and arrays with the batch as their first axis,
            in which all rows are the same; numbers, truth values, text and None as they are.

    Raises:
        InputNameError: `forward` has no parameter of a name.
        InvalidArgumentError: Rows differ, or there is none.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> bilinear, ones = torch.nn.Bilinear(2, 3, 4), torch.ones(5, 3)
    >>> module = with_known_inputs(bilinear, {"input2": ones[:1]})
    >>> x = torch.rand(5, 2)
    >>> bool((module(x) == bilinear(x, ones)).all())
    True
    """
    if not isinstance(known, Mapping):
        raise InvalidArgumentError(
            f"cannot read a network: expected known={{...}} by the names of parameters of forward, "
            f"got {shown(known)}"
        )
    if not known:
        return module
    load_torch()
    module = required_module(module)
    signature = inspect.signature(module.forward)
    _require_parameters(signature, known)
    # The layers are shared; its own are forward and what that is given.
    made = copy.copy(module)
    for kept in ("_buffers", "_non_persistent_buffers_set"):
        vars(made)[kept] = copy.copy(vars(module)[kept])
    plain: dict[str, Any] = {}
    for name, value in known.items():
        if hasattr(value, "__array__"):
            made.register_buffer(_BUFFER.format(name), _row(name, value), persistent=False)
        else:
            plain[name] = value
    rows = [name for name in known if name not in plain]
    function = _forward_of(module)

    def forward(self: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
        batch = len([*args, *kwargs.values()][0])
        buffers = {name: getattr(self, _BUFFER.format(name)) for name in rows}
        spread = {name: each.expand(batch, *each.shape[1:]) for name, each in buffers.items()}
        return function(self, *args, **kwargs, **spread, **plain)

    left = [each for name, each in signature.parameters.items() if name not in known]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    vars(forward)["__signature__"] = signature.replace(parameters=[own, *left])
    vars(made)["forward"] = MethodType(forward, made)
    return made


def _forward_of(module: torch.nn.Module) -> Callable[..., Any]:
    """What a module's forward calls with the module, be it of its class or given to it alone."""
    forward: Any = module.forward
    if getattr(forward, "__self__", None) is module:
        return cast("Callable[..., Any]", forward.__func__)
    return lambda _, *args, **kwargs: forward(*args, **kwargs)


def _require_parameters(signature: inspect.Signature, known: Mapping[str, Any]) -> None:
    parameters = signature.parameters
    if any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters.values()):
        return
    for name in known:
        if name not in parameters:
            raise InputNameError(
                f"cannot read a network: expected known={{...}} by the names of parameters of "
                f"forward, {', '.join(parameters)}, got {shown(name)}"
            )


def _row(name: str, value: Any) -> torch.Tensor:
    """The one row of a known tensor."""
    import torch  # noqa: PLC0415

    rows = torch.as_tensor(value).detach()
    if not rows.ndim or not len(rows) or not bool((rows == rows[:1]).all()):
        raise InvalidArgumentError(
            f"cannot read a network: expected that the known {name!r} has the batch as its first "
            f"axis, and the same for every input, got shape {tuple(rows.shape)}"
            f"{' with rows that differ' if rows.ndim and len(rows) else ''}; compile a program for "
            "each, or pad inputs to one length"
        )
    return rows[:1].clone()
