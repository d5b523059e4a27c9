"""Trained models as programs over encrypted rows of features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.base.arguments import choice, integer, shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.circuit.compile_function import CircuitFunction
from cloakwork.frontends.circuit.inputs import vector
from cloakwork.frontends.models.answers import Answers
from cloakwork.frontends.models.coding import INPUT, Coding
from cloakwork.frontends.models.features import (
    Conditions,
    Quantised,
    Steps,
    scaled_rows,
    steps_within,
)
from cloakwork.frontends.models.forests import Forest
from cloakwork.frontends.models.forests_on_slots import forest_on_slots
from cloakwork.frontends.models.integers import (
    IntegerModel,
    class_of_scores,
    exact_scores,
    of_integers,
)
from cloakwork.frontends.models.neighbours import Neighbours
from cloakwork.frontends.models.neighbours_on_slots import fits_slots, neighbours_on_slots
from cloakwork.frontends.models.of_lightgbm import read_lightgbm
from cloakwork.frontends.models.of_sklearn import read_sklearn
from cloakwork.frontends.models.of_xgboost import read_xgboost
from cloakwork.frontends.models.radial import RadialScores, radial_program
from cloakwork.frontends.models.reading import Computed, Read, package_of
from cloakwork.runtime.program import Program

Engine: TypeAlias = Literal["slots", "bits"]
_ACTION = "compile a model"
_READERS: dict[str, Callable[[Any], Read]] = {
    "xgboost": read_xgboost,
    "lightgbm": read_lightgbm,
    "sklearn": read_sklearn,
}
# Bits of features and of what they count where nothing is asked for: bits take bootstraps, slots
# hold as many without more work.
_BITS: dict[str, int] = {"bits": 8, "slots": 12}
# Of features of nearest neighbours on slots: the more, the steeper what compares distances.
_BITS_OF_DISTANCES = 5
_MOST_BITS = 20
# Rows on which a program is tried in the clear.
_TRIED = 4
# Searching for another order of a model's few products hardly pays.
_EFFORT = 0.05


@dataclass(frozen=True, eq=False)
class Model:
    """A trained model over encrypted rows, with what its integers lose of it.

    Args:
        program: The program on ciphertexts.
        coding: How clients encode rows, and read results.
        agreement: The share of the rows given whose class is the model's; 1.0 for a regression
            whose scores are off by no more than `error`.
        error: The most that a score of these rows is off by, before keys exist.
    """

    program: Program
    coding: Coding
    agreement: float
    error: float
    _computed: Callable[[NDArray[np.int64]], NDArray[Any]]

    def encode(self, rows: Any) -> dict[str, NDArray[np.int64]]:
        """Rows as `client.encrypt(**...)` takes them; see `Coding.encode`."""
        return self.coding.encode(rows)

    def decode(self, results: Any) -> NDArray[Any]:
        """What `client.decrypt` gives as classes, probabilities or scores of each row."""
        return self.coding.decode(results)

    def predict(self, rows: Any) -> NDArray[Any]:
        """What the program says of rows, computed in the clear on the same integers."""
        return self.coding.answers.of(self._computed(self.coding.integers(rows)))

    def __repr__(self) -> str:
        return (
            f"Model({self.program.name}, on {self.coding.features} features: "
            f"{self.agreement:.2%} of rows as the model says, scores off by up to {self.error:.3g})"
        )


def compile(
    model: Any,
    rows: Any,
    *,
    output: Literal["class", "probability", "score"] | None = None,
    on: Engine | None = None,
    batch: int = 1,
    bits: int | None = None,
    **options: Any,
) -> Model:
    """A program of a trained model of scikit-learn, XGBoost or LightGBM.

    A client encrypts integers: of a model of trees whether each feature is above each threshold
    that the model has, which is exact; of others the nearest of 2^bits steps. Results are exact
    functions of these. The client learns the thresholds, or the ranges of the features, and
    nothing else of the model but results.

    Args:
        model: The trained model, or a pipeline of scalers that ends with one.
        rows: Rows such as it was trained on: they say the ranges of features, and what is lost.
        output: class, probability or score; by default the class, or a regression's score. On
            slots clients get the scores, of which they take the class; on bits the class alone.
        on: Slots, which take least, or bits; more neighbours than slots hold run on bits.
        batch: Rows that a run is for; on slots thousands take as long as one.
        bits: Bits of a feature, and of what it, or a leaf, counts at most; by default 12 on slots,
            5 of nearest neighbours there, and 8 on bits.
        options: What else `compile` of a circuit takes.

    Raises:
        InvalidArgumentError: The model is of another kind, or has no such output.
        MissingDependencyError: Its package cannot be loaded.
        InvalidParametersError: On slots no parameters are as deep, or as precise.
        ShapeMismatchError: Rows have another number of features.
        NotFiniteError: A feature is missing, and the model knows no missing ones.

    Example:
        >>> import pytest
        >>> tree = pytest.importorskip("sklearn.tree")
        >>> rows, classes = [[1.5, 3], [2.5, 1], [0.5, 2], [4.0, 0]], ["no", "yes", "no", "yes"]
        >>> model = tree.DecisionTreeClassifier(random_state=0).fit(rows, classes)
        >>> import cloakwork as cw
        >>> compiled = cw.models.compile(model, rows)
        >>> client, evaluator = compiled.program.keygen()
        >>> encrypted = client.encrypt(**compiled.encode([[3.5, 1]]))
        >>> compiled.decode(client.decrypt(evaluator.run(encrypted))).tolist()
        ['yes']
    """
    read = _read(model)
    engine = _engine(read, on)
    output = _output(read, output)
    if bits is None:
        by_distance = engine == "slots" and isinstance(read.computed, Neighbours)
        bits = _BITS_OF_DISTANCES if by_distance else _BITS[engine]
    bits = integer(bits, "bits", _ACTION, least=1, most=_MOST_BITS)
    batch = integer(batch, "batch", _ACTION, least=1, most=1 << 16)
    shown_rows = scaled_rows(rows, read.features, read.names, read.scalings)
    if not len(shown_rows):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected rows such as it was trained on, which say the ranges of "
            "features, got none; give some"
        )
    quantised = _quantised(read, shown_rows, bits)
    if isinstance(read.computed, RadialScores):
        return _of_radial(model, read, read.computed, output, quantised, rows, batch, options)
    made = of_integers(read.computed, quantised, bits)
    decided = engine == "bits" and output == "class"
    answers = Answers(output, made.scale, read.classes, read.link, decided)
    coding = Coding(read.features, read.names, read.scalings, quantised, answers, batch == 1)
    title = type(model).__name__
    if engine == "slots" and made.forest:
        tried = quantised.of(shown_rows[:_TRIED])
        program = forest_on_slots(title, made.forest, tried, batch, **options)
    elif engine == "slots" and made.neighbours:
        tried = quantised.of(shown_rows[:_TRIED])
        greatest = quantised.bounds[1]
        program = neighbours_on_slots(title, made.neighbours, greatest, tried, **options)
    else:
        if engine == "slots":
            options = {"effort": _EFFORT, "batch": batch, **options}
        program = _circuit(made, quantised, engine, decided, title).compile(on=engine, **options)
    agreement, error = _loss(model, read, read.computed, coding, made, rows)
    return Model(program, coding, agreement, error, made.classes if decided else made.scores)


def _of_radial(
    model: Any,
    read: Read,
    scores: RadialScores,
    output: str,
    steps: Quantised,
    rows: Any,
    batch: int,
    options: Mapping[str, Any],
) -> Model:
    """A model whose scores are reals, and no function of integers alone."""
    assert isinstance(steps, Steps)
    answers = Answers(output, 1.0, read.classes, pairs=read.pairs, real=True)
    coding = Coding(read.features, read.names, read.scalings, steps, answers, batch == 1)
    program = radial_program(type(model).__name__, scores, steps, batch, **options)

    def computed(integers: NDArray[np.int64]) -> NDArray[np.float64]:
        return scores.of(steps.values(integers))

    features = coding.scaled(rows)
    made = computed(steps.of(features))
    error = float(np.abs(made - scores.of(features)).max()) + (program.error or 0.0)
    agreement = 1.0
    if read.classes:
        own = np.array(read.classes)[answers.numbers(made)]
        agreement = float(np.mean(own == np.asarray(model.predict(rows)).reshape(-1)))
    return Model(program, coding, agreement, error, computed)


def _read(model: Any) -> Read:
    package = package_of(model)
    if not package:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a trained model of scikit-learn, XGBoost or LightGBM, got "
            f"{shown(model)}; for a network of PyTorch take cw.nn.compile"
        )
    return _READERS[package](model)


def _engine(read: Read, on: object) -> Engine:
    if on is not None:
        choice(on, ("slots", "bits"), "on", _ACTION)
    if on is None and isinstance(read.computed, Neighbours) and not fits_slots(read.computed):
        return "bits"
    if on == "bits" and isinstance(read.computed, RadialScores):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected on='slots' of a radial kernel, which has no integers, got "
            "on='bits'; leave it out"
        )
    return "bits" if on == "bits" else "slots"


def _output(read: Read, output: object) -> Any:
    if output is None:
        return "class" if read.classes else "score"
    kind = choice(output, ("class", "probability", "score"), "output", _ACTION)
    if kind == "class" and not read.classes:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected output='score' of a regression, got output='class'"
        )
    if kind == "probability" and not read.link:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected output='class' or 'score' of a model whose probabilities "
            "do not follow from its scores, got output='probability'"
        )
    return kind


def _quantised(read: Read, rows: NDArray[np.float64], bits: int) -> Quantised:
    if isinstance(read.computed, Forest):
        conditions = read.computed.conditions
        if not conditions:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected trees that ask for features, got trees of one leaf "
                "each, whose result is always the same"
            )
        return Conditions(conditions, read.single, read.may_miss)
    if read.conditions:
        return Conditions(read.conditions)
    steps = steps_within(rows, bits)
    if isinstance(read.computed, RadialScores):
        # A feature that is always the same reaches no further than the others do.
        varies = _that_vary(rows)
        least = min(each for each, does in zip(steps.step, varies, strict=True) if does)
        step = tuple(each if does else least for each, does in zip(steps.step, varies, strict=True))
        return replace(steps, step=step)
    if isinstance(read.computed, Neighbours):
        # Distances are of the same step along all features.
        varying = zip(steps.step, _that_vary(rows), strict=True)
        widest = max(each for each, does in varying if does)
        return replace(steps, step=(widest,) * len(steps.step))
    return steps


def _that_vary(rows: NDArray[np.float64]) -> list[bool]:
    """Of each feature whether it is not the same in all rows."""
    found: list[bool] = (np.ptp(rows, axis=0) > 0).tolist()
    if not any(found):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected rows that differ, which say the ranges of features, got "
            f"{len(rows)} that are the same; give rows such as the model was trained on"
        )
    return found


def _circuit(
    made: IntegerModel, quantised: Quantised, engine: Engine, decided: bool, title: str
) -> CircuitFunction:
    scores_of = made.by_bits if engine == "bits" else made.by_products

    def function(features: Any) -> Any:
        scores = scores_of(features)
        return class_of_scores(scores) if decided else scores

    function.__name__ = title
    declared = vector(quantised.count, bounds=quantised.bounds)
    return CircuitFunction(function, {INPUT: declared})


def _loss(
    model: Any, read: Read, computed: Computed, coding: Coding, made: IntegerModel, rows: Any
) -> tuple[float, float]:
    """The share of rows whose class is the model's, and the most that a score is off by."""
    features = coding.scaled(rows)
    integers = coding.quantised.of(features)
    scores, agreement = made.scores(integers), 1.0
    # Boosters by themselves predict from matrices of their own.
    if read.classes and hasattr(model, "get_params"):
        own = np.array(read.classes)[coding.answers.numbers(scores)]
        agreement = float(np.mean(own == np.asarray(model.predict(rows)).reshape(-1)))
    exact = (
        np.asarray(model.predict_proba(rows))
        if isinstance(computed, Neighbours)
        else exact_scores(computed, coding.quantised, features)
    )
    return agreement, float(np.abs(scores / made.scale - exact).max())
