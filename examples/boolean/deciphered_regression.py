"""Score a record that is stored enciphered by AES, without seeing record or key.

Ten numbers lie in store as one block, enciphered by AES-128 in counter mode. The client has sent
its AES key once, expanded and encrypted bit by bit. The evaluator computes AES of the counter on
ciphertexts and takes the numbers out of the block; they go from bits into slots, where a logistic
regression of reals is computed on them. It sees the stored block, the counter, and the regression;
neither AES key, nor numbers, nor score. The client alone decrypts the score.
Run: pip install cryptography; python examples/boolean/deciphered_regression.py
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.frontends.boolean.circuit import Circuit

try:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR
except ImportError as error:
    raise SystemExit("cannot encipher by AES: run pip install cryptography") from error

FOLDER = Path(__file__).parent

# Of a number in store: bits, and those of them after the point.
WIDTH, FRACTION = 12, 8
WEIGHTS = np.array([0.8, -0.5, 0.3, 0.1, -0.9, 0.4, 0.0, -0.2, 0.6, -0.3])
BIAS = 0.25


def score(v: Any) -> Any:
    """The regression."""
    return cw.sigmoid(v @ WEIGHTS + BIAS)


def circuits() -> tuple[Circuit, Circuit]:
    """AES that deciphers numbers, for the evaluator, and AES's key expansion, for the client."""
    sources = (("Aes.hs", "encrypt"), ("Aes.hs", "expandKey"), ("Features.hs", "features"))
    with ThreadPoolExecutor() as pool:
        encrypt, expand_key, features = pool.map(
            lambda source: cw.boolean.from_haskell(FOLDER / source[0], source[1]), sources
        )
    return cw.boolean.chain(encrypt, features, {"out": "stream"}), expand_key


def programs(circuit: Circuit) -> tuple[cw.Program, cw.Program]:
    """Deciphering in bits, then the regression in slots, under one key."""
    first = circuit.compile()
    second = cw.compile(score, cw.result(first), precision=8)
    first, second = cw.together(first, second)
    return first, second


def enciphered(key: bytes, counter: bytes, numbers: NDArray[np.float64]) -> bytes:
    """Numbers as a block by AES in counter mode, as any library or chip does it."""
    block = 0
    for number in np.round(numbers * 2**FRACTION).astype(int).tolist():
        block = block << WIDTH | number % (1 << WIDTH)
    message = (block << 128 - WIDTH * len(numbers)).to_bytes(16, "big")
    return Cipher(AES(key), CTR(counter)).encryptor().update(message)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<52} {time.perf_counter() - start:7.2f} s", flush=True)


def main() -> None:
    """Play client and evaluator, print what each did, and exit with 1 if the score is off."""
    print("Time per step")
    with step("both: read AES from Haskell"):
        circuit, expand_key = circuits()
    with step("both: map gates to bootstraps, plan the regression"):
        first, second = programs(circuit)
    with step("client: make keys"):
        client, evaluator = first.keygen()
        last = client.serving(second)
        server = evaluator.serving(second, last.evaluation_keys(first))
    with step("client: expand its AES key, encrypt that, once"):
        key = secrets.token_bytes(16)
        encrypted_key = client.encrypt(key=expand_key.run_clear(key=key)["out"])
    with step("client: encipher a record by AES, store it"):
        rng = np.random.default_rng(0)
        numbers = rng.integers(-2 << FRACTION, 2 << FRACTION, len(WEIGHTS)) / 2**FRACTION
        counter = secrets.token_bytes(16)
        message = enciphered(key, counter, numbers)
    with step("evaluator: decipher it, unseen"):
        bits = evaluator.run(encrypted_key, {"block": counter, "message": message})
    with step("evaluator: bring it into slots, score it, unseen"):
        encrypted_score = server.run(bits)
    with step("client: decrypt the score"):
        answer = float(last.decrypt(encrypted_score))

    wanted = 1 / (1 + np.exp(-(numbers @ WEIGHTS + BIAS)))
    print("\nWhat was sent")
    print(f"  AES key, encrypted, once       {encrypted_key.nbytes / 2**20:9.1f} MiB")
    print(f"  evaluation keys, once          {server.key_bytes / 2**20:9.1f} MiB")
    print(f"  each record, with its counter  {len(message) + len(counter):9} bytes")
    print(f"\nThe programs\n{cw.explain(second)}")
    print("\nThe result")
    print(f"  the score          {answer:.4f}")
    print(f"  in the clear       {wanted:.4f}")
    if not abs(answer - wanted) < (second.error or 0.0):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
