from collections import Counter

import cloakwork as cw
from cloakwork.runtime.row import key_bytes_of
from cloakwork.schemes.base import levels_of
from tests.families import greater, mapped
from tests.system.rows import row


def test_a_row_says_what_each_takes_and_all_together() -> None:
    first = cw.compile(lambda a, b: a @ b, (4, 2), (2, 5), log_n=10, insecure=True)
    second = cw.compile(cw.sigmoid, cw.result(first), log_n=10, insecure=True)
    first, second = cw.together(first, second)
    assert "in a row" not in cw.explain(first)
    *_, one, other, both = cw.explain(second).splitlines()
    levels = [levels_of(each.body, "inputs")[0] for each in (first, second)]  # type: ignore[arg-type]
    assert one.startswith(f"  1. <lambda>, levels {levels[0]} to {levels[1]}, ")
    assert other.startswith(f"  2. sigmoid, levels {levels[1]} to 0, ")
    assert other.endswith("error below 2^-20")
    assert both.startswith("  together ")
    _, evaluators = row(first, second)
    assert key_bytes_of([first, second]) == evaluators[1].key_bytes
    assert "in a row" in cw.explain(second.in_clear())


def test_a_row_of_bits_has_one_key() -> None:
    first = mapped(greater(2))
    circuit = cw.boolean.Circuit(greater(1, "again"))
    second = circuit.compile(threads=1, after={"a": cw.result(first, "above")})
    first, second = cw.together(first, second)
    *_, one, other, both = cw.explain(second).splitlines()
    assert one.startswith("  1. greater, ")
    assert other.startswith("  2. again, ")
    assert "bootstrap" in one
    assert "fails with 2^-1" in other
    assert both.startswith("  together ")
    assert key_bytes_of([first, second]) == first.key_bytes


def test_the_estimate_of_a_row_adds_up_what_each_takes() -> None:
    first = cw.compile(lambda a, b: a @ b, (4, 2), (2, 5), log_n=10, insecure=True)
    second = cw.compile(
        lambda y, w: y.sum(axis=1) * w, cw.result(first), (4,), log_n=10, insecure=True
    )
    assert cw.estimate(second).row is None  # they are not together
    first, second = cw.together(first, second)
    one, last = cw.estimate(first, runs=3), cw.estimate(second, runs=3)
    both = last.row
    assert both is not None
    assert one.row is None
    _, evaluators = row(first, second)
    assert both.key_bytes == evaluators[1].key_bytes < one.key_bytes + last.key_bytes
    assert both.operations == Counter(one.operations) + Counter(last.operations)
    assert both.seconds == one.seconds + last.seconds
    # Of the second program w alone is sent.
    assert both.input_bytes == one.input_bytes + last.input_bytes
    sent = sum(second.scheme.bytes_at(each) for each in second.body.states[:2])  # type: ignore[union-attr]
    assert 0 < last.input_bytes < 3 * sent
    assert both.output_bytes == last.output_bytes
    assert one.log2_failure < both.log2_failure < one.log2_failure + 2
    assert "in a row, with all before\nwork " in f"{last}"


def test_the_estimate_of_bits_after_numbers_counts_what_leaves_slots() -> None:
    first = cw.compile(lambda x: x * 2, (10,), log_n=12, insecure=True, precision=12)
    port = cw.Port("v", "signed", 6, shape=(10,), fraction=3)
    second = cw.boolean.above(port, 0.5).compile(threads=1, after={"v": cw.result(first)})
    third = cw.compile(lambda y: y.sum(), cw.result(second), log_n=12, insecure=True, precision=10)
    first, second, third = cw.together(first, second, third)
    found = cw.estimate(second)
    assert found.operations["number out of slots"] == 10
    assert "10 numbers out of slots" in f"{found}"
    assert found.input_bytes == 0
    row_of_all = cw.estimate(third).row
    assert row_of_all is not None
    assert row_of_all.operations["bootstrap"] == found.operations["bootstrap"]
    assert row_of_all.input_bytes == cw.estimate(first).input_bytes
