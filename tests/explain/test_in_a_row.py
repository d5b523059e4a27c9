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
