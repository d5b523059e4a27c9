"""What stands for numbers that are missing in arguments."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError, NotFiniteError
from cloakwork.programs.spec import PlacedSpec, Spec

REFUSE: Literal["refuse"] = "refuse"
_MEAN = "mean"
Missing: TypeAlias = float | Literal["refuse", "mean"]


def standing_for(
    missing: Missing, samples: Sequence[NDArray[Any]], columns: Sequence[str]
) -> tuple[float, ...]:
    """What stands for missing numbers: one number, or one for each column; nothing if refused.

    Args:
        missing: What the user says.
        samples: Samples of the argument, NaN where a number is missing.
        columns: The names of the columns, if they have some.

    Raises:
        InvalidArgumentError: The user says something else.
        NotFiniteError: A column of the samples has no number.

    Example:
        >>> standing_for("mean", [np.array([[1.0, np.nan], [2.0, 4.0]])], ())
        (1.5, 4.0)
    """
    if missing != _MEAN:
        return _number(missing)
    *_, size = samples[0].shape or (1,)
    is_by_column = bool(columns) or samples[0].ndim > 1
    several = np.concatenate([each.reshape(-1, size if is_by_column else 1) for each in samples])
    present = ~np.isnan(several)
    lacking = np.flatnonzero(~present.any(axis=0))
    if len(lacking):
        name = columns[lacking[0]] if columns else int(lacking[0])
        raise NotFiniteError(
            "cannot compile: expected a mean of each column of the samples by missing='mean', and "
            f"column {shown(name)} has no number; leave it out, or give missing= as a number"
        )
    means = np.where(present, several, 0.0).sum(axis=0) / present.sum(axis=0)
    return tuple(means.tolist())


def with_missing(spec: Spec, missing: Missing) -> Spec:
    """What is known of an argument without samples, with what stands for missing numbers.

    Raises:
        InvalidArgumentError: It is not a number within the range of the argument.
    """
    if missing == REFUSE or isinstance(spec, PlacedSpec) or spec.kind == "integer":
        return spec
    if missing == _MEAN:
        raise InvalidArgumentError(
            "cannot compile: expected samples of the arguments, whose means stand for missing "
            "numbers by missing='mean', got shapes; give arrays or frames, or a number as missing="
        )
    return replace(spec, missing=_number(missing))


def _number(missing: Any) -> tuple[float, ...]:
    if isinstance(missing, str) and missing == REFUSE:
        return ()
    is_number = isinstance(missing, float | int | np.integer | np.floating)
    if not is_number or isinstance(missing, bool) or not math.isfinite(missing):
        raise InvalidArgumentError(
            "cannot compile: expected missing= to be a finite number, 'mean' or 'refuse', got "
            f"{shown(missing)}"
        )
    return (float(missing),)
