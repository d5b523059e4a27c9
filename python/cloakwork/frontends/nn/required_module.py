"""Refuses what is given for a module and is not one that makes the same of an input every time."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import TYPE_CHECKING, Any

from cloakwork.base.arguments import shown
from cloakwork.errors import (
    CaptureError,
    InvalidArgumentError,
    MissingDependencyError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.nn.module_ports import ModuleInputs

if TYPE_CHECKING:
    import torch


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
    """What is given, where it is a module; of what torch.compile made, the module in it.

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
        # What torch.compile made keeps the module in it, and other names for its inputs.
        return getattr(given, "_orig_mod", given)
    what, advice = _described(given)
    raise InvalidArgumentError(
        f"cannot read a network: expected a torch.nn.Module, got {what}; {advice}"
    )


def _described(given: Any) -> tuple[str, str]:
    """What something is that models are often had as, and how to make a module of it."""
    import torch  # noqa: PLC0415

    package, name = type(given).__module__.partition(".")[0], type(given).__name__
    match given:
        case str() | os.PathLike():
            return f"the path {shown(given)}", (
                "give one that ends in .onnx or .pt2, or make the module and give it the weights "
                "of the file, by module.load_state_dict(torch.load(path, weights_only=True))"
            )
        case Mapping() if given and all(isinstance(v, torch.Tensor) for v in given.values()):
            return "a state_dict, which has weights without layers", (
                "make the module and give it these by module.load_state_dict"
            )
        case type() if issubclass(given, torch.nn.Module):
            return f"the class {given.__name__}", f"make a module of it, {given.__name__}(...)"
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


def require_repeatable(module: torch.nn.Module, inputs: ModuleInputs) -> None:
    """Refuse a module that makes something else of the same inputs when it is called again.

    Its graph is that of one call.

    Args:
        module: The module, in eval mode.
        inputs: Inputs that it takes, whose numbers do not matter.

    Raises:
        CaptureError: It does.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> from cloakwork.frontends.nn.module_ports import module_inputs
    >>> module = torch.nn.Linear(4, 2).eval()
    >>> require_repeatable(module, module_inputs(module, torch.zeros(1, 4)))
    """
    chosen = inputs.of_batches(_batches_by_chance(inputs, inputs.count))
    once, again = _results_of_calls(module, chosen, calls=2)
    if not _are_alike(once, again):
        raise CaptureError(
            "cannot read a network: expected the same result of the same inputs at every call, got "
            "another at the second; leave chance, and what forward itself changes, out of it"
        )


def require_independent(module: torch.nn.Module, inputs: ModuleInputs) -> None:
    """Refuse a module that gives an input another result alone, or in a larger batch.

    torch.export fixes the size of the batch, so its graph does not show it.

    Args:
        module: The module, in eval mode.
        inputs: Inputs that it takes, whose numbers do not matter.

    Raises:
        CaptureError: It gives another one.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> from cloakwork.frontends.nn.module_ports import module_inputs
    >>> module = torch.nn.Linear(4, 2).eval()
    >>> require_independent(module, module_inputs(module, torch.zeros(3, 4)))
    """
    differ = _sizes_that_differ(module, inputs)
    # Rounding of float32 grows as well where factors are large, as those of norms may be.
    if differ is None or _is_independent_in_double(module, inputs):
        return
    size, larger = differ
    raise CaptureError(
        f"cannot read a network: expected that the result of an input depends on it alone, got "
        f"another in a batch of {larger} than in one of {size}; leave the batch's size out of "
        "forward"
    )


def _is_independent_in_double(module: torch.nn.Module, inputs: ModuleInputs) -> bool:
    """Whether a module computes in double precision, and then gives an input one result."""
    doubled = inputs.of_batches(
        [each.double() if each.is_floating_point() else each for each in inputs.batches]
    )
    precise = deepcopy(module).double()
    try:
        results_of_module(precise, doubled)
    except Exception:
        return False
    return _sizes_that_differ(precise, doubled) is None


def _sizes_that_differ(module: torch.nn.Module, inputs: ModuleInputs) -> tuple[int, int] | None:
    """Sizes of batches in which an input has different results, if there are any."""
    count = inputs.count
    more = _batches_by_chance(inputs, count + 1)

    def made(entries: slice) -> list[torch.Tensor]:
        """Of some entries; none where it takes no batch of as many, or returns none."""
        try:
            found = results_of_module(module, inputs.of_batches([each[entries] for each in more]))
        except Exception:
            return []
        size = len(more[0][entries])
        return found if all(each.shape[:1] == (size,) for each in found) else []

    own = made(slice(count))
    if among := made(slice(None)):
        # The same inputs at other places of the batch, too.
        later = made(slice(1, None))
        cut = [each[:-1] for each in among] + [each[1:] for each in among]
        if not _are_alike(own + later, cut):
            return count, count + 1
    alone = made(slice(1)) if count > 1 else []
    differs = bool(alone) and not _are_alike(alone, [each[:1] for each in own])
    return (1, count) if differs else None


def _batches_by_chance(inputs: ModuleInputs, count: int) -> list[torch.Tensor]:
    """So many entries of every input, the same at every call."""
    import torch  # noqa: PLC0415

    chance = torch.Generator().manual_seed(0)

    def drawn(batch: torch.Tensor) -> torch.Tensor:
        shape = (count, *batch.shape[1:])
        if batch.is_floating_point():
            return torch.randn(shape, generator=chance).to(batch)
        # Words that the sample shows there are.
        return torch.randint(0, int(batch.max()) + 1, shape, generator=chance).to(batch)

    return [drawn(each) for each in inputs.batches]


def _are_alike(left: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> bool:
    """Whether there are as many results, the same but for rounding."""
    return len(left) == len(right) and all(map(_alike, left, right))


def _alike(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether results are the same but for rounding."""
    import torch  # noqa: PLC0415

    tolerance = torch.finfo(left.dtype).eps ** 0.5
    allowed = tolerance * float(left.nan_to_num(0.0, 0.0, 0.0).abs().max())
    return left.shape == right.shape and torch.allclose(left, right, tolerance, allowed, True)


def results_of_module(module: torch.nn.Module, inputs: ModuleInputs) -> list[torch.Tensor]:
    """What a module makes of inputs; neither they nor its buffers change."""
    [made] = _results_of_calls(module, inputs, calls=1)
    return made


def _results_of_calls(
    module: torch.nn.Module, inputs: ModuleInputs, calls: int
) -> list[list[torch.Tensor]]:
    """What a module makes of the same inputs, called one time after another."""
    import torch  # noqa: PLC0415
    from torch.utils._pytree import tree_leaves  # noqa: PLC0415

    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    found: list[list[torch.Tensor]] = []
    for _ in range(calls):
        own = inputs.of_batches([each.clone() for each in inputs.batches])
        try:
            with torch.no_grad():
                made = torch.func.functional_call(module, buffers, own.args, own.kwargs)
        except IndexError as error:
            if all(each.is_floating_point() for each in inputs.batches):
                raise
            raise ValueOutOfRangeError(
                "cannot read a network: expected words, and as many of them, as the module has "
                f"rows of embeddings for, got a sample beyond: {error}; give what the model's own "
                "tokenizer makes, cut to the model's length"
            ) from error
        # What it returns may be a buffer that the next call changes.
        found.append([each.clone() for each in tree_leaves(made) if isinstance(each, torch.Tensor)])
    return found
