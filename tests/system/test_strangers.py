"""What holders of a public key try, who send what is not an encryption, and what refuses it.

Each attack is run to its end where the client vouches for such inputs, so that it is a real one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xxhash

import cloakwork as cw
from cloakwork._native import BooleanCiphertexts, Ciphertext
from cloakwork.errors import DecryptionsSpentError, UntrustedInputsError
from cloakwork.schemes.base import levels_of

LOG_N = 10
N = 1 << LOG_N
SLOTS = N // 2
HEADER = 48
ASKED: dict[str, Any] = {"statistical_bits": 10, "decryptions": 64}


def product() -> cw.Program:
    """x * y over all slots."""
    spec = cw.Spec((SLOTS,), bound=1.0)
    return cw.compile(
        lambda x, y: x * y,
        spec,
        spec,
        precision=40,
        public_inputs=True,
        log_n=LOG_N,
        insecure=True,
    )


def sealed(head: bytes, body: bytes) -> bytes:
    """A stored object with its checksum, as its header has it."""
    out = bytearray(head) + body
    seed = xxhash.xxh3_128(bytes(out[:32])).intdigest() & (2**64 - 1)
    checksum = xxhash.xxh3_128(bytes(out[HEADER:]), seed=seed).intdigest()
    out[32:HEADER] = checksum.to_bytes(16, "little")
    return bytes(out)


def test_two_forged_inputs_of_reals_show_the_key_to_nobody() -> None:
    program = product()
    client, evaluator = program.keygen()
    public = client.public_key()
    own = client.encrypt(x=np.ones(SLOTS))
    forged, scale, factor = multiples_of_the_key(evaluator, public)
    results = [evaluator.run([own, each]) for each in forged]
    for each in results:
        with pytest.raises(UntrustedInputsError, match="such results show the secret key"):
            client.decrypt_for_others(each, **ASKED)
    assert not client._ledger._given.releases
    real, imaginary = (
        client.decrypt_for_others(each, honest_inputs=True, **ASKED) for each in results
    )
    found = coefficients((real - 1j * imaginary) * scale / factor)
    key = client._key.to_bytes()[-N // 4 :]
    true = np.array([(byte >> 2 * place & 3) - 1 for byte in key for place in range(4)])
    assert (np.rint(found) == true).all()


def multiples_of_the_key(
    evaluator: cw.Evaluator, public: cw.Encryptor
) -> tuple[list[cw.Encrypted], float, float]:
    """Inputs (0, f) and (0, f X^(N/2)), the scale of what they seem to hold, and f."""
    scheme: Any = public.program.scheme
    sent = public.encrypt(y=np.zeros(SLOTS))
    ((number, value),) = sent._runs[0].items()
    raw = value.to_bytes()
    scale = float(np.frombuffer(raw, "<f8", 1, HEADER + 24)[0])
    factor = 2.0 ** int(np.log2(scale) - LOG_N / 2 - 3)
    start = HEADER + 16 + 32 + 2
    words = np.frombuffer(raw, "<u4", offset=start).reshape(2, -1, N).copy()
    words[0] = 0
    for limb, prime in zip(words[1], primes_of(scheme.parameters), strict=True):
        limb[:] = int(factor) % prime
    plain = Ciphertext.from_bytes(scheme.parameters, sealed(raw[:start], words.tobytes()))
    rotated = evaluator._backend.multiply_imaginary(plain)
    forged = [
        public._encrypted("inputs", ("y",), [{number: each}], None) for each in (plain, rotated)
    ]
    return forged, scale, factor


def primes_of(parameters: Any) -> list[int]:
    """The primes of the modulus, as its stored form has them."""
    data = parameters.to_bytes()
    start = HEADER + 12 + 16
    count = int.from_bytes(data[start : start + 2], "little")
    return [int(prime) for prime in np.frombuffer(data, "<u4", count, start + 8)]


def coefficients(slots: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The coefficients of the polynomial whose values at the slots' roots are these."""
    exponents = np.array([pow(5, place, 2 * N) for place in range(SLOTS)])
    values = np.zeros(2 * N, complex)
    values[exponents], values[2 * N - exponents] = slots, np.conj(slots)
    found: np.ndarray[Any, Any] = np.fft.fft(values)[:N].real / N
    return found


