"""Classify handwritten digits without seeing them, by a vision transformer of four blocks.

A hundred images are classified in the clear with modelled errors, five of them on ciphertexts by
another process.
Run: python -m examples.nn.vision_transformer
"""

from __future__ import annotations

from examples.nn.training import train_vision_transformer
from examples.nn.transformers import classify_by_transformer

if __name__ == "__main__":
    classify_by_transformer(train_vision_transformer)
