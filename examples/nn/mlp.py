"""Classify handwritten digits without seeing them, by three dense layers on 28x28 pixels.

Run: python -m examples.nn.mlp
"""

from __future__ import annotations

from examples.nn.classify import classify
from examples.nn.training import train_mlp

if __name__ == "__main__":
    classify(train_mlp)
