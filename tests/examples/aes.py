"""The key expansion of AES from its definition (FIPS 197, section 5.2)."""

from tests.frontends.boolean.aes_sbox import sbox


def expanded(key: bytes) -> bytes:
    """The eleven round keys of a key of 16 bytes, one after another."""
    table, words, constant = sbox(), [list(key[start : start + 4]) for start in range(0, 16, 4)], 1
    while len(words) < 44:
        word = words[-1]
        if len(words) % 4 == 0:
            word = [table[each] for each in word[1:] + word[:1]]
            word[0] ^= constant
            constant = constant << 1 ^ 0x11B * (constant >> 7)
        words.append([a ^ b for a, b in zip(words[-4], word, strict=True)])
    return bytes(each for word in words for each in word)
