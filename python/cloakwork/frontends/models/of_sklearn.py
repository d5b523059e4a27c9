"""Models of scikit-learn as what they compute."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import reduce
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.models.features import Condition, Scaling
from cloakwork.frontends.models.forests import Forest, InnerNode, Leaf, Tree, merged
from cloakwork.frontends.models.neighbours import Neighbours
from cloakwork.frontends.models.polynomials import PolynomialScores
from cloakwork.frontends.models.projections import Projection
from cloakwork.frontends.models.radial import RadialScores
from cloakwork.frontends.models.reading import Read, as_python, required

_ACTION = "compile a model of scikit-learn"
_Values = Callable[[NDArray[np.float64]], tuple[float, ...]]


def read_sklearn(model: Any) -> Read:
    """A trained estimator, or a pipeline of scalers that ends with one.

    Raises:
        InvalidArgumentError: It is of another class, not trained, or has a setting that is not
            supported.
    """
    required("sklearn")
    kind = type(model).__name__
    if kind == "Pipeline":
        return _of_pipeline(model)
    if not hasattr(model, "n_features_in_"):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected one that is trained, got {kind} without features; call "
            "fit first"
        )
    reader = next((_READERS[name] for name in _names(model) if name in _READERS), None)
    if reader is None:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected one of {', '.join(sorted(_READERS))}, or a pipeline of "
            f"{', '.join(sorted(_BEFORE))} that ends with one, got {kind}"
        )
    names = as_python(getattr(model, "feature_names_in_", np.array([], dtype=object)))
    return replace(reader(model), features=int(model.n_features_in_), names=names)


def _names(model: Any) -> list[str]:
    """The names of a model's class, and of those of scikit-learn that it derives from."""
    return [each.__name__ for each in type(model).__mro__ if each.__module__.startswith("sklearn")]


def _of_pipeline(model: Any) -> Read:
    *before, (_, last) = model.steps
    scalings: list[Scaling] = []
    projection: Projection | None = None
    for _, each in before:
        if each is None or each == "passthrough":
            continue
        kind = type(each).__name__
        if kind in _PROJECTIONS:
            own = _PROJECTIONS[kind](each)
            projection = own if projection is None else projection.then(own)
        elif kind not in _SCALERS:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected a pipeline of {', '.join(sorted(_BEFORE))} before "
                f"the model, got {kind}; apply it to rows before they are encoded, and compile "
                "what follows"
            )
        elif projection is None:
            scalings += _SCALERS[kind](each)
        else:
            projection = reduce(Projection.scaled, _SCALERS[kind](each), projection)
    read = read_sklearn(last)
    first = before[0][1] if before else last
    names = as_python(getattr(first, "feature_names_in_", np.array([], dtype=object)))
    if projection is not None:
        return _projected(read, projection, type(last).__name__, scalings, names)
    return replace(read, scalings=(*scalings, *read.scalings), names=names)


def _projected(
    read: Read, projection: Projection, kind: str, scalings: list[Scaling], names: tuple[Any, ...]
) -> Read:
    """A model of projected features as one of the features themselves."""
    if not isinstance(read.computed, PolynomialScores) or read.conditions:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a linear model after {', '.join(sorted(_PROJECTIONS))}, "
            f"got {kind}; apply the projection to rows before they are encoded, and compile what "
            "follows"
        )
    return replace(
        read,
        computed=projection.scores(read.computed),
        features=projection.factors.shape[1],
        scalings=tuple(scalings),
        names=names,
    )


def _scaling(operation: str, numbers: Any) -> list[Scaling]:
    if numbers is None:
        return []
    return [Scaling(operation, as_python(np.asarray(numbers, dtype=float)))]


def _of_min_max(scaler: Any) -> list[Scaling]:
    if scaler.clip:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a MinMaxScaler that does not clip, got clip=True; clip "
            "rows before they are encoded"
        )
    return _scaling("multiply", scaler.scale_) + _scaling("add", scaler.min_)


