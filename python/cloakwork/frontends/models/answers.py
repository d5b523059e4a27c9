"""What a client makes of decrypted integers: classes, probabilities or scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
    """

    output: str
    scale: float
    classes: tuple[Any, ...] = ()
    link: str = ""
    decided: bool = False

    def of(self, integers: NDArray[np.int64]) -> NDArray[Any]:
        """What integers mean, a row of scores for each row of features, or a class.

        Example:
            >>> answers = Answers("class", 10.0, ("no", "yes"))
            >>> answers.of(np.array([[-3], [4]])).tolist()
            ['no', 'yes']
        """
        if self.decided:
            return np.array(self.classes)[integers.reshape(-1)]
        if self.output == "class":
            # As integers, so that none are rounded to the same.
            is_binary = integers.shape[1] == 1
            numbers = integers[:, 0] > 0 if is_binary else integers.argmax(axis=1)
            return np.array(self.classes)[numbers.astype(np.int64)]
        scores = integers / self.scale
        if self.output == "probability":
            return LINKS[self.link](scores)
        return scores[:, 0] if scores.shape[1] == 1 else scores
