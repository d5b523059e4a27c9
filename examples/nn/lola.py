"""Classify handwritten digits without seeing them, by LoLA's convolution and two dense layers.

Run: python -m examples.nn.lola
"""

from __future__ import annotations

from examples.nn.classify import classify
from examples.nn.training import train_lola

if __name__ == "__main__":
    classify(train_lola)
