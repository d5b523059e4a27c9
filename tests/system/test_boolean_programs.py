"""The example programs over bits, on ciphertexts, against what they make in the clear."""

from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.frontends.boolean.circuit import Circuit
from examples.boolean import aes, transcipher
from tests.examples.aes import expanded
from tests.examples.haskell_programs import FOLDER, haskell


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def encrypted_run(circuit: Circuit, /, **inputs: Any) -> dict[str, Any]:
    program = circuit.compile()
    found: dict[str, Any] = program.run(**inputs)
    # What runs in the clear is the very program that ran encrypted.
    clear = program.run_clear(**inputs)
    assert found.keys() == clear.keys()
    assert all(np.array_equal(found[name], clear[name]) for name in clear)
    return found


def require_as_in_the_clear(program: Circuit, /, **inputs: Any) -> None:
    found, wanted = encrypted_run(program, **inputs), program.run_clear(**inputs)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


# Two minutes; what is below runs with the same keys.
@pytest.mark.slow
def test_a_block_of_aes() -> None:
    key, block, wanted = (bytes.fromhex(each) for each in aes.EXAMPLES["C.1"])
    found = encrypted_run(haskell("Aes.hs", "encrypt"), key=expanded(key), block=block)
    assert found == {"out": wanted}


@pytest.mark.slow
def test_rectifier(rng: np.random.Generator) -> None:
    require_as_in_the_clear(haskell("Relu.hs", "relu"), x=rng.integers(-128, 128, 16))


@pytest.mark.slow
def test_sorting_network(rng: np.random.Generator) -> None:
    require_as_in_the_clear(haskell("Sort.hs", "sorted"), numbers=rng.integers(0, 256, 8))


@pytest.mark.slow
def test_adder_of_64_bits(rng: np.random.Generator) -> None:
    a, b = (int(each) for each in rng.integers(0, 1 << 64, 2, np.uint64))
    require_as_in_the_clear(haskell("Adder.hs", "sumOf"), a=a, b=b)


def test_adder_in_bristol_fashion(rng: np.random.Generator) -> None:
    a, b = (int(each) for each in rng.integers(0, 1 << 32, 2))
    program = cw.boolean.from_bristol(FOLDER / "adder.txt")
    assert encrypted_run(program, x0=a, x1=b) == {"y0": a + b}


@pytest.mark.slow
def test_decrypting_a_block_of_aes() -> None:
    key, block, wanted = (bytes.fromhex(each) for each in aes.EXAMPLES["B"])
    found = encrypted_run(haskell("Aes.hs", "decrypt"), key=expanded(key), block=wanted)
    assert found == {"out": block}


@pytest.mark.slow
def test_expanding_a_key_of_aes() -> None:
    key = bytes.fromhex(aes.EXAMPLES["C.1"][0])
    assert encrypted_run(haskell("Aes.hs", "expandKey"), key=key) == {"out": expanded(key)}


@pytest.mark.slow
@pytest.mark.parametrize("code", range(4))
def test_calculator(rng: np.random.Generator, code: int) -> None:
    a, b = (int(each) for each in rng.integers(-128, 128, 2))
    require_as_in_the_clear(haskell("Calculator.hs", "calculate"), code=code, a=a, b=b)


@pytest.mark.slow
def test_multiplier(rng: np.random.Generator) -> None:
    program = cw.boolean.from_verilog(FOLDER / "Multiplier.v", top="multiplier")
    a, b = (int(each) for each in rng.integers(0, 1 << 32, 2))
    assert encrypted_run(program, a=a, b=b) == {"product": a * b}


@pytest.mark.slow
@pytest.mark.parametrize("entries", [100, 500])
def test_retrieval_from_an_encrypted_table(rng: np.random.Generator, entries: int) -> None:
    table = rng.integers(0, 1 << 32, entries)
    index = int(rng.integers(entries))
    found = encrypted_run(haskell("Pir.hs", f"lookup{entries}"), entries=table, index=index)
    assert found == {"out": table[index]}


@pytest.mark.slow
@pytest.mark.parametrize("entries", [100, 500])
def test_retrieval_from_a_table_in_the_program(entries: int) -> None:
    index = entries // 3
    found = encrypted_run(haskell("Pir.hs", f"table{entries}"), index=index)
    assert found == {"out": (index + 1) * 2654435761 % (1 << 32)}


@pytest.mark.slow
@pytest.mark.parametrize("is_member", [False, True])
def test_membership_in_an_encrypted_table(rng: np.random.Generator, is_member: bool) -> None:
    entries = rng.integers(0, 1 << 31, 100)
    word = int(entries[57]) if is_member else int(entries[57]) | 1 << 31
    found = encrypted_run(haskell("Pir.hs", "member100"), entries=entries, word=word)
    assert found == {"out": is_member}


@pytest.mark.slow
def test_an_offer_on_an_enciphered_record(rng: np.random.Generator) -> None:
    circuit, expand_key, offer = transcipher.programs()
    client, evaluator = circuit.compile().keygen()
    key, counter = rng.bytes(16), rng.bytes(16)
    hidden_key = client.encrypt(key=expand_key.run_clear(key=key)["out"])
    message = transcipher.enciphered(key, counter, transcipher.packed(transcipher.RECORD))
    hidden_offer = evaluator.run(hidden_key, {"block": counter, "message": message})
    assert client.decrypt(hidden_offer) == {"out": 4800}
    assert offer.run_clear(record=transcipher.RECORD) == {"out": 4800}
