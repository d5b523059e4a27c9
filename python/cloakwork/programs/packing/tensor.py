"""Tensors that lie in ciphertexts as layouts say, an argument in one layout or in several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.layout import Layout
from cloakwork.programs.packing.reals import RealPacking
from cloakwork.programs.packing.results import Form
from cloakwork.programs.port import Port
from cloakwork.programs.slots import Vector


@dataclass(frozen=True, slots=True)
class PlacedInput:
    """One tensor that goes in: which argument it is, and where its elements lie.

    Args:
        argument: The number of the argument; one may go in twice, in two layouts.
        layout: The layout.
    """

    argument: int
    layout: Layout


@dataclass(frozen=True)
class TensorPacking(RealPacking[Layout]):
    """How the arguments of a compiled function lie in ciphertexts, and its results.

    Args:
        inputs: The arguments, of kind `real` with their ranges.
        outputs: The results.
        placed: The tensors that go in, in the order of the program's inputs.
        results: The layout of each result.
        form: The one result, or a tuple.

    Raises:
        InvalidProgramError: The parts do not fit one another.

    Example:
        >>> from cloakwork.programs.layout import Axis
        >>> from cloakwork.programs.packing.results import Leaf
        >>> layout = Layout(4, (Axis(3, 1),))
        >>> x, y = (Port(name, "real", shape=(3,), low=-1.0, high=1.0) for name in "xy")
        >>> packing = TensorPacking((x,), (y,), (PlacedInput(0, layout),), (layout,), Leaf(0))
        >>> packing.pack({"x": [0.5, 0.0, 1.0]}, "encrypt").runs[0][0].tolist()
        [0.5, 0.0, 1.0, 0.0]
    """

    kind: ClassVar[str] = "tensors"
    contents: ClassVar[str] = "tensors"
    advice: ClassVar[str] = "the bound of its Spec, cw.Spec(shape, bound={}),"

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    placed: tuple[PlacedInput, ...]
    results: tuple[Layout, ...]
    form: Form

    def __post_init__(self) -> None:
        known = all(0 <= each.argument < len(self.inputs) for each in self.placed)
        self._require(known, "a tensor is of no argument")
        self._require(len(self.outputs) == len(self.results), "a result has no layout")
        super().__post_init__()
        for port, layout in (*self.tensors_in, *self.tensors_out):
            self._require(port.shape == layout.shape, f"{port.name!r:.40} has another shape")

    @property
    def tensors_in(self) -> Sequence[tuple[Port, Layout]]:
        """Of each tensor that goes in which argument it is, and its layout."""
        return [(self.inputs[each.argument], each.layout) for each in self.placed]

    @property
    def tensors_out(self) -> Sequence[tuple[Port, Layout]]:
        """The results and their layouts."""
        return list(zip(self.outputs, self.results, strict=True))

    def _packed(self, place: Layout, rows: NDArray[np.float64]) -> list[Vector]:
        return place.pack(rows[0])

    def _unpacked(self, place: Layout, vectors: Sequence[Vector]) -> NDArray[np.float64]:
        return place.unpack(vectors)[np.newaxis]
