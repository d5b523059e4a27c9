"""What a client needs of a model besides a key: how to encode rows, and how to read results."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import file_path, shown
from cloakwork.errors import (
    FileAccessError,
    FileMissingError,
    MalformedBytesError,
    NewerFormatError,
)
from cloakwork.frontends.models.answers import LINKS, Answers
from cloakwork.frontends.models.features import (
    Condition,
    Conditions,
    Quantised,
    Scaling,
    Steps,
    scaled_rows,
)

# The name of a program's one input.
INPUT = "features"
# What a file says of itself, before the number of its version.
_KIND = "cloakwork coding "
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Coding:
    """How rows become the integers that a client encrypts, and results what the model says.

    It has no secret: it knows thresholds or ranges of features, and nothing else of the model.

    Args:
        features: How many features a row has.
        names: Their names; empty where the model knows none.
        scalings: What is done to them first.
        quantised: How they become integers.
        answers: How integers that are results are read.
        single: Whether a program takes one row, and not several.
    """

    features: int
    names: tuple[str, ...]
    scalings: tuple[Scaling, ...]
    quantised: Quantised
    answers: Answers
    single: bool = True

    def encode(self, rows: Any) -> dict[str, NDArray[np.int64]]:
        """Rows as the input of the program: what `client.encrypt(**...)` takes.

        Args:
            rows: Rows of features: lists, an array, or a frame, whose columns may be in any order.

        Raises:
            ShapeMismatchError: Rows have another number of features.
            NotFiniteError: A feature is missing, and the model knows no missing ones.
            InvalidArgumentError: A frame lacks a column, or rows are not of numbers.
        """
        made = self.integers(rows)
        return {INPUT: made[0] if self.single and len(made) == 1 else made}

    def integers(self, rows: Any) -> NDArray[np.int64]:
        """Rows as integers, a row for each."""
        return self.quantised.of(self.scaled(rows))

    def scaled(self, rows: Any) -> NDArray[np.float64]:
        """Rows of features after the steps of scalers."""
        return scaled_rows(rows, self.features, self.names, self.scalings)

    def decode(self, results: Any) -> NDArray[Any]:
        """What decrypted results mean: a class, probabilities or scores for each row.

        Results of nearest neighbours on slots are votes off by less than a half, which are rounded.

        Args:
            results: What `client.decrypt` gives.
        """
        made = np.asarray(results)
        if not self.answers.real:
            made = (np.rint(made) if made.dtype.kind == "f" else made).astype(np.int64)
        return self.answers.of(made.reshape(-1, made.shape[-1]) if made.ndim else made[None, None])

    def save(self, path: str | Path) -> None:
        """Write it as a file of JSON, for the client.

        Raises:
            FileAccessError: It cannot be written.
            NewerFormatError: There is a file of a later release, which is not replaced.
        """
        kind = "conditions" if isinstance(self.quantised, Conditions) else "steps"
        told = {"format": f"{_KIND}{_VERSION}", "kind": kind, **asdict(self)}
        target = file_path(path, "save a coding")
        _require_not_newer(target, "save a coding")
        try:
            target.write_text(json.dumps(told, default=_plain))
        except OSError as error:
            raise FileAccessError(f"cannot save a coding: {error}") from error


def load_coding(path: str | Path) -> Coding:
    """Read what `Coding.save` wrote.

    Raises:
        FileMissingError: There is no such file.
        FileAccessError: It cannot be read.
        MalformedBytesError: It is something else.
        NewerFormatError: A later release wrote it.
    """
    source = file_path(path, "load a coding")
    _require_not_newer(source, "load a coding")
    try:
        told = json.loads(source.read_text())
        return _coding(told)
    except FileNotFoundError as error:
        raise FileMissingError(f"cannot load a coding: there is no file {source}") from error
    except OSError as error:
        raise FileAccessError(f"cannot load a coding: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise MalformedBytesError(
            f"cannot load a coding: expected a file that Coding.save wrote, got {source}, which "
            f"is damaged or something else: {error}"
        ) from error


def _require_not_newer(path: Path, action: str) -> None:
    version = _version_in(path)
    if version > _VERSION:
        raise NewerFormatError(
            f"cannot {action}: expected version {_VERSION} of the format in {path}, got {version}; "
            "use a release of Cloakwork as new as the one that wrote it"
        )


def _version_in(path: Path) -> int:
    """The version of the coding in a file, 0 where there is none."""
    with suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        return int(json.loads(path.read_text())["format"].removeprefix(_KIND))
    return 0


def _coding(told: Mapping[str, Any]) -> Coding:
    if told["format"] != f"{_KIND}{_VERSION}":
        raise ValueError(f"the format is {shown(told['format'])}")
    own = told["quantised"]
    quantised: Quantised
    if told["kind"] == "conditions":
        conditions = tuple(_condition(each, told["features"]) for each in own["conditions"])
        quantised = Conditions(conditions, bool(own["single"]), bool(own["may_miss"]))
    else:
        quantised = Steps(_numbers(own["low"]), _numbers(own["step"]), int(own["bits"]))
    scalings = tuple(
        Scaling(str(each["operation"]), _numbers(each["numbers"])) for each in told["scalings"]
    )
    answers = Answers(**{**told["answers"], "classes": tuple(told["answers"]["classes"])})
    if answers.output == "probability" and answers.link not in LINKS:
        raise ValueError(f"the link is {shown(answers.link)}")
    names = tuple(map(str, told["names"]))
    return Coding(int(told["features"]), names, scalings, quantised, answers, bool(told["single"]))


def _condition(told: Mapping[str, Any], features: int) -> Condition:
    made = Condition(**told)
    if not 0 <= made.feature < features:
        raise ValueError(f"there is no feature {made.feature}")
    return made


def _numbers(told: Sequence[Any]) -> tuple[float, ...]:
    return tuple(map(float, told))


def _plain(value: Any) -> Any:
    """A number of numpy's as Python's."""
    return value.item()
