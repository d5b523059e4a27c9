"""Classify encrypted images by a trained network, and say what it took."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch

import cloakwork as cw
from examples.nn.training import Trained
from examples.nn.two_parties import answers

IMAGES = 100
PRECISION = 18


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<52} {time.perf_counter() - start:7.2f} s", flush=True)


def classify(train: Callable[[], Trained]) -> None:
    """Train, compile, encrypt, evaluate in another process, decrypt, compare.

    Args:
        train: Trains the network.
    """
    print("Time per step")
    with step("train the network in the clear"):
        trained = train()
    images, labels = trained.data.test[:IMAGES], trained.data.test_labels[:IMAGES].numpy()
    with step("compile it"):
        network = cw.nn.compile(
            trained.module, images[:1], calibration=trained.data.train, precision=PRECISION
        )
    with step(f"make keys; encrypt, classify, decrypt {len(images)} images"):
        found = answers(network, images.double().numpy())

    with torch.no_grad():
        clear = trained.module(images).double().numpy()
    guesses, clear_guesses = found.outputs.argmax(axis=1), clear.argmax(axis=1)
    error = np.abs(found.outputs - clear).mean() / np.ptp(clear)
    print(f"\nThe plan\n{cw.explain(network)}")
    print("\nThe result")
    print(f"  accuracy on encrypted images        {(guesses == labels).mean():.4f}")
    print(f"  accuracy in the clear               {(clear_guesses == labels).mean():.4f}")
    same = int((guesses == clear_guesses).sum())
    print(f"  images classified as in the clear   {same} of {len(images)}")
    print(f"  mean error of the scores            2^{math.log2(error):.1f} of their range")
    print(f"  CPU time of an image                {1e3 * np.median(found.cpu):.0f} ms")
    print(f"  time of an image                    {1e3 * np.median(found.wall):.0f} ms")
    print(f"  evaluation keys                     {network.key_bytes / 2**20:.0f} MiB")
    print(f"  peak memory of the evaluator        {found.peak_bytes / 2**20:.0f} MiB")
