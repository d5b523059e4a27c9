"""What a client makes of decrypted numbers: classes, probabilities or scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray


def _sigmoid(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    one = 1 / (1 + np.exp(-scores[:, 0]))
    return np.stack([1 - one, one], axis=1)


def _softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    made = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(made / made.sum(axis=1, keepdims=True))


# Probabilities of scores, by a name.
LINKS: Mapping[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "sigmoid": _sigmoid,
    "softmax": _softmax,
    "share": lambda scores: np.concatenate([0.5 - scores, 0.5 + scores], axis=1),
    "shares": lambda scores: scores,
}


@dataclass(frozen=True, slots=True)
class Answers:
    """How integers are read.

    Args:
        output: class, probability or score.
        scale: How much a score of 1 is as an integer.
        classes: The classes in order; empty for a regression.
        link: The name of the function that makes probabilities of scores.
        decided: Whether the integer is the number of the class already.
        pairs: Whether each score is of two classes, the first of which it is for above 0: of
            classes 0 and 1, 0 and 2, and so on.
        real: Whether results are scores themselves, and not integers.
    """

    output: str
    scale: float
    classes: tuple[Any, ...] = ()
    link: str = ""
    decided: bool = False
    pairs: bool = False
    real: bool = False

    def of(self, integers: NDArray[Any]) -> NDArray[Any]:
        """What integers mean, a row of scores for each row of features, or a class.

        Example:
            >>> answers = Answers("class", 10.0, ("no", "yes"))
            >>> answers.of(np.array([[-3], [4]])).tolist()
            ['no', 'yes']
        """
        if self.decided:
            return np.asarray(np.array(self.classes)[integers.reshape(-1)])
        if self.output == "class":
            return np.array(self.classes)[self.numbers(integers)]
        scores: NDArray[np.float64] = integers / self.scale
        if self.output == "probability":
            return LINKS[self.link](scores)
        return np.asarray(scores[:, 0]) if scores.shape[1] == 1 else scores

    def numbers(self, scores: NDArray[Any]) -> NDArray[np.int64]:
        """The number of the class of each row of scores, as integers or as they are."""
        if self.pairs:
            return np.asarray(_votes(scores, len(self.classes)).argmax(axis=1))
        return numbers_of_classes(scores)


def numbers_of_classes(scores: NDArray[Any]) -> NDArray[np.int64]:
    """Of one score whether it is above 0, of several the first greatest; as integers none is moved.

    Example:
        >>> numbers_of_classes(np.array([[-3], [4]])).tolist()
        [0, 1]
    """
    numbers = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return np.asarray(numbers, dtype=np.int64)


def _votes(scores: NDArray[Any], classes: int) -> NDArray[np.int64]:
    """How many pairs are for each class.

    Example:
        >>> _votes(np.array([[1.0, -2.0, 3.0]]), 3).tolist()
        [[1, 1, 1]]
    """
    made = np.zeros((len(scores), classes), dtype=np.int64)
    for (first, second), score in zip(combinations(range(classes), 2), scores.T, strict=True):
        made[:, first] += score > 0
        made[:, second] += score <= 0
    return made