_SCALERS: Mapping[str, Callable[[Any], list[Scaling]]] = {
    "StandardScaler": lambda each: (
        _scaling("subtract", each.mean_ if each.with_mean else None)
        + _scaling("divide", each.scale_)
    ),
    "MinMaxScaler": _of_min_max,
    "MaxAbsScaler": lambda each: _scaling("divide", each.scale_),
    "RobustScaler": lambda each: (
        _scaling("subtract", each.center_) + _scaling("divide", each.scale_)
    ),
}


def _components(model: Any) -> Projection:
    """Principal components; whitened ones have a variance of 1."""
    factors = np.asarray(model.components_, dtype=float)
    if getattr(model, "whiten", False):
        factors = factors / np.sqrt(model.explained_variance_)[:, np.newaxis]
    mean = getattr(model, "mean_", None)
    constant = np.zeros(len(factors)) if mean is None else -factors @ mean
    return Projection(factors, constant)


_PROJECTIONS: Mapping[str, Callable[[Any], Projection]] = {
    "PCA": _components,
    "TruncatedSVD": _components,
}
_BEFORE = (*_SCALERS, *_PROJECTIONS)


def _of_projection(model: Any) -> Read:
    """The sums themselves as scores."""
    made = _components(model)
    return Read(PolynomialScores(made.factors, made.constant), 0)


def _tree(held: Any, values: _Values) -> Tree:
    """A tree of scikit-learn's, with what its leaves hold."""
    missing = getattr(held, "missing_go_to_left", None)

    def node(number: int) -> Tree:
        left, right = int(held.children_left[number]), int(held.children_right[number])
        if left == right:
            return Leaf(values(held.value[number, 0]))
        condition = Condition(
            int(held.feature[number]),
            float(held.threshold[number]),
            missing=missing is not None and not missing[number],
        )
        return InnerNode(condition, node(right), node(left))

    return merged(node(0))


def _require_one_output(model: Any) -> None:
    if getattr(model, "n_outputs_", 1) != 1:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected one output, got {model.n_outputs_}; compile a model for "
            "each of them"
        )


def _of_trees(model: Any) -> Read:
    """A tree, or a forest, whose result is the mean of those of its trees."""
    _require_one_output(model)
    trees = [each.tree_ for each in getattr(model, "estimators_", [model])]
    classes = as_python(model.classes_) if hasattr(model, "classes_") else ()

    def values(row: NDArray[np.float64]) -> tuple[float, ...]:
        shares = row / row.sum() if classes else row
        # Of two classes one score says both.
        shares = shares[1:] if len(classes) == 2 else shares
        return tuple((shares / len(trees)).tolist())

    made = tuple(_tree(each, values) for each in trees)
    base = (-0.5,) if len(classes) == 2 else (0.0,) * max(1, len(classes))
    link = "" if not classes else "share" if len(base) == 1 else "shares"
    return Read(Forest(made, base), 0, classes, link, single=True, may_miss=True)


def _of_gradient_boosting(model: Any) -> Read:
    if type(model.init_).__name__ not in ("DummyClassifier", "DummyRegressor", "str"):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected gradient boosting that starts from a constant, got "
            f"init={type(model.init_).__name__}; train one without init="
        )
    zeros = np.zeros((1, model.n_features_in_), dtype=np.float32)
    base = as_python(np.ravel(model._raw_predict_init(zeros)).astype(float))
    count = len(base)
    rate = float(model.learning_rate)
    trees = []
    for row in model.estimators_:
        for score, each in enumerate(row):

            def values(held: NDArray[np.float64], own: int = score) -> tuple[float, ...]:
                value = rate * float(held[0])
                return tuple(value if place == own else 0.0 for place in range(count))

            trees.append(_tree(each.tree_, values))
    classes = as_python(model.classes_) if hasattr(model, "classes_") else ()
    return Read(Forest(tuple(trees), base), 0, classes, _boosted_link(model, count), single=True)


def _boosted_link(model: Any, count: int) -> str:
    if not hasattr(model, "classes_"):
        return ""
    # Exponential loss takes twice the score.
    if getattr(model, "loss", "log_loss") != "log_loss":
        return ""
    return "sigmoid" if count == 1 else "softmax"


