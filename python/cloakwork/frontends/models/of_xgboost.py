"""Models of XGBoost as forests."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.models.features import Condition
from cloakwork.frontends.models.forests import Forest, InnerNode, Leaf, Tree, merged
from cloakwork.frontends.models.reading import Read, as_python

_LINKS = {
    "binary:logistic": "sigmoid",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
    "reg:squarederror": "",
}


def read_xgboost(model: Any) -> Read:
    """A booster, or a model that has one, as a forest.

    Raises:
        InvalidArgumentError: It has something else than trees that split by numbers, or another
            objective.
    """
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    best = getattr(booster, "best_iteration", None) if _stopped_early(booster) else None
    if best is not None:
        booster = booster[: best + 1]
    told = json.loads(bytes(booster.save_raw("json")))["learner"]
    if told["gradient_booster"]["name"] != "gbtree":
        raise InvalidArgumentError(
            "cannot compile a model of XGBoost: expected the booster gbtree, got "
            f"{told['gradient_booster']['name']}; train one with booster='gbtree'"
        )
    objective = told["objective"]["name"]
    if objective not in _LINKS:
        raise InvalidArgumentError(
            f"cannot compile a model of XGBoost: expected an objective among {', '.join(_LINKS)}, "
            f"got {objective}; train one with such an objective"
        )
    parameters = told["learner_model_param"]
    classes = int(parameters["num_class"])
    count = max(1, classes)
    held = told["gradient_booster"]["model"]
    trees = [
        _tree(each, score, count)
        for each, score in zip(held["trees"], held["tree_info"], strict=True)
    ]
    base = _base(parameters["base_score"], objective, count)
    labels: tuple[Any, ...] = ()
    if _LINKS[objective]:
        known = getattr(model, "classes_", None)
        labels = as_python(known) if known is not None else tuple(range(max(2, classes)))
    return Read(
        Forest(tuple(map(merged, trees)), base),
        int(parameters["num_feature"]),
        labels,
        _LINKS[objective],
        single=True,
        may_miss=True,
        names=tuple(booster.feature_names or ()),
    )


def _stopped_early(booster: Any) -> bool:
    return booster.attr("best_iteration") is not None


def _base(told: str, objective: str, count: int) -> tuple[float, ...]:
    """What is added to each score."""
    values = [float(each) for each in told.strip("[]").split(",")]
    if objective == "binary:logistic":
        values = [math.log(each / (1 - each)) for each in values]
    return tuple(values) if len(values) == count else tuple(values) * count


def _tree(told: Mapping[str, Sequence[Any]], score: int, count: int) -> Tree:
    if any(told["split_type"]):
        raise InvalidArgumentError(
            "cannot compile a model of XGBoost: expected splits by numbers, got one by categories; "
            "turn categories into columns of zeros and ones, and train again"
        )

    def node(number: int) -> Tree:
        left, right = told["left_children"][number], told["right_children"][number]
        value = float(np.float32(told["split_conditions"][number]))
        if left == -1:
            return Leaf(tuple(value if each == score else 0.0 for each in range(count)))
        missing = not told["default_left"][number]
        feature = told["split_indices"][number]
        condition = Condition(feature, value, reaches=True, missing=missing)
        return InnerNode(condition, node(right), node(left))

    return node(0)
