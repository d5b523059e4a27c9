"""Results of programs that were given frames, as frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.base.frames import framed, is_frame, labels_of_axes
from cloakwork.errors import InputNameError, InvalidArgumentError
from cloakwork.programs.packing import Packing
from cloakwork.programs.packing.results import on_leaves
from cloakwork.programs.packing.tensor import RealPacking
from cloakwork.programs.port import Port


def in_frames(
    results: Any,
    packing: Packing,
    inputs: Sequence[Port],
    args: Sequence[Any],
    named: Mapping[str, Any],
) -> Any:
    """Results whose axes run along those of frames, with the labels of these.

    Where a row of a frame is one evaluation, results have its rows.

    Args:
        results: What was decrypted.
        packing: That of the program.
        inputs: What the program was given.
        args: The inputs in their order.
        named: The inputs by name.
    """
    given = {**dict(zip((port.name for port in inputs), args, strict=False)), **named}
    ports = [port for port in inputs if is_frame(given.get(port.name))]
    if not ports or not isinstance(packing, RealPacking):
        return results
    labels: dict[tuple[str, int], Any] = {}
    of_rows = None
    for port in ports:
        own = [*labels_of_axes(given[port.name], port.columns)]
        if len(own) > len(port.shape):
            rows = own.pop(0)
            of_rows = rows if port.columns else None
        labels.update({(port.name, axis): each for axis, each in enumerate(own)})
    like = given[ports[0].name]

    def made(number: int, array: NDArray[Any]) -> Any:
        port = packing.outputs[number]
        axes = port.axes or ((),) * len(port.shape)
        found = [_common([labels[each] for each in axis if each in labels]) for axis in axes]
        if np.ndim(array) > len(axes):
            found.insert(0, of_rows)
        return framed(array, found, like)

    return on_leaves(packing.form, results, made)


def frames_by_name(inputs: Sequence[Port], like: Any, action: str) -> dict[str, Any]:
    """Frames by the names of the inputs that they are; none of None.

    Args:
        inputs: The inputs of a program.
        like: The frame of the only input, or a dict by names.
        action: What is done, in words.

    Raises:
        InvalidArgumentError: There is something else than a frame, or one for several inputs.
        InputNameError: There is no input of a name.
    """
    if like is None:
        return {}
    names = [port.name for port in inputs]
    if not isinstance(like, Mapping):
        if len(names) > 1:
            raise InvalidArgumentError(
                f"cannot {action}: expected like= to be a dict of frames by the names of inputs, "
                f"of which there are {len(names)}, {', '.join(names)}, got {shown(like)}"
            )
        like = dict.fromkeys(names, like)
    for name, frame in like.items():
        if name not in names:
            raise InputNameError(
                f"cannot {action} like {name!r}: expected frames of inputs, {', '.join(names)}"
            )
        if not is_frame(frame):
            raise InvalidArgumentError(
                f"cannot {action}: expected like= to be a frame or a series of pandas or polars, "
                f"as it was encrypted, got {shown(frame)}; leave it out for arrays"
            )
    return dict(like)


def _common(several: Sequence[Any]) -> Any:
    """The labels of all frames that meet on an axis; None where they differ."""
    first, *others = several or [None]
    return first if all(list(each) == list(first) for each in others) else None
