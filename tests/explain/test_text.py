"""What explain prints."""

import numpy as np

import cloakwork as cw
from cloakwork.explain.text import counts

SESSION = cw.Session(depth=3, backend="clear", insecure=True, log_n=11)


def test_a_plan_shows_layouts_work_levels_and_keys() -> None:
    x = SESSION.encrypt(np.full((4, 5), 0.125))
    text = cw.explain(cw.einsum("ij,kj->ik", x, np.ones((3, 5))))
    for words in (
        "einsum ij,kj->ik",
        "operand0  (4, 5)",
        "result  (4, 3)",
        "slot 0:[0,0] 1:[0,1]",
        "rotations",
        "levels  3 to 2",
        "memory",
        "error  below 2^",
        "= input operand0",
    ):
        assert words in text
    assert "0.125" not in text


def test_a_fresh_tensor_has_no_plan() -> None:
    assert cw.explain(SESSION.encrypt(1.0)).startswith("made here, not computed")


def test_counts_of_a_matrix_product() -> None:
    a, b = SESSION.encrypt(np.ones((4, 5))), SESSION.encrypt(np.ones((5, 3)))
    program = cw.einsum("ij,jk->ik", a, b).program
    assert program is not None
    found = counts(program)
    assert found["ciphertext products"] == 1
    assert found["rescales"] <= 3
    assert found["rotations"] <= 25


def test_a_tensor_over_many_ciphertexts_is_shown_once() -> None:
    x = SESSION.encrypt(np.ones((60, 70)))
    y = SESSION.encrypt(np.ones((60, 1)))
    result: cw.Tensor = x * y
    text = cw.explain(result)
    lines = [
        line.split("  ")[1] for line in text.splitlines() if line.startswith("  ") and "(" in line
    ]
    assert [name for name in lines if name.startswith(("operand", "result"))] == [
        "operand0",
        "operand1",
        "result",
    ]
    assert f"{len(result.values)} ciphertexts of 1024 slots" in text
    assert "operand0.0" in text
    assert f"{result.nbytes / 1024:.1f} KiB for the result" in text


def test_a_view_shows_where_it_starts() -> None:
    text = cw.explain(SESSION.encrypt(np.ones((4, 5)))[1:, ::-1])
    assert "result  (3, 5)  0:3@5 1:5@-1 from 9" in text
    assert "the rest anything" in text
    assert "slot 5:[0,4] 6:[0,3]" in text
