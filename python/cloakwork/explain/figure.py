"""The figures that plots are drawn in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cloakwork.errors import MissingDependencyError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def empty_figure() -> Figure:
    """A figure that has no display and needs none.

    Raises:
        MissingDependencyError: Matplotlib is not installed.

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
