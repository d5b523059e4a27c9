"""A function of tensors as a graph of operations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cloakwork.programs.ir.tensors import Node, Source
from cloakwork.programs.packing.results import Form
from cloakwork.programs.port import Port
from cloakwork.programs.spec import Spec


@dataclass(frozen=True, slots=True)
class TensorFunction:
    """What a function does.

    Args:
        sources: Its arguments.
        specs: Shape and range of each.
        results: What it returns.
        form: Whether it returns the one tensor, or a tuple.
    """

    sources: tuple[Source, ...]
    specs: tuple[Spec, ...]
    results: tuple[Node, ...]
    form: Form

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The arguments as a program takes them."""
        return tuple(
            Port(source.name, "real", 0, spec.shape, spec.low, spec.high)
            for source, spec in self.spec_of.items()
        )

    @property
    def spec_of(self) -> Mapping[Source, Spec]:
        """Shape and range of each argument."""
        return dict(zip(self.sources, self.specs, strict=True))
