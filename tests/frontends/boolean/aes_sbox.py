"""The S-box of AES from its definition (FIPS 197, section 5.1.1)."""


def sbox() -> list[int]:
    """For every byte its inverse in GF(2^8), mapped affinely over GF(2)."""
    return [_affine(_inverse(number)) for number in range(256)]


def _product(a: int, b: int) -> int:
    result = 0
    while b:
        result ^= a * (b & 1)
        a = a << 1 ^ 0x11B * (a >> 7)
        b >>= 1
    return result


def _inverse(number: int) -> int:
    return next((other for other in range(256) if _product(number, other) == 1), 0)


def _affine(number: int) -> int:
    turned = [number << turn | number >> 8 - turn for turn in range(1, 5)]
    for each in turned:
        number ^= each & 0xFF
    return number ^ 0x63
