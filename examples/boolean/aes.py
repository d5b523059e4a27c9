"""Encrypt a block by AES-128 without seeing block or key.

From the Haskell source to the decrypted answer, on both examples of FIPS 197. The client expands
the key in the clear and encrypts it and the block; the evaluator runs AES on their bits.
Run: python examples/boolean/aes.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import cloakwork as cw

SOURCE = Path(__file__).with_name("Aes.hs")

# Appendices B and C.1 of FIPS 197: key, block, encrypted block.
EXAMPLES = {
    "B": (
        "2b7e151628aed2a6abf7158809cf4f3c",
        "3243f6a8885a308d313198a2e0370734",
        "3925841d02dc09fbdc118597196a0b32",
    ),
    "C.1": (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ),
}


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<52} {time.perf_counter() - start:7.2f} s", flush=True)


def main() -> None:
    """Run both examples and print what came out; the exit status is 1 if any is wrong."""
    print("Time per step")
    with step("read AES and its key expansion from Haskell"), ThreadPoolExecutor() as pool:
        circuit, expand_key = pool.map(
            lambda top: cw.boolean.from_haskell(SOURCE, top), ("encrypt", "expandKey")
        )
    with step("map its gates to bootstraps (kept for the next time)"):
        program = circuit.compile()
    with step("make keys"):
        client, evaluator = program.keygen()

    results = []
    for name, example in EXAMPLES.items():
        key, block, wanted = (bytes.fromhex(each) for each in example)
        with step(f"{name}: expand the key in the clear, encrypt it and the block"):
            expanded = expand_key.run_clear(key=key)["out"]
            encrypted = client.encrypt(key=expanded, block=block)
        with step(f"{name}: run AES on the ciphertexts"):
            encrypted_answer = evaluator.run(encrypted)
        with step(f"{name}: decrypt"):
            answer = client.decrypt(encrypted_answer)["out"]
        results.append((name, answer, wanted))

    print(f"\nThe program\n{cw.explain(program)}")
    print("\nThe result")
    for name, answer, wanted in results:
        verdict = "right" if answer == wanted else f"wrong, expected {wanted.hex()}"
        print(f"  {name:<4} {answer.hex()}  {verdict}")
    if any(answer != wanted for _, answer, wanted in results):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
