"""Tell the language of a text without reading it, by a transformer of four blocks.

Sixteen letters of a text go in, the scores of ten languages come out. A hundred texts are
classified in the clear with modelled errors, five of them on ciphertexts by another process.
Run: python -m examples.nn.text_transformer
"""

from __future__ import annotations

import torch

from examples.nn.training import train_text_transformer
from examples.nn.transformers import classify_by_transformer
from examples.nn.translations import LANGUAGES, text_of


def _described(letters: torch.Tensor, language: int) -> str:
    return f"{text_of(letters)!r} is {LANGUAGES[language]}"


if __name__ == "__main__":
    classify_by_transformer(train_text_transformer, _described)
