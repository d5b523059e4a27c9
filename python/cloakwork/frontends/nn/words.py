"""Words, whole numbers that choose rows of embeddings, which whoever encrypts looks up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cloakwork.errors import CaptureError, UnsupportedLayerError
from cloakwork.frontends.nn.call import TorchCall, array_of
from cloakwork.frontends.nn.known import first_of_batch
from cloakwork.programs.ir import layers as g
from cloakwork.runtime.lookup import Lookup, Norm

# What the input that a lookup makes is called.
EMBEDDED = "embedded"

_SAME = frozenset(
    {"_to_copy", "alias", "clone", "contiguous", "detach", "dropout", "to", "type_as"}
)
_SHAPING = frozenset({"reshape", "view"})
_ADVICE = (
    "words choose rows of embeddings and nothing else; give what else depends on them, such as "
    "attention_mask or position_ids, by known={...} to cloakwork.nn.compile"
)


@dataclass(frozen=True, slots=True)
class Words:
    """An input of whole numbers, as many for each text."""

    name: str
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What words choose: rows of embeddings, to which known ones are added, and their norm."""

    tables: tuple[tuple[str, g.Array], ...]
    shift: g.Array
    norm: Norm | None = None

    def lookup(self, inputs: Sequence[str]) -> Lookup:
        """What makes them of words.

        Args:
            inputs: The names of the network's inputs, in whose order words are given.
        """
        tables = dict(self.tables)
        own = {name: tables[name] for name in inputs if name in tables}
        return Lookup(EMBEDDED, own, self.shift, self.norm)


def looked_up(call: TorchCall, users: int) -> Words | Rows | None:
    """What an operation makes of words or of their rows, as long as it is looked up as well.

    Args:
        call: The operation.
        users: How many operations take its first operand.

    Returns:
        None where it is the network's, which takes rows as an input.

    Raises:
        UnsupportedLayerError: It does something else with words.
    """
    given = [*call.arguments.values()]
    first = given[0]
    words = [each for each in given if isinstance(each, Words)]
    if call.name == "embedding" and isinstance(call.arguments["indices"], Words):
        return _chosen(call.arguments["weight"], call.arguments["indices"])
    if words:
        return _same_words(call, words[0])
    if call.name in _SAME:
        return first if isinstance(first, Rows) else None
    if call.name == "add" and call.number("alpha") == 1.0:
        return _sum(call, first, call.arguments["other"])
    if call.name == "layer_norm" and users == 1 and isinstance(first, Rows):
        return _normed(call, first)
    return None


def _chosen(weight: Any, words: Words) -> Rows:
    table = array_of(weight)
    return Rows(((words.name, table),), np.zeros((words.count, table.shape[1])))


def _same_words(call: TorchCall, words: Words) -> Words:
    if call.name in _SAME:
        return words
    if call.name in _SHAPING:
        shape = call.arguments["size" if call.name == "view" else "shape"]
        if list(shape) in ([-1, words.count], [call.batch, words.count]):
            return words
    raise call.unsupported(f"a use of the words {words.name!r}", _ADVICE)


def _sum(call: TorchCall, left: Any, right: Any) -> Rows | None:
    rows, other = (left, right) if isinstance(left, Rows) else (right, left)
    if not isinstance(rows, Rows) or rows.norm is not None:
        return None
    if isinstance(other, Rows):
        if other.norm is not None or {*dict(rows.tables)} & {*dict(other.tables)}:
            return None
        return Rows(rows.tables + other.tables, rows.shift + other.shift)
    if not hasattr(other, "detach"):
        return None
    known = array_of(other)
    known = known.reshape((1,) * (3 - known.ndim) + known.shape)
    return replace(rows, shift=rows.shift + first_of_batch(call, known))


def _normed(call: TorchCall, rows: Rows) -> Rows | None:
    width = rows.shift.shape[1]
    if rows.norm is not None or list(call.arguments["normalized_shape"]) != [width]:
        return None
    weight, bias = call.array("weight"), call.array("bias")
    ones, zeros = np.ones(width), np.zeros(width)
    norm = Norm(
        ones if weight is None else weight, zeros if bias is None else bias, call.number("eps")
    )
    return replace(rows, norm=norm)


def require_words_alone(look_up: Lookup, inputs: Sequence[str]) -> None:
    """Refuse a network of words that takes other inputs beside those that are looked up.

    Args:
        look_up: What looks words up.
        inputs: The names of the network's inputs.

    Raises:
        CaptureError: It does.
    """
    others = [name for name in inputs if name not in look_up.inputs]
    if others:
        raise CaptureError(
            "cannot read a network: expected words that are looked up as all of its inputs, "
            f"got {', '.join(map(repr, others))} as well; give what everybody may know by "
            "known={...} to cloakwork.nn.compile, or compile what follows the embeddings"
        )


def second_lookup(call: TorchCall) -> UnsupportedLayerError:
    """The refusal of rows that the network takes in two ways."""
    return call.unsupported("rows of embeddings in two ways", "take one sum of embeddings")
