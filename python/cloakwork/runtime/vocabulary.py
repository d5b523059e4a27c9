"""The client's part of generating text: what it encrypts of a word, and makes of a result."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import integer
from cloakwork.base.arrays import real_array
from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    MalformedBytesError,
    ShapeMismatchError,
    StepsSpentError,
)
from cloakwork.runtime.lookup import Lookup
from cloakwork.runtime.saved import Saved
from cloakwork.schemes.base import ReadLimits

Array = NDArray[np.float64]

KIND = "vocabulary file"
_ACTION = "encrypt a word"
_MOST_WORDS = 1 << 20


class Vocabulary(Saved):
    """What a client has of a decoder: embeddings before its steps, and the head after them.

    `cloakwork.nn.compile_generation` makes it. The evaluator has none of it, and learns neither
    words nor which were chosen.

    Args:
        lookup: Makes numbers of a word and of its position.
        length: The words that a sequence may have.
        head: What makes a logit of each word: (words, width).
        error: The largest error of a feature to expect.

    Attributes:
        error: The largest error of a logit to expect, as of `Program.error`: those of features
            numbers are taken to be independent.

    Example:
        >>> table, positions = np.eye(3, 2), np.zeros((4, 2))
        >>> tables = {"word": table, "position": positions}
        >>> lookup = Lookup("embedded", tables, np.zeros((1, 2)), None)
        >>> vocabulary = Vocabulary(lookup, 4, table, error=0.25)
        >>> {name: each.round(3).tolist() for name, each in vocabulary.inputs(1, 2).items()}
        {'embedded': [[0.0, 1.0]], 'at': [0.0, 0.0, 1.0, 0.0], 'seen': [0.333, 0.333, 0.333, 0.0]}
        >>> vocabulary.logits([0.5, 0.25]).tolist()
        [0.5, 0.25, 0.0]
        >>> vocabulary.error
        0.25
    """

    _kind = KIND

    def __init__(self, lookup: Lookup, length: int, head: Array, error: float) -> None:
        self._lookup = lookup
        self.length = length
        self._head = head
        self._error_of_features = error
        self.error = error * float(np.sqrt((head**2).sum(axis=1).max()))

    def inputs(self, word: int, step: int) -> dict[str, Array]:
        """What is encrypted for a step, by the names of the program's inputs.

        Args:
            word: The word, as the tokenizer numbers it.
            step: How many words there were before.

        Raises:
            StepsSpentError: The program is planned for fewer words.
            InvalidArgumentError: The step is not a whole number from 0 up.
            NotIntegerError: The word is not a whole number.
            ValueOutOfRangeError: There is no such word.
        """
        step = integer(step, "step", _ACTION, least=0, most=1 << 53)
        if step >= self.length:
            raise StepsSpentError(
                f"cannot {_ACTION}: expected one of the {self.length} positions that the program "
                f"is planned for, got number {step + 1}; begin anew with the last words, or "
                "compile with longer texts"
            )
        position = np.arange(self.length)
        return {
            self._lookup.name: self._lookup([word], [step]),
            "at": (position == step).astype(float),
            "seen": (position <= step) / (step + 1.0),
        }

    def logits(self, features: Any) -> Array:
        """The logit of every word, of the decrypted result of a step.

        Args:
            features: The result `features` of a step.

        Raises:
            ShapeMismatchError: They are as many as the model is wide.
        """
        numbers = real_array(features, "make logits")
        if numbers.shape != self._head.shape[1:]:
            raise ShapeMismatchError(
                f"cannot make logits: expected {self._head.shape[1]} numbers, got shape "
                f"{numbers.shape}; give 'features' of what decrypt made"
            )
        return np.asarray(self._head @ numbers)

    def _record(self) -> Record:
        return {
            "lookup": self._lookup._record(),
            "length": self.length,
            "head": self._head,
            "error": self._error_of_features,
        }

    @classmethod
    def _of(cls, fields: Fields, limits: ReadLimits) -> Self:
        length = fields.integer("length", least=1, most=_MOST_WORDS)
        head = fields.array("head", "<f8", ndim=2)
        if not head.size or not np.isfinite(head).all():
            raise MalformedBytesError(
                f"cannot read a {KIND}: expected a head of finite numbers, got another; copy it "
                "again from where it was saved"
            )
        return cls(
            Lookup._of(fields.within("lookup"), limits), length, head, fields.positive("error")
        )
