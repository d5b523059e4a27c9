"""The published BERT on encrypted embeddings, with an encrypted mask of its padding."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from transformers import BertForSequenceClassification

import cloakwork as cw

PUBLISHED = "google-bert/bert-base-cased-finetuned-mrpc"
_TOKENS = 128
# Of 500 texts of 128 words 499 stay within the ranges that so many give to MiniLM.
SAMPLES = 160
OPTIONS: Mapping[str, Any] = {
    "precision": 3,
    "bootstrap": True,
    "key_budget": 8_000_000_000,
}


def published() -> BertForSequenceClassification:
    """The model with its weights, of a folder of its name where there is one, else of the hub."""
    return BertForSequenceClassification.from_pretrained(PUBLISHED).eval()


def tokens_of(model: BertForSequenceClassification) -> int:
    """How many tokens a pair of sentences is padded to."""
    positions: int = model.config.max_position_embeddings
    return min(_TOKENS, positions)


def compiled(model: BertForSequenceClassification, embedded: Tensor, mask: Tensor) -> cw.Program:
    """The model as a program on encrypted embeddings.

    Args:
        model: The model.
        embedded: Embeddings of samples, with an axis of tokens and one of features.
        mask: 1 for each token of a sample and 0 for its padding, for each head and query.
    """
    return cw.nn.compile(EncryptedBert(model).eval(), (embedded, mask), **OPTIONS)


class EncryptedBert(nn.Module):
    """What follows the embeddings, for which the mask of a padding is an input like another.

    A masked softmax is a softmax of all scores, its masked shares made 0, divided by the sum of
    the rest. Where the padding repeats the text, that sum is never small. The mask is repeated for
    all heads and queries before it is encrypted: so it stands where the shares do.
    """

    def __init__(self, model: BertForSequenceClassification) -> None:
        """Take the layers of a model."""
        super().__init__()
        self.layers = model.bert.encoder.layer
        self.pooler = model.bert.pooler
        self.classifier = model.classifier

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """Scores of the classes.

        Args:
            embedded: Embeddings, with an axis of tokens and one of features.
            mask: 1 for each token and 0 for the padding, with axes of heads, queries and tokens.
        """
        hidden = embedded
        for layer in self.layers:
            attended = layer.attention.output(_attend(layer, hidden, mask), hidden)
            hidden = layer.output(layer.intermediate(attended), attended)
        scores: Tensor = self.classifier(self.pooler(hidden))
        return scores


def _attend(layer: Any, hidden: Tensor, mask: Tensor) -> Tensor:
    own = layer.attention.self
    query, key, value = (
        made(hidden).unflatten(-1, (own.num_attention_heads, -1)).transpose(1, 2)
        for made in (own.query, own.key, own.value)
    )
    scores = query @ key.transpose(2, 3) / own.attention_head_size**0.5
    shares = scores.softmax(-1) * mask
    context: Tensor = (shares / shares.sum(-1, keepdim=True)) @ value
    return context.transpose(1, 2).flatten(2)
