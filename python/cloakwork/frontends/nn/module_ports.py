"""The inputs and results of a PyTorch module: their names, batches and forms."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork.base.frames import is_frame, numbers_of_frame
from cloakwork.errors import CaptureError, InputNameError, InvalidArgumentError
from cloakwork.programs.packing.results import Form, Keyed, Leaf, Sequenced

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True, slots=True, eq=False)
class ModuleInputs:
    """A batch for each input of a module.

    Args:
        names: The names of the inputs, as `forward` calls its parameters.
        batches: Their batches, along the first axis of each.
        positional: How many of the inputs `forward` is given by place; the others by name.
        dtype: The type of the network's numbers; words are whole ones.
    """

    names: tuple[str, ...]
    batches: tuple[torch.Tensor, ...]
    positional: int
    dtype: torch.dtype

    @property
    def args(self) -> tuple[torch.Tensor, ...]:
        """The batches that `forward` is given by place."""
        return self.batches[: self.positional]

    @property
    def kwargs(self) -> dict[str, torch.Tensor]:
        """The batches that `forward` is given by name."""
        named = zip(self.names[self.positional :], self.batches[self.positional :], strict=True)
        return dict(named)

    @property
    def count(self) -> int:
        """The entries of the batch."""
        return len(self.batches[0])

    def of_batches(self, batches: Sequence[torch.Tensor]) -> ModuleInputs:
        """The same inputs with other numbers."""
        return replace(self, batches=tuple(batches))


def module_inputs(module: torch.nn.Module, sample: Any) -> ModuleInputs:
    """The inputs of a module by a sample of them.

    Args:
        module: The module.
        sample: A batch; for several inputs a tuple of batches, or a dict by the names of the
            parameters of `forward`.

    Raises:
        InputNameError: `forward` has no parameter of a name, or lacks one without a default.
        InvalidArgumentError: A batch is not one of real numbers, or batches differ in length.
        CaptureError: `forward` does not take as many inputs, or does not say what it takes.

    >>> import pytest
    >>> torch = pytest.importorskip("torch")
    >>> module_inputs(torch.nn.Bilinear(2, 3, 4), (torch.ones(5, 2), torch.ones(5, 3))).names
    ('input1', 'input2')
    """
    try:
        signature = inspect.signature(module.forward)
    except ValueError as error:
        raise CaptureError(
            f"cannot read a network: the forward of {type(module).__name__} does not say what it "
            "takes; give the module that it was traced from"
        ) from error
    try:
        if isinstance(sample, Mapping):
            bound = signature.bind(**sample)
        else:
            bound = signature.bind(*(sample if isinstance(sample, tuple) else (sample,)))
    except TypeError as error:
        kind = InputNameError if isinstance(sample, Mapping) else CaptureError
        raise kind(
            f"cannot read a network: forward{signature} does not take the sample: {error}; give a "
            "tuple of batches, or a dict by the names of its parameters"
        ) from error
    named = list(_named(bound))
    if not named:
        raise CaptureError(
            "cannot read a network: expected a sample of one input or more, got none; give a batch "
            "for each parameter of forward"
        )
    names = tuple(name for name, _ in named)
    batches = tuple(_batch(module, name, value) for name, value in named)
    if len({len(each) for each in batches}) > 1:
        listed = ", ".join(f"{len(b)} of {n}" for n, b in zip(names, batches, strict=True))
        raise InvalidArgumentError(
            f"cannot read a network: expected a sample of as many entries of every input, got "
            f"{listed}; put inputs along a first axis"
        )
    return ModuleInputs(names, batches, len(bound.args), _weight_of(module).dtype)


def _named(bound: inspect.BoundArguments) -> Iterator[tuple[str, Any]]:
    for name, value in bound.arguments.items():
        match bound.signature.parameters[name].kind:
            case inspect.Parameter.VAR_POSITIONAL:
                yield from ((f"{name}_{number}", each) for number, each in enumerate(value))
            case inspect.Parameter.VAR_KEYWORD:
                yield from value.items()
            case _:
                yield name, value


def _batch(module: torch.nn.Module, name: str, value: Any) -> torch.Tensor:
    import torch  # noqa: PLC0415

    if is_frame(value):
        # Torch takes a table of pandas for a sequence of its columns.
        value = numbers_of_frame(value, "read a network")
    elif hasattr(value, "__array__") and not isinstance(value, torch.Tensor):
        value = np.array(value)
    try:
        batch = torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidArgumentError(
            f"cannot read a network: expected a sample of {name!r} that is a tensor or an array, "
            f"got {type(value).__name__}; give one batch of it, and of several inputs a tuple or a "
            "dict of batches"
        ) from error
    if batch.ndim < 2 or 0 in batch.shape or batch.is_complex():
        raise InvalidArgumentError(
            f"cannot read a network: expected a sample of {name!r} of shape (batch, ...) of real "
            f"numbers, got shape {tuple(batch.shape)} of {batch.dtype}; put inputs along a first "
            "axis, and their numbers along others"
        )
    if batch.is_meta:
        raise InvalidArgumentError(
            f"cannot read a network: expected a sample of {name!r} with numbers, got one on the "
            "device 'meta'; make it on the CPU, of any numbers"
        )
    if batch.dtype in (torch.int32, torch.int64) and looks_up(module):
        return batch.detach().clone()
    # Inputs that are one tensor would be one input.
    return batch.detach().to(_weight_of(module), copy=True)


def looks_up(module: torch.nn.Module) -> bool:
    """Whether whole numbers may be words, which choose rows of embeddings."""
    import torch  # noqa: PLC0415

    return any(
        isinstance(part, torch.nn.Embedding) or getattr(part, "takes_words", False) is True
        for part in module.modules()
    )


def _weight_of(module: torch.nn.Module) -> torch.Tensor:
    """A weight of real numbers, or an empty one."""
    import torch  # noqa: PLC0415

    known = chain(module.parameters(), module.buffers())
    weight = next((each for each in known if each.is_floating_point()), None)
    return torch.empty((), dtype=torch.get_default_dtype()) if weight is None else weight


def result_form(structure: Any) -> Form:
    """The form of a module's results.

    Args:
        structure: What the module returns, with the number of each tensor in its place.

    Raises:
        CaptureError: There is something else than lists, tuples and dicts of tensors.

    Example:
        >>> [part.number for part in result_form([0, 1]).parts]
        [0, 1]
    """
    match structure:
        case int(number):
            return Leaf(number)
        case Mapping():
            return Keyed({str(name): result_form(part) for name, part in structure.items()})
        case list() | tuple():
            parts = tuple(map(result_form, structure))
            return Sequenced(parts, is_tuple=isinstance(structure, tuple))
        case _:
            raise CaptureError(
                f"cannot read a network: expected tensors, or lists, tuples and dicts of tensors, "
                f"as results, got {type(structure).__name__}; return one of these"
            )


def result_names(structure: Any) -> tuple[str, ...]:
    """The names of a module's results, in the order of their numbers.

    Args:
        structure: As of `result_form`.

    Example:
        >>> result_names(0), result_names((0, 1)), result_names({"scores": 0, "state": [1, 2]})
        (('result',), ('result 1', 'result 2'), ('scores', 'state.1', 'state.2'))
    """
    if isinstance(structure, list | tuple) and len(structure) == 1:
        [structure] = structure
    return tuple(name or "result" for name in _names(structure, ""))


def _names(structure: Any, prefix: str) -> Iterator[str]:
    if isinstance(structure, Mapping):
        parts = [(str(name), part) for name, part in structure.items()]
    elif hasattr(structure, "_fields"):
        parts = list(zip(structure._fields, structure, strict=True))
    elif isinstance(structure, list | tuple):
        word = "" if prefix else "result "
        parts = [(f"{word}{number}", part) for number, part in enumerate(structure, start=1)]
    else:
        yield prefix
        return
    for name, part in parts:
        yield from _names(part, f"{prefix}.{name}" if prefix else name)
