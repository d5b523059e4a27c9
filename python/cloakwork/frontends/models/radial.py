"""Support vectors with a radial kernel: weighted sums of Gaussians around points, over reals.

Squared distances to all points are one product with a matrix and the square of the row, Gaussians
of them one polynomial, and scores another product. Rows are steps, as those of linear models are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.models.features import Steps
from cloakwork.frontends.tensors.compile import compile as compile_function
from cloakwork.frontends.tensors.functions import within
from cloakwork.programs.spec import Spec
from cloakwork.runtime.program import Program

_ACTION = "compile support vectors of a radial kernel"
_OPTIONS = ("insecure", "key_budget", "log_n", "memory_limit", "precision", "public_inputs")
# Bits of scores after the binary point.
_PRECISION = 10


@dataclass(frozen=True, eq=False)
class RadialScores:
    """Scores that are sums of exp(-gamma d), d being the square of the distance to each point.

    Args:
        points: The points, a row for each.
        weights: What each point counts, a row for each score.
        constant: What is added to each score.
        gamma: How fast a point's part falls.
    """

    points: NDArray[np.float64]
    weights: NDArray[np.float64]
    constant: NDArray[np.float64]
    gamma: float

    def of(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores of rows of features.

        Example:
            >>> scores = RadialScores(np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1), 1.0)
            >>> scores.of(np.array([[0.0, 0.0], [0.0, 1.0]])).round(3).tolist()
            [[1.0], [0.368]]
        """
        distances = ((rows[:, np.newaxis] - self.points) ** 2).sum(axis=2)
        made: NDArray[np.float64] = np.exp(-self.gamma * distances) @ self.weights.T + self.constant
        return made


def radial_program(
    title: str, scores: RadialScores, steps: Steps, batch: int, **options: Any
) -> Program:
    """A program of the scores of rows of steps.

    Args:
        title: Its title.
        scores: What is computed.
        steps: How features become integers.
        batch: How many rows a run is for.
        options: What `cloakwork.compile` takes.

    Raises:
        InvalidArgumentError: An option is for other models.
        ActivationFitError: The points reach so far that no polynomial is as precise.
    """
    others = sorted(options.keys() - {*_OPTIONS})
    if others:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected none but {', '.join(f'{each}=' for each in _OPTIONS)}, "
            f"got {', '.join(f'{each}=' for each in others)}; leave it out"
        )
    greatest = steps.bounds[1]
    low, step = np.array(steps.low), np.array(steps.step)
    # Around the middle squares are least.
    middle = low + step * greatest / 2
    points = scores.points - middle
    squares = (points**2).sum(axis=1)
    furthest = ((np.abs(points) + step * greatest / 2) ** 2).sum(axis=1).max()

    def computed(features: Any) -> Any:
        rows = features * step - step * greatest / 2
        own = (rows * rows).sum(axis=-1, keepdims=True)
        distances = within(own - 2 * (rows @ points.T) + squares, 0.0, float(furthest))
        return np.exp(-scores.gamma * distances) @ scores.weights.T + scores.constant

    computed.__name__ = title
    shape = (len(low),) if batch == 1 else (batch, len(low))
    spec = Spec(shape, bound=float(greatest))
    return compile_function(computed, spec, **{"precision": _PRECISION, **options})
