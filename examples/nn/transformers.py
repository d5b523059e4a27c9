"""Classify handwritten digits without seeing them, by a vision transformer.

A hundred images are classified in the clear with modelled errors, eight of them on ciphertexts by
another process, four in a run.
Run: python -m examples.nn.transformer
"""

from __future__ import annotations

import numpy as np
import torch

import cloakwork as cw
from examples.nn.classify import step
from examples.nn.training import train_transformer
from examples.nn.two_parties import answers

SIMULATED, ENCRYPTED = 100, 8
# Images of a run: as many as the ciphertexts of one have slots for.
BATCH = 4
PRECISION = 8
MEMORY_LIMIT = 10 * 10**9


def main() -> None:
    """Train, compile, simulate; encrypt, evaluate in another process, decrypt; compare."""
    print("Time per step")
    with step("train the network in the clear"):
        trained = train_transformer()
    images = trained.digits.test[:SIMULATED].double()
    with step("compile it"):
        network = cw.nn.compile(
            trained.module,
            images[:1].float(),
            calibration=trained.digits.train,
            precision=PRECISION,
            batch=BATCH,
        )
    with step(f"classify {len(images)} images in the clear with modelled errors"):
        runs = [network.simulate(each) for each in torch.split(images, BATCH)]
    with step(f"make keys; encrypt, classify, decrypt {ENCRYPTED} images"):
        found = answers(network, images[:ENCRYPTED].numpy(), memory_limit=MEMORY_LIMIT)

    with torch.no_grad():
        clear = trained.module(images.float()).double().numpy()
    simulated = np.concatenate([run.outputs for run in runs])
    print(f"\nThe plan\n{cw.explain(network)}")
    print("\nThe result")
    print(f"  accuracy in the clear                    {trained.accuracy():.4f}")
    for name, outputs in ("the simulation", simulated), ("ciphertexts", found.outputs):
        expected = clear[: len(outputs)]
        same = int((outputs.argmax(axis=1) == expected.argmax(axis=1)).sum())
        error = np.abs(outputs - expected).max() / np.ptp(clear)
        print(f"  {name}")
        print(f"    images classified as in the clear      {same} of {len(outputs)}")
        print(f"    largest error of the scores            {error:.1e} of their range")
    print(f"  images that leave the range of a layer   {sum(map(bool, (r.outside for r in runs)))}")
    print(f"  CPU time of a run of {BATCH} images           {np.median(found.cpu):.0f} s")
    print(f"  time of a run                            {np.median(found.wall):.0f} s")
    print(f"  evaluation keys                          {network.key_bytes / 2**30:.1f} GiB")
    print(f"  peak memory of the evaluator             {found.peak_bytes / 2**30:.1f} GiB")


if __name__ == "__main__":
    main()
