"""The figures that plots are drawn in."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cloakwork.base.arguments import file_path, shown
from cloakwork.errors import InvalidArgumentError, MissingDependencyError
from cloakwork.runtime.storage import named_full_disk, named_writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def empty_figure() -> Figure:
    """A figure that has no display and needs none.

    Example:
        >>> import pytest
        >>> _ = pytest.importorskip("matplotlib")
        >>> empty_figure().axes
        []
    """
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
        from matplotlib.figure import Figure  # noqa: PLC0415
    except ImportError as error:
        raise MissingDependencyError(
            "cannot plot: expected matplotlib, which is not installed; "
            "run pip install 'cloakwork[plot]'"
        ) from error
    figure = Figure(layout="constrained", facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def saved(figure: Figure, path: str | os.PathLike[str] | None) -> Figure:
    """The figure, written to a file where there is one; the ending of its name says as what."""
    if path is None:
        return figure
    written = file_path(path, "write")
    endings = figure.canvas.get_supported_filetypes()
    if written.suffix.removeprefix(".").lower() not in endings:
        raise InvalidArgumentError(
            f"cannot plot to {shown(str(path))}: expected a name that ends in "
            f"{', '.join(f'.{ending}' for ending in sorted(endings))}"
        )
    with named_full_disk(f"{written}", "give another path"), named_writing(written):
        figure.savefig(written, dpi=130)
    return figure
