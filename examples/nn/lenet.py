"""Classify handwritten digits without seeing them, by LeNet: two convolutions, two dense layers.

Run: python -m examples.nn.lenet
"""

from __future__ import annotations

from examples.nn.classify import classify
from examples.nn.training import train_lenet

if __name__ == "__main__":
    classify(train_lenet)