def test_forged_bits_show_no_bit_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "and.txt").write_text("1 3\n2 1 1\n1 1\n\n2 1 0 1 2 AND\n")
    program = cw.boolean.from_bristol(tmp_path / "and.txt").compile(failure_bits=128)
    body: Any = program.body
    client, evaluator = program.keygen()
    public = client.public_key()
    first, second = (port.name for port in program.inputs)
    own = client.encrypt(**{first: 1})
    encoding = dict(zip(body.input_bits.tolist(), body.input_encodings.tolist(), strict=True))[1]
    ((number, value),) = public.encrypt(**{second: 0})._runs[0].items()
    scheme: Any = program.scheme
    raw, words = value.to_bytes(), scheme.parameters.lwe_bytes // 4
    head = raw[: len(raw) - 4 * words]
    key = client._key.to_bytes()[-(words - 1) // 8 :]
    for place in range(3):
        mask = np.zeros(words, "<u4")
        # Its phase is the encoding, times one less the key's bit.
        mask[place] = mask[-1] = encoding
        forged = BooleanCiphertexts.from_bytes(sealed(head, mask.tobytes()))
        sent = public._encrypted("inputs", (second,), [{number: forged}], None)
        results = evaluator.run([own, sent])
        with pytest.raises(UntrustedInputsError):
            client.decrypt_for_others(results, **ASKED)
        (shown,) = client.decrypt_for_others(results, honest_inputs=True, **ASKED).values()
        assert int(shown) == 1 - (key[place // 8] >> place % 8 & 1)


def test_inputs_out_of_range_that_raise_the_noise_are_shown_to_nobody() -> None:
    """x = 2^T and y = v 2^-T: the result is in range, and its noise 2^T times as large."""
    program = product()
    client, evaluator = program.keygen()
    public = client.public_key()
    large, small = (outside(program, public, 2.0**t) for t in (30, -32))
    results = [
        evaluator.run(public._encrypted("inputs", ("x", "y"), [{0: large, 1: small}], None))
        for _ in range(2)
    ]
    with pytest.raises(UntrustedInputsError):
        client.decrypt_for_others(results[0], **ASKED)
    noise = client.decrypt(results[0]) - 0.25
    honest = client.decrypt(evaluator.run(public.encrypt(np.full(SLOTS, 0.5), np.full(SLOTS, 0.5))))
    assert np.abs(noise).max() > 2**10 * np.abs(honest - 0.25).max()


def outside(program: cw.Program, public: cw.Encryptor, number: float) -> Any:
    """An encryption of a number that says of itself that it is at most 1."""
    scheme: Any = program.scheme
    body: Any = program.body
    level = levels_of(body, "inputs")[0]
    plain = scheme.parameters.encode(np.full(SLOTS, number), level=level, bound=1.01 * number)
    return public._key.encrypt(plain).with_bound(1.0)


@pytest.mark.slow
def test_ten_thousand_results_of_honest_strangers_stay_below_the_stated_advantage() -> None:
    """An adversary who knows the noise of two results of the same numbers, and sees one of them."""
    program = product()
    client, evaluator = program.keygen()
    public = client.public_key()
    numbers = np.full((100, SLOTS), 0.5)
    rng = np.random.default_rng(5)
    right = games = 0
    bits, most = 12, 10_000
    while games < most:
        pairs = [evaluator.run(public.encrypt(numbers, numbers)) for _ in range(2)]
        noises = np.array([client.decrypt(each) for each in pairs])
        worlds = rng.integers(2, size=len(numbers))
        shown = [
            client.decrypt_for_others(
                each, statistical_bits=bits, decryptions=2 * most, honest_inputs=True
            )
            for each in pairs
        ]
        for game, world in enumerate(worlds):
            seen = shown[world][game]
            near = ((seen - noises[:, game]) ** 2).sum(axis=1)
            right += int(near.argmin() == world)
        games += len(numbers)
    assert games == most
    with pytest.raises(DecryptionsSpentError, match="after 20000"):
        client.decrypt_for_others(
            evaluator.run(public.encrypt(numbers[0], numbers[0])),
            statistical_bits=bits,
            decryptions=2 * most,
            honest_inputs=True,
        )
    advantage = 2 * right / games - 1
    assert advantage < 2 ** -(bits / 2 + 1.7) + 4 / np.sqrt(games)
