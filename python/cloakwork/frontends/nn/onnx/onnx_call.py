"""One node of an ONNX graph while it is computed by torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray

from cloakwork.errors import UnsupportedLayerError

# What depends on the network's inputs, and what is known without them.
Value: TypeAlias = torch.Tensor | NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class OnnxCall:
    """A node with its operands.

    Args:
        name: The node's name, or that of its operator and its place.
        operator: The operator, such as Conv.
        attributes: Its attributes by name.
        inputs: Its operands; None for those that are left out.
        weights: The module's own tensors of some known operands, by place.
        outputs: How many results it has.
        opset: The version of the operator set.
        declared_batch: The size of the batch that the file fixes; None if it does not.
        batch: That of the inputs given.
    """

    name: str
    operator: str
    attributes: Mapping[str, Any]
    inputs: tuple[Value | None, ...]
    weights: Mapping[int, torch.Tensor]
    outputs: int
    opset: int
    declared_batch: int | None
    batch: int

    def has(self, place: int) -> bool:
        """Whether an operand is given."""
        return place < len(self.inputs) and self.inputs[place] is not None

    def tensor(self, place: int) -> torch.Tensor:
        """An operand for torch, in the type of the network's numbers."""
        value = self.inputs[place]
        if isinstance(value, torch.Tensor):
            return value
        if place in self.weights:
            return self.weights[place]
        known = np.asarray(value)
        # Torch takes no array that is read-only.
        found = torch.from_numpy(known.copy())
        return found.to(self._dtype) if known.dtype.kind == "f" else found

    @property
    def _dtype(self) -> torch.dtype:
        tensors = [each for each in self.inputs if isinstance(each, torch.Tensor)]
        real = [each.dtype for each in tensors if each.is_floating_point()]
        return real[0] if real else torch.get_default_dtype()

    def optional(self, place: int) -> torch.Tensor | None:
        """An operand for torch; None where it is left out."""
        return self.tensor(place) if self.has(place) else None

    def known(self, place: int) -> NDArray[Any]:
        """An operand that must not depend on the network's inputs.

        Raises:
            UnsupportedLayerError: It does.
        """
        value = self.inputs[place]
        if isinstance(value, torch.Tensor):
            raise self.unsupported(f"operand {place} that depends on the network's inputs")
        return np.asarray(value)

    def known_or(self, place: int, attribute: str, otherwise: Any = None) -> Any:
        """What newer operator sets have as an operand and older ones as an attribute, as a list."""
        if self.has(place):
            return self.known(place).tolist()
        return self.attributes.get(attribute, otherwise)

    def attribute(self, name: str, otherwise: Any = None) -> Any:
        """An attribute; what it is where it is left out."""
        return self.attributes.get(name, otherwise)

    def unsupported(self, what: str, instead: str = "") -> UnsupportedLayerError:
        """The refusal of this node."""
        return UnsupportedLayerError(
            f"cannot compute layer {self.name!r} on encrypted numbers: expected operators of ONNX "
            f"that are supported, got {self.operator} with {what}; "
            + (instead or "give the module that the file was exported from, and see docs/nn.md")
        )
