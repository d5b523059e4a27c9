"""Pairs of sentences as embeddings, which whoever encrypts looks up."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoTokenizer, BertForSequenceClassification

from benchmarks.suite.bert.network import PUBLISHED, tokens_of


def read(path: Path) -> list[dict[str, Any]]:
    """The pairs of a file of the harness's."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def embedded(
    model: BertForSequenceClassification, pairs: Iterable[dict[str, Any]]
) -> tuple[Tensor, Tensor]:
    """Embeddings of pairs, and masks of their padding, which repeats the text.

    Args:
        model: The model, which has the embeddings.
        pairs: What the harness says of each pair.

    Returns:
        Embeddings for each pair and token, and 1 for each token and 0 for the padding, for each
        head and query of an attention.
    """
    tokenizer = AutoTokenizer.from_pretrained(PUBLISHED)
    first, second = zip(*((each["sentence1"], each["sentence2"]) for each in pairs), strict=True)
    tokens = tokens_of(model)
    encoded = tokenizer(
        list(first),
        list(second),
        max_length=tokens,
        padding="max_length",
        truncation=True,
        return_tensors="pt",
    )
    mask = encoded["attention_mask"]
    repeated = torch.arange(tokens) % mask.sum(1, keepdim=True)
    with torch.no_grad():
        made = model.bert.embeddings(encoded["input_ids"], encoded["token_type_ids"])
    masks = mask[:, None, None, :].expand(-1, model.config.num_attention_heads, tokens, -1)
    return torch.take_along_dim(made, repeated[..., None], 1), masks.float()