def _of_histograms(model: Any) -> Read:
    classes = as_python(model.classes_) if hasattr(model, "classes_") else ()
    base = as_python(np.ravel(model._baseline_prediction).astype(float))
    if getattr(model, "is_categorical_", None) is not None and np.any(model.is_categorical_):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected splits by numbers, got some by categories; turn "
            "categories into columns of zeros and ones, and train again"
        )
    if not classes and model.loss not in ("squared_error", "absolute_error", "quantile"):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a loss whose scores are predictions, got {model.loss}; "
            "train one with loss='squared_error'"
        )
    count = len(base)
    trees = [
        _tree_of_histograms(each.nodes, score, count)
        for row in model._predictors
        for score, each in enumerate(row)
    ]
    return Read(
        Forest(tuple(map(merged, trees)), base),
        0,
        classes,
        _boosted_link(model, count),
        may_miss=True,
    )


def _tree_of_histograms(nodes: Any, score: int, count: int) -> Tree:
    def node(number: int) -> Tree:
        own = nodes[number]
        if own["is_leaf"]:
            value = float(own["value"])
            return Leaf(tuple(value if each == score else 0.0 for each in range(count)))
        condition = Condition(
            int(own["feature_idx"]),
            float(own["num_threshold"]),
            missing=not own["missing_go_to_left"],
        )
        return InnerNode(condition, node(int(own["right"])), node(int(own["left"])))

    return node(0)


def _of_linear(model: Any) -> Read:
    """Scores that are sums of features."""
    linear = np.atleast_2d(np.asarray(model.coef_, dtype=float))
    constant = np.broadcast_to(np.asarray(model.intercept_, dtype=float), (len(linear),))
    classes = as_python(model.classes_) if hasattr(model, "classes_") else ()
    if not classes and len(linear) > 1:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected one output, got {len(linear)}; compile a model for each "
            "of them"
        )
    link = ""
    if "LogisticRegression" in _names(model):
        link = "sigmoid" if len(linear) == 1 else "softmax"
    return Read(PolynomialScores(linear, constant.copy()), 0, classes, link)


def _of_support_vectors(model: Any) -> Read:
    classes = as_python(model.classes_) if hasattr(model, "classes_") else ()
    if model.kernel == "linear" and len(classes) <= 2 and "OneClassSVM" not in _names(model):
        return _of_linear(model)
    if model.kernel != "rbf":
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a radial kernel, or a linear one of at most two classes, "
            f"got kernel={model.kernel!r} and {len(classes)} classes; train one with kernel='rbf', "
            "or a LinearSVC"
        )
    if getattr(model, "break_ties", False):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected classes by the votes of pairs, got break_ties=True; train "
            "one with break_ties=False"
        )
    points, dual = (
        np.asarray(each.toarray() if hasattr(each, "toarray") else each, dtype=float)
        for each in (model.support_vectors_, model.dual_coef_)
    )
    weights = _weights_of_pairs(dual, model.n_support_) if len(classes) > 2 else dual
    scores = RadialScores(points, weights, np.ravel(model.intercept_), float(model._gamma))
    if "OneClassSVM" in _names(model):
        classes = (-1, 1)
    return Read(scores, 0, classes, pairs=len(classes) > 2)


