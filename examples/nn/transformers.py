"""Classify inputs by a transformer: many in the clear with modelled errors, a few encrypted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch

import cloakwork as cw
from examples.nn.classify import step
from examples.nn.labelled import spread
from examples.nn.training import Trained
from examples.nn.two_parties import answers

SIMULATED, ENCRYPTED = 100, 5
# Inputs that the ranges of layers are taken from.
CALIBRATING = 1500
# Inputs of a run: the most tokens of them that share one ciphertext.
BATCH = 8
PRECISION = 8
MEMORY_LIMIT = 10 * 10**9


def classify_by_transformer(
    train: Callable[[], Trained], described: Callable[[torch.Tensor, int], str] | None = None
) -> None:
    """Train, compile, simulate; encrypt, evaluate in another process, decrypt; compare.

    Args:
        train: Trains the network.
        described: An input and its class in words.
    """
    print("Time per step")
    with step("train the network in the clear"):
        trained = train()
    inputs = spread(trained.data.test, SIMULATED).double()
    with step("compile it"):
        network = cw.nn.compile(
            trained.module,
            inputs[:1].float(),
            calibration=spread(trained.data.train, CALIBRATING),
            precision=PRECISION,
            batch=BATCH,
        )
    print(f"\nThe plan\n{cw.explain(network)}\n", flush=True)
    with step(f"classify {SIMULATED} inputs in the clear with modelled errors"):
        runs = [network.simulate(each) for each in torch.split(inputs, BATCH)]
    some = inputs[:: SIMULATED // ENCRYPTED].numpy()
    with step(f"make keys; encrypt, classify, decrypt {ENCRYPTED} inputs"):
        found = answers(network, some, memory_limit=MEMORY_LIMIT)

    with torch.no_grad():
        clear = trained.module(inputs.float()).double().numpy()
    simulated = np.concatenate([run.outputs for run in runs])
    print("\nThe result")
    if described is not None:
        for each, scores in zip(some, found.outputs, strict=True):
            print(f"  {described(torch.tensor(each), int(scores.argmax()))}")
    print(f"  accuracy in the clear                    {trained.accuracy():.4f}")
    for name, outputs in ("the simulation", simulated), ("ciphertexts", found.outputs):
        expected = clear[:: len(clear) // len(outputs)]
        same = int((outputs.argmax(axis=1) == expected.argmax(axis=1)).sum())
        error = np.abs(outputs - expected).max()
        print(f"  {name}")
        print(f"    inputs classified as in the clear      {same} of {len(outputs)}")
        print(f"    largest error of the scores            {error:.1e}")
    print(f"  error to expect of the scores            {network.error:.1e}")
    print(f"  scores                                   {clear.min():.1f} to {clear.max():.1f}")
    print(f"  runs that leave the range of a layer     {sum(bool(run.outside) for run in runs)}")
    print(f"  CPU time of a run of {BATCH} inputs           {np.median(found.cpu):.0f} s")
    print(f"  time of a run                            {np.median(found.wall):.0f} s")
    print(f"  evaluation keys                          {network.key_bytes / 2**30:.1f} GiB")
    print(f"  peak memory of the evaluator             {found.peak_bytes / 2**30:.1f} GiB")
