"""Models of LightGBM as forests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.models.features import Condition
from cloakwork.frontends.models.forests import Forest, InnerNode, Leaf, Tree, merged
from cloakwork.frontends.models.reading import Read, as_python

_LINKS = {"binary": "sigmoid", "multiclass": "softmax", "regression": ""}


def read_lightgbm(model: Any) -> Read:
    """A booster, or a model that has one, as a forest.

    Raises:
        InvalidArgumentError: It splits by something else than numbers, or has another objective.
    """
    booster = getattr(model, "booster_", model)
    told = booster.dump_model()
    objective = str(told.get("objective", "")).split()
    name = objective[0] if objective else ""
    if name not in _LINKS or not {*objective[1:]} <= {"sigmoid:1"} | {
        each for each in objective if each.startswith("num_class:")
    }:
        raise InvalidArgumentError(
            f"cannot compile a model of LightGBM: expected an objective among {', '.join(_LINKS)}, "
            f"got {' '.join(objective) or 'none'}; train one with such an objective"
        )
    count = int(told["num_tree_per_iteration"])
    trees = [
        _node(each["tree_structure"], number % count, count)
        for number, each in enumerate(told["tree_info"])
    ]
    if told.get("average_output"):
        share = len(trees) // count
        trees = [_divided(each, share) for each in trees]
    labels: tuple[Any, ...] = ()
    if _LINKS[name]:
        known = getattr(model, "classes_", None)
        labels = as_python(known) if known is not None else tuple(range(max(2, count)))
    return Read(
        Forest(tuple(map(merged, trees)), (0.0,) * count),
        int(told["max_feature_idx"]) + 1,
        labels,
        _LINKS[name],
        may_miss=True,
        names=tuple(told["feature_names"]),
    )


def _node(told: Mapping[str, Any], score: int, count: int) -> Tree:
    if "leaf_value" in told:
        value = float(told["leaf_value"])
        return Leaf(tuple(value if each == score else 0.0 for each in range(count)))
    if told["decision_type"] != "<=":
        raise InvalidArgumentError(
            "cannot compile a model of LightGBM: expected splits by numbers, got one by "
            "categories; turn categories into columns of zeros and ones, and train again"
        )
    threshold, kind = float(told["threshold"]), told["missing_type"]
    # One that knows no missing numbers takes them for 0.
    missing = threshold < 0 if kind == "None" else not told["default_left"]
    condition = Condition(
        int(told["split_feature"]), threshold, missing=missing, zero_is_missing=kind == "Zero"
    )
    holds = _node(told["right_child"], score, count)
    return InnerNode(condition, holds, _node(told["left_child"], score, count))


def _divided(tree: Tree, share: int) -> Tree:
    if isinstance(tree, Leaf):
        return Leaf(tuple(each / share for each in tree.values))
    return InnerNode(tree.condition, _divided(tree.holds, share), _divided(tree.fails, share))