def _weights_of_pairs(dual: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """What each support vector counts for each pair of classes, as libsvm keeps it.

    Row j - 1 of the first class i of a pair has what its vectors count against class j, and row i
    of class j what its vectors do.
    """
    ends = np.cumsum(counts)
    of_class = [slice(end - count, end) for end, count in zip(ends, counts, strict=True)]
    pairs = list(combinations(range(len(counts)), 2))
    weights = np.zeros((len(pairs), dual.shape[1]))
    for row, (first, second) in zip(weights, pairs, strict=True):
        row[of_class[first]] = dual[second - 1, of_class[first]]
        row[of_class[second]] = dual[first, of_class[second]]
    return weights


def _of_gaussians(model: Any) -> Read:
    """Scores are logarithms of likelihoods, which are squares of features."""
    mean, variance = model.theta_, model.var_
    constant = np.log(model.class_prior_) - 0.5 * np.sum(
        np.log(2 * np.pi * variance) + mean**2 / variance, axis=1
    )
    scores = PolynomialScores(mean / variance, constant, -0.5 / variance)
    return Read(scores, 0, as_python(model.classes_), "softmax")


def _of_counts(model: Any) -> Read:
    """Naive Bayes whose scores are sums of features."""
    prior = model.class_log_prior_
    if "ComplementNB" in _names(model) and len(model.classes_) > 1:
        prior = np.zeros(len(model.classes_))
    scores = PolynomialScores(np.array(model.feature_log_prob_), np.array(prior))
    return Read(scores, 0, as_python(model.classes_), "softmax")


def _of_bernoullis(model: Any) -> Read:
    """Naive Bayes on whether each feature is above a threshold."""
    if model.binarize is None:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a BernoulliNB with a threshold, got binarize=None; train "
            "one with binarize=0.5"
        )
    absent = np.log(1 - np.exp(model.feature_log_prob_))
    scores = PolynomialScores(
        model.feature_log_prob_ - absent, model.class_log_prior_ + absent.sum(axis=1)
    )
    conditions = tuple(
        Condition(feature, float(model.binarize)) for feature in range(model.n_features_in_)
    )
    return Read(scores, 0, as_python(model.classes_), "softmax", conditions=conditions)


def _of_clusters(model: Any) -> Read:
    """The nearest centre: the square of what is encrypted is the same for all of them."""
    centres = np.asarray(model.cluster_centers_, dtype=float)
    scores = PolynomialScores(2 * centres, -np.sum(centres**2, axis=1))
    return Read(scores, 0, tuple(range(len(centres))))


def _of_neighbours(model: Any) -> Read:
    metric = model.effective_metric_
    if metric != "euclidean" or model.weights != "uniform" or model.outputs_2d_:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected neighbours by Euclidean distance that count the same, and "
            f"one output, got metric={metric!r} and weights={model.weights!r}; train one with "
            "metric='euclidean' and weights='uniform'"
        )
    if len(model.classes_) < 2:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected neighbours of two classes or more, got one, which is "
            "always the result"
        )
    computed = Neighbours(
        np.asarray(model._fit_X, dtype=float),
        np.asarray(model._y).ravel(),
        len(model.classes_),
        int(model.n_neighbors),
    )
    return Read(computed, 0, as_python(model.classes_), "shares")


_READERS: Mapping[str, Callable[[Any], Read]] = {
    **dict.fromkeys(
        (
            "DecisionTreeClassifier",
            "DecisionTreeRegressor",
            "ExtraTreesClassifier",
            "ExtraTreesRegressor",
            "RandomForestClassifier",
            "RandomForestRegressor",
        ),
        _of_trees,
    ),
    **dict.fromkeys(
        ("GradientBoostingClassifier", "GradientBoostingRegressor"), _of_gradient_boosting
    ),
    **dict.fromkeys(
        ("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"), _of_histograms
    ),
    **dict.fromkeys(
        (
            "ElasticNet",
            "Lasso",
            "LinearDiscriminantAnalysis",
            "LinearRegression",
            "LinearSVC",
            "LinearSVR",
            "LogisticRegression",
            "Perceptron",
            "Ridge",
            "RidgeClassifier",
            "SGDClassifier",
            "SGDRegressor",
        ),
        _of_linear,
    ),
    **dict.fromkeys(("NuSVC", "NuSVR", "OneClassSVM", "SVC", "SVR"), _of_support_vectors),
    **dict.fromkeys(("ComplementNB", "MultinomialNB"), _of_counts),
    "BernoulliNB": _of_bernoullis,
    "GaussianNB": _of_gaussians,
    "KMeans": _of_clusters,
    "KNeighborsClassifier": _of_neighbours,
    **dict.fromkeys(_PROJECTIONS, _of_projection),
}
