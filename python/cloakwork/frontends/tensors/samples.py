"""Arguments that are described by samples of what a function will be given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arrays import filled_numbers, numbers_with_gaps, real_array
from cloakwork.base.frames import columns_of, is_frame, numbers_and_gaps, numbers_of_frame
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.tensors.missing import REFUSE, Missing, standing_for
from cloakwork.plan.functions.observed import MARGIN, widened_on_one_side
from cloakwork.programs.port import Port
from cloakwork.programs.spec import Spec

_ACTION = "compile"


@dataclass(frozen=True, slots=True, eq=False)
class SampledSpec(Spec):
    """What is known of an argument by samples of it.

    Args:
        samples: The samples, each of the argument's shape.
        margin: By how much numbers may exceed those of the samples, as a part of half the width of
            their range.
        columns: The names of the columns of frames.
        is_frame: Whether samples are frames, or columns or rows of them.
    """

    samples: tuple[NDArray[np.float64], ...] = ()
    margin: float = MARGIN
    columns: tuple[str, ...] = ()
    is_frame: bool = False

    def port(self, name: str) -> Port:
        return replace(Spec.port(self, name), columns=self.columns)


def are_samples(given: Any) -> bool:
    """Whether something describes an argument by samples, rather than by its shape."""
    if isinstance(given, list):
        return bool(given) and all(map(_is_array, given))
    return _is_array(given)


def spec_of_samples(given: Any, margin: float, missing: Missing = REFUSE) -> SampledSpec:
    """What one sample says of an argument, or a list of them.

    Args:
        given: The sample, or a list.
        margin: By how much numbers may exceed those of the samples; see `SampledSpec`.
        missing: What stands for missing numbers.

    Raises:
        ShapeMismatchError: Samples are of several shapes.
        NotFiniteError: They hold NaN or an infinity, or lack numbers that nothing stands for.

    Example:
        >>> spec = spec_of_samples(np.array([[0.0, 8.0]]), 0.25)
        >>> spec.shape, spec.ends
        ((1, 2), (0.0, 9.0))
    """
    parts = given if isinstance(given, list) else [given]
    columns = columns_of(parts[0])
    read = _read if missing == REFUSE else _read_with_gaps
    arrays = [read(each, columns) for each in parts]
    shapes = {each.shape for each in arrays}
    if len(shapes) > 1:
        raise ShapeMismatchError(
            f"cannot {_ACTION}: expected samples of one shape, got {sorted(shapes)}"
        )
    if not arrays[0].size:
        raise ShapeMismatchError(f"cannot {_ACTION}: expected samples, got arrays without elements")
    standing = standing_for(missing, arrays, columns)
    samples = tuple(
        filled_numbers(each, standing, _ACTION) if standing else each for each in arrays
    )
    low, high = min(each.min() for each in samples), max(each.max() for each in samples)
    # Zeros are where iterations start, and say nothing else.
    ends = (-1.0, 1.0) if low == high == 0 else widened_on_one_side(float(low), float(high), margin)
    low, high = ends
    return SampledSpec(
        samples[0].shape,
        low=min(low, *standing) if standing else low,
        high=max(high, *standing) if standing else high,
        missing=standing,
        samples=samples,
        margin=margin,
        columns=columns,
        is_frame=is_frame(parts[0]),
    )


def _read(given: Any, columns: Sequence[str]) -> NDArray[np.float64]:
    """A sample, whose numbers are all there."""
    if is_frame(given):
        return np.asarray(numbers_of_frame(given, _ACTION, columns), np.float64)
    return real_array(given, _ACTION)


def _read_with_gaps(given: Any, columns: Sequence[str]) -> NDArray[np.float64]:
    """A sample, NaN where a number is missing."""
    if is_frame(given):
        return np.asarray(numbers_and_gaps(given, _ACTION, columns), np.float64)
    return np.asarray(numbers_with_gaps(given, _ACTION), np.float64)


def samples_of(specs: Sequence[Spec]) -> list[tuple[NDArray[np.float64], ...]]:
    """The arguments, once for each sample; none where they are described without.

    Raises:
        InvalidArgumentError: Some arguments have samples and others have not, or another number.
    """
    counts = [len(each.samples) if isinstance(each, SampledSpec) else 0 for each in specs]
    if not any(counts):
        return []
    if len(set(counts)) > 1:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected as many samples of each argument, got "
            f"{', '.join(map(str, counts))}; a function is run on samples of all its arguments, so "
            "give one array for each, or lists of as many"
        )
    of_arguments = [each.samples for each in specs if isinstance(each, SampledSpec)]
    return list(zip(*of_arguments, strict=True))


def _is_array(given: Any) -> bool:
    return hasattr(given, "__array__")
