"""Words, whole numbers that choose rows of embeddings, which whoever encrypts looks up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork.errors import CaptureError, UnsupportedLayerError
from cloakwork.frontends.nn.call import TorchCall, array_of
from cloakwork.frontends.nn.known import first_of_batch
from cloakwork.programs.ir import layers as g
from cloakwork.runtime.lookup import Lookup, Norm

if TYPE_CHECKING:
    import torch

# What the input that a lookup makes is called.
EMBEDDED = "embedded"

_SAME = frozenset(
    {"_to_copy", "alias", "clone", "contiguous", "detach", "dropout", "to", "type_as"}
)
_PRODUCTS = frozenset({"linear", "matmul"})
_SHAPING = frozenset({"expand", "reshape", "unsqueeze", "view"})
# Numbers of a table of words as ones and zeros.
_MOST_ONES = 1 << 24
_ADVICE = (
    "words choose rows of embeddings and nothing else; give what else depends on them, such as "
    "attention_mask or position_ids, by known={...} to cloakwork.nn.compile"
)


@dataclass(frozen=True, slots=True)
class Words:
    """An input of whole numbers, as many for each text.

    Args:
        name: The input's name.
        count: How many of them a text has.
        copies: How often each stands along an axis of its own behind them; 0 without that axis.
    """

    name: str
    count: int
    copies: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What words choose: rows of embeddings, to which known ones are added, and their norm.

    Args:
        tables: The embeddings by the names of the words' inputs.
        shift: What is added, for every word.
        norm: The norm behind the sum.
        are_ones: Whether a row has a one and zeros, which a matrix makes an embedding of.
    """

    tables: tuple[tuple[str, g.Array], ...]
    shift: g.Array
    norm: Norm | None = None
    are_ones: bool = False

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
    if call.name == "one_hot" and words and not words[0].copies and call.number("num_classes") > 0:
        return _ones(call, words[0], np.arange(call.number("num_classes")))
    if call.name == "eq" and words and words[0].copies:
        return _ones(call, words[0], _compared_with(call, words[0]))
    if words:
        return _same_words(call, words[0])
    if call.name in _SAME:
        return first if isinstance(first, Rows) else None
    if call.name == "add" and call.number("alpha") == 1.0:
        return _sum(call, first, call.arguments["other"])
    if call.name in _PRODUCTS and users == 1 and isinstance(first, Rows) and first.are_ones:
        return _embedding(call, first)
    if call.name == "layer_norm" and users == 1 and isinstance(first, Rows):
        return _normed(call, first)
    return None


def _chosen(weight: Any, words: Words) -> Rows:
    table = array_of(weight)
    return Rows(((words.name, table),), np.zeros((words.count, table.shape[1])))


def _ones(call: TorchCall, words: Words, values: g.Array) -> Rows:
    """Words as ones and zeros: whether each is each of some numbers."""
    whole = bool(values.size) and bool((values == np.rint(values)).all()) and values.min() >= 0
    if not whole or (values.max() + 1) * len(values) > _MOST_ONES:
        raise call.unsupported(f"a comparison of the words {words.name!r}", _ADVICE)
    table = (np.arange(values.max() + 1)[:, None] == values).astype(np.float64)
    return Rows(((words.name, table),), np.zeros((words.count, len(values))), are_ones=True)


def _compared_with(call: TorchCall, words: Words) -> g.Array:
    """The numbers that each word is compared with."""
    values = next(each for each in call.arguments.values() if not isinstance(each, Words))
    known = array_of(values) if hasattr(values, "detach") else np.zeros(0)
    row: g.Array = known.reshape(-1, known.shape[-1])[0] if known.size else known.ravel()
    if not np.array_equal(known, np.broadcast_to(row, known.shape)):
        raise call.unsupported(f"a comparison of the words {words.name!r}", _ADVICE)
    return row


def _embedding(call: TorchCall, rows: Rows) -> Rows | None:
    """Ones and zeros times a known matrix."""
    weight = array_of(
        call.arguments["other"] if call.name == "matmul" else call.arguments["weight"]
    )
    if weight.ndim != 2:
        return None
    matrix = weight if call.name == "matmul" else weight.T
    bias = call.array("bias") if call.name == "linear" else None
    tables = tuple((name, table @ matrix) for name, table in rows.tables)
    return Rows(tables, rows.shift @ matrix + (0.0 if bias is None else bias))


def _same_words(call: TorchCall, words: Words) -> Words:
    if call.name in _SAME:
        return words
    made = _moved(call, words) if call.name in _SHAPING else None
    if made is None:
        raise call.unsupported(f"a use of the words {words.name!r}", _ADVICE)
    return made


def _moved(call: TorchCall, words: Words) -> Words | None:
    """Words that stand in another shape, each along an axis of its own; None for other shapes."""
    import torch  # noqa: PLC0415

    places = torch.arange(call.batch * words.count).reshape(call.batch, words.count)
    own = places[..., None].expand(-1, -1, words.copies) if words.copies else places
    arguments = {
        name: own if isinstance(each, Words) else each for name, each in call.arguments.items()
    }
    try:
        found: torch.Tensor = call.function(**arguments)
    except RuntimeError:
        # A view of copies.
        return None
    if torch.equal(found, places):
        return replace(words, copies=0)
    if found.shape[:2] == places.shape and found.ndim == places.ndim + 1:
        copies = found.shape[-1]
        if torch.equal(found, places[..., None].expand(-1, -1, copies)):
            return replace(words, copies=copies)
    return None


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
    return replace(rows, shift=rows.shift + first_of_batch(call, known), are_ones=False)


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
