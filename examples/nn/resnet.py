"""Classify encrypted colour images by ResNet, in another process that sees neither image nor class.

Trains on scikit-learn's digits, enlarged and coloured, or on CIFAR-10 from a folder.
Run: python -m examples.nn.resnet [--depth 20] [--activation silu] [--batch 16]
         [--cifar-10 FOLDER]
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
import torch
from torch import nn

import cloakwork as cw
from examples.nn.classify import step
from examples.nn.coloured import cifar_10, coloured_digits
from examples.nn.training import train_resnet
from examples.nn.two_parties import answers

ACTIVATIONS = {"silu": nn.SiLU, "relu": nn.ReLU}
# Bits after the binary point of scores that are about 30 apart, and how far ranges go beyond those
# of the training images.
PRECISION, MARGIN = 3, 0.1
# Training images that the ranges of layers are taken from.
CALIBRATING = 256
MEMORY_LIMIT = 12 * 10**9


def main() -> None:
    """Train, compile; encrypt, evaluate in another process, decrypt; compare."""
    asked = _asked()
    data = cifar_10(asked.cifar_10) if asked.cifar_10 else coloured_digits()
    print("Time per step")
    with step(f"train ResNet-{asked.depth} in the clear"):
        trained = train_resnet(asked.depth, ACTIVATIONS[asked.activation], data, asked.epochs)
    images = data.test[: max(asked.images, asked.batch)]
    with step("compile it"):
        network = cw.nn.compile(
            trained.module,
            images[:1],
            calibration=data.train[:CALIBRATING],
            precision=PRECISION,
            margin=MARGIN,
            batch=asked.batch,
        )
    print(f"\nThe plan\n{cw.explain(network)}\n")
    with step(f"make keys; encrypt, classify, decrypt {len(images)} images"):
        found = answers(network, images.double().numpy(), memory_limit=asked.memory_limit)

    with torch.no_grad():
        clear = trained.module(images).double().numpy()
    same = int((found.outputs.argmax(axis=1) == clear.argmax(axis=1)).sum())
    error = np.abs(found.outputs - clear).mean() / np.ptp(clear)
    operations = cw.estimate(network).operations
    bootstraps = operations.get("bootstrap", 0) + operations.get("paired bootstrap", 0)
    print("\nThe result")
    print(f"  accuracy in the clear               {trained.accuracy():.4f}")
    print(f"  images classified as in the clear   {same} of {len(images)}")
    print(f"  mean error of the scores            2^{math.log2(error):.1f} of their range")
    print(f"  bootstraps of a run                 {bootstraps}")
    print(f"  CPU time of an image                {np.median(found.cpu) / asked.batch:.0f} s")
    print(f"  time of an image                    {np.median(found.wall) / asked.batch:.0f} s")
    print(f"  evaluation keys                     {network.key_bytes / 2**30:.1f} GiB")
    print(f"  peak memory of the evaluator        {found.peak_bytes / 2**30:.1f} GiB")


def _asked() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--depth", type=int, default=20, choices=(20, 32, 44, 56, 110))
    parser.add_argument("--activation", default="silu", choices=tuple(ACTIVATIONS))
    parser.add_argument("--epochs", type=int, default=16, help="passes through the images")
    parser.add_argument("--images", type=int, default=3, help="how many are classified")
    parser.add_argument("--batch", type=int, default=1, help="images of a run; 16 fill the slots")
    parser.add_argument(
        "--cifar-10", type=Path, metavar="FOLDER", help="with the binary version of CIFAR-10"
    )
    parser.add_argument(
        "--memory-limit", type=int, default=MEMORY_LIMIT, help="bytes that a run may take"
    )
    return parser.parse_args()


if __name__ == "__main__":
    main()
