"""Answer a question about a message that came enciphered by AES, without seeing message or key.

A client sends a record enciphered by AES-128 in counter mode: 16 bytes for 16 bytes, where TFHE's
ciphertexts of them take hundreds of kilobytes. Once, for all records, it has sent its AES key on
TFHE's ciphertexts. The evaluator computes AES of the counter block under that key, takes the
record out of the message, and makes an offer by the rule of Loan.hs, all on ciphertexts in one
program. Only the client can read the offer.
Run: pip install cryptography; python examples/boolean/transcipher.py
"""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import cloakwork as cw
from cloakwork.frontends.boolean.circuit import Circuit

try:
    from cryptography.hazmat.primitives.ciphers import Cipher
    from cryptography.hazmat.primitives.ciphers.algorithms import AES
    from cryptography.hazmat.primitives.ciphers.modes import CTR
except ImportError as error:
    raise SystemExit("cannot encipher by AES: run pip install cryptography") from error

FOLDER = Path(__file__).parent

# Age, income, costs, debts, savings, payments missed, loan asked for, nothing.
RECORD = (34, 3100, 2300, 1000, 5000, 1, 9000, 0)


def packed(record: tuple[int, ...]) -> bytes:
    """The 16 bytes of a record."""
    return struct.pack("<8H", *record)


def enciphered(key: bytes, counter: bytes, message: bytes) -> bytes:
    """A message by AES in counter mode, as any library or chip does it."""
    return Cipher(AES(key), CTR(counter)).encryptor().update(message)


def programs() -> tuple[Circuit, Circuit, Circuit]:
    """AES and the rule in one, for the evaluator; AES's key expansion; the rule by itself."""
    sources = (
        ("Aes.hs", "encrypt"),
        ("Aes.hs", "expandKey"),
        ("Loan.hs", "unmasked"),
        ("Loan.hs", "offer"),
    )
    with ThreadPoolExecutor() as pool:
        encrypt, expand_key, unmasked, offer = pool.map(
            lambda source: cw.boolean.from_haskell(FOLDER / source[0], source[1]), sources
        )
    record = cw.boolean.chain(encrypt, unmasked, {"out": "stream"})
    return cw.boolean.chain(record, offer, {"out": "record"}), expand_key, offer


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step took."""
    start = time.perf_counter()
    yield
    print(f"  {name:<52} {time.perf_counter() - start:7.2f} s", flush=True)


def main() -> None:
    """Play client and evaluator, print what each did, and exit with 1 if the offer is wrong."""
    print("Time per step")
    with step("both: read AES and the rule from Haskell, chain them"):
        circuit, expand_key, offer = programs()
    with step("both: map gates to bootstraps (kept for next time)"):
        program = circuit.compile()
    with step("client: make keys"):
        client, evaluator = program.keygen()
    with step("client: expand its AES key, encrypt that, once"):
        key = secrets.token_bytes(16)
        encrypted_key = client.encrypt(key=expand_key.run_clear(key=key)["out"])
    with step("client: encipher a record by AES"):
        counter = secrets.token_bytes(16)
        message = enciphered(key, counter, packed(RECORD))
    with step("evaluator: decipher it and make an offer, unseen"):
        encrypted_offer = evaluator.run(encrypted_key, {"block": counter, "message": message})
    with step("client: decrypt the offer"):
        answer = client.decrypt(encrypted_offer)["out"]

    wanted = offer.run_clear(record=RECORD)["out"]
    print("\nWhat was sent")
    print(f"  AES key, encrypted, once       {encrypted_key.nbytes / 2**20:9.1f} MiB")
    print(f"  evaluation key, once           {evaluator.key_bytes / 2**20:9.1f} MiB")
    print(f"  each record, with its counter  {len(message) + len(counter):9} bytes")
    print(f"  each offer                     {encrypted_offer.nbytes / 2**10:9.1f} KiB")
    print(f"\nThe program\n{cw.explain(program)}")
    print("\nThe result")
    print(f"  the offer          {answer}")
    print(f"  as in the clear    {wanted}")
    if answer != wanted:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
