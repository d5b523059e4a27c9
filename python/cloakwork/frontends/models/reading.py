"""What readers of models give: scores, and what these say."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, TypeAlias

from cloakwork.errors import MissingDependencyError
from cloakwork.frontends.models.features import Condition, Scaling
from cloakwork.frontends.models.forests import Forest
from cloakwork.frontends.models.neighbours import Neighbours
from cloakwork.frontends.models.polynomials import PolynomialScores
from cloakwork.frontends.models.radial import RadialScores

Computed: TypeAlias = Forest | PolynomialScores | Neighbours


@dataclass(frozen=True, eq=False)
class Read:
    """A trained model as what it computes.

    Args:
        computed: Its scores.
        features: How many features a row has.
        classes: Its classes in order; empty for a regression. With one score the second is that
            of scores above 0.
        link: The name of the function that makes probabilities of scores; empty where none does.
        scalings: What is done to features first.
        single: Whether features are rounded to 32 bits.
        may_miss: Whether features may be missing.
        conditions: What the features of scores are, where they are zeros and ones.
        names: The names of features.
        pairs: Whether each score is of two classes, the first of which it is for above 0.
    """

    computed: Computed | RadialScores
    features: int
    classes: tuple[Any, ...] = ()
    link: str = ""
    scalings: tuple[Scaling, ...] = ()
    single: bool = False
    may_miss: bool = False
    conditions: tuple[Condition, ...] = ()
    names: tuple[str, ...] = ()
    pairs: bool = False


def as_python(values: Any) -> tuple[Any, ...]:
    """An array's entries as Python's.

    Example:
        >>> import numpy as np
        >>> as_python(np.array([1.5, 2.0]))
        (1.5, 2.0)
    """
    return tuple(values.tolist())


def required(name: str) -> ModuleType:
    """A package that is asked for when it is used.

    Raises:
        MissingDependencyError: It is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingDependencyError(
            f"cannot read a model: {name} cannot be loaded: {error}; install it"
        ) from error


def package_of(model: Any) -> str:
    """The package that the class of a model, or one that this derives from, is of.

    Example:
        >>> package_of([])
        ''
    """
    known: Sequence[str] = ("xgboost", "lightgbm", "sklearn")
    packages = {each.__module__.partition(".")[0] for each in type(model).__mro__}
    return next((name for name in known if name in packages), "")
