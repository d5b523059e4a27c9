"""The example circuits against Python and a library's AES."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

import cloakwork as cw
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.programs.port import Port
from tests.examples.aes import expanded
from tests.examples.haskell_programs import FOLDER, haskell

RUNS = 1000
AES_RUNS = 10_000

LINEAR = ("zero", "one", "buf", "not", "xor", "xnor")


def nonlinear(program: Circuit) -> int:
    """Gates that are no XORs."""
    counts = program.statistics().gates
    return sum(count for kind, count in counts.items() if kind not in LINEAR)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def encrypted(key: bytes, block: bytes) -> bytes:
    return Cipher(AES(key), ECB()).encryptor().update(block)


# FIPS 197, appendices B and C.1: key, block, encrypted block.
VECTORS = [
    (
        "2b7e151628aed2a6abf7158809cf4f3c",
        "3243f6a8885a308d313198a2e0370734",
        "3925841d02dc09fbdc118597196a0b32",
    ),
    (
        "000102030405060708090a0b0c0d0e0f",
        "00112233445566778899aabbccddeeff",
        "69c4e0d86a7b0430d8cdb78070b4c55a",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("vector", VECTORS, ids=["B", "C.1"])
def test_aes_expands_the_keys_of_the_standard(vector: tuple[str, str, str]) -> None:
    key = bytes.fromhex(vector[0])
    assert haskell("Aes.hs", "expandKey").run_clear(key=key)["out"] == expanded(key)


@pytest.mark.slow
@pytest.mark.parametrize("vector", VECTORS, ids=["B", "C.1"])
def test_aes_on_the_vectors_of_the_standard(vector: tuple[str, str, str]) -> None:
    key, block, wanted = (bytes.fromhex(each) for each in vector)
    expanded_key = expanded(key)
    assert haskell("Aes.hs", "encrypt").run_clear(key=expanded_key, block=block) == {"out": wanted}
    assert haskell("Aes.hs", "decrypt").run_clear(key=expanded_key, block=wanted) == {"out": block}


@pytest.mark.slow
def test_aes_on_random_blocks(rng: np.random.Generator) -> None:
    keys = rng.integers(0, 256, (AES_RUNS, 16), dtype=np.uint8)
    blocks = rng.integers(0, 256, (AES_RUNS, 16), dtype=np.uint8)
    wanted = b"".join(
        encrypted(key.tobytes(), block.tobytes()) for key, block in zip(keys, blocks, strict=True)
    )
    expanded_keys = haskell("Aes.hs", "expandKey").run_clear(key=keys)["out"]
    assert expanded_keys.shape == (AES_RUNS, 176)
    assert expanded_keys[7].tobytes() == expanded(keys[7].tobytes())
    found = haskell("Aes.hs", "encrypt").run_clear(key=expanded_keys, block=blocks)["out"]
    assert found.tobytes() == wanted
    again = haskell("Aes.hs", "decrypt").run_clear(key=expanded_keys, block=found)["out"]
    assert (again == blocks).all()


@pytest.mark.slow
def test_aes_has_32_ands_for_each_s_box() -> None:
    assert haskell("Aes.hs", "encrypt").statistics().gates["and"] == 160 * 32
    assert [nonlinear(haskell("Aes.hs", top)) for top in ("encrypt", "decrypt", "expandKey")] == [
        160 * 32,
        160 * 32,
        40 * 32,
    ]


TABLES = [(100, 7), (500, 9)]


@pytest.mark.slow
@pytest.mark.parametrize(("entries", "bits"), TABLES)
def test_retrieval(rng: np.random.Generator, entries: int, bits: int) -> None:
    table = rng.integers(0, 1 << 32, (RUNS, entries))
    index = rng.integers(0, 1 << bits, RUNS)
    padded = np.zeros((RUNS, 1 << bits), dtype=np.int64)
    padded[:, :entries] = table
    program = haskell("Pir.hs", f"lookup{entries}")
    found = program.run_clear(entries=table, index=index)["out"]
    assert (found == padded[np.arange(RUNS), index]).all()
    assert nonlinear(program) < 66 * entries


@pytest.mark.slow
@pytest.mark.parametrize(("entries", "bits"), TABLES)
def test_retrieval_from_a_table_in_the_program(entries: int, bits: int) -> None:
    index = np.arange(1 << bits)
    wanted = np.where(index < entries, (index + 1) * 2654435761 % (1 << 32), 0)
    found = haskell("Pir.hs", f"table{entries}").run_clear(index=index)["out"]
    assert (found == wanted).all()


@pytest.mark.slow
def test_membership(rng: np.random.Generator) -> None:
    entries = rng.integers(0, 1 << 32, (RUNS, 100))
    word = np.where(np.arange(RUNS) % 2, entries[:, 99], rng.integers(0, 1 << 32, RUNS))
    # All but one bit of an entry are those of the word.
    word[0] = entries[0, 42] ^ (1 << 31)
    program = haskell("Pir.hs", "member100")
    found = program.run_clear(entries=entries, word=word)["out"]
    assert found.tolist() == (entries == word[:, None]).any(axis=1).tolist()
    assert set(found.tolist()) == {0, 1}
    assert nonlinear(program) == 100 * 31 + 99


@pytest.mark.slow
def test_adder(rng: np.random.Generator) -> None:
    a, b = ([int(each) for each in row] for row in rng.integers(0, 1 << 64, (2, RUNS), np.uint64))
    program = haskell("Adder.hs", "sumOf")
    found = program.run_clear(a=a, b=b)["out"]
    assert found.tolist() == [x + y for x, y in zip(a, b, strict=True)]
    assert nonlinear(program) == 64


def test_adder_in_bristol_fashion(rng: np.random.Generator) -> None:
    program = cw.boolean.from_bristol(
        FOLDER / "adder.txt",
        [Port("a", "unsigned", 32), Port("b", "unsigned", 32)],
        [Port("total", "unsigned", 33)],
    )
    a, b = rng.integers(0, 1 << 32, (2, RUNS))
    assert (program.run_clear(a=a, b=b)["total"] == a + b).all()
    assert nonlinear(program) == 32


@pytest.mark.slow
def test_calculator(rng: np.random.Generator) -> None:
    code = rng.integers(0, 4, RUNS)
    a, b = rng.integers(-128, 128, (2, RUNS))
    wanted = np.choose(code, [a + b, a - b, a * b, np.maximum(a, b)])
    found = haskell("Calculator.hs", "calculate").run_clear(code=code, a=a, b=b)["out"]
    assert (found == wanted).all()


@pytest.mark.slow
def test_relu(rng: np.random.Generator) -> None:
    x = rng.integers(-128, 128, (RUNS, 16))
    program = haskell("Relu.hs", "relu")
    assert (program.run_clear(x=x)["out"] == np.maximum(x, 0)).all()
    assert nonlinear(program) == 16 * 7


@pytest.mark.slow
def test_sorting_network(rng: np.random.Generator) -> None:
    numbers = rng.integers(0, 256, (RUNS, 8))
    numbers[:50] %= 3
    program = haskell("Sort.hs", "sorted")
    assert (program.run_clear(numbers=numbers)["out"] == np.sort(numbers, axis=1)).all()
    assert nonlinear(program) <= 19 * 16


def test_multiplier(rng: np.random.Generator) -> None:
    program = cw.boolean.from_verilog(FOLDER / "Multiplier.v", top="multiplier")
    a, b = ([int(each) for each in row] for row in rng.integers(0, 1 << 32, (2, RUNS)))
    found = program.run_clear(a=a, b=b)["product"]
    assert found.tolist() == [x * y for x, y in zip(a, b, strict=True)]
