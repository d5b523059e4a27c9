"""What stays on a device, to be used again."""

from __future__ import annotations

from cloakwork.programs.slots import Input, Neg, Output, SlotProgram
from cloakwork.schemes.device.cache import DeviceCache


def _program() -> SlotProgram:
    return SlotProgram("", 8, (Input("x", 1), Neg(0), Output(1)), (None,) * 3)


def test_other_programs_give_way_those_used_longest_ago_first() -> None:
    cache, first, second, third = DeviceCache(100), _program(), _program(), _program()
    for program, name in ((first, "a"), (second, "b")):
        cache.begin(program, spare=1000)
        assert cache.free_up(40)
        cache.keep(name, name, 40)
    cache.begin(first, spare=1000)
    assert cache.find("a") == "a"
    cache.begin(third, spare=1000)
    assert cache.free_up(60)
    assert (cache.find("a"), cache.find("b")) == ("a", None)


def test_what_the_program_at_hand_uses_stays() -> None:
    cache, first, second = DeviceCache(100), _program(), _program()
    cache.begin(first, spare=1000)
    cache.keep("a", "a", 60)
    assert not cache.free_up(60)
    assert cache.find("a") == "a"
    cache.begin(second, spare=1000)
    # What two programs use is that of the last.
    assert cache.find("a") == "a"
    assert not cache.free_up(60)


def test_no_more_is_kept_than_the_program_spares() -> None:
    cache, program = DeviceCache(100), _program()
    cache.begin(program, spare=50)
    assert not cache.free_up(51)
    assert cache.free_up(50)


def test_all_is_given_up_but_what_stays_to_the_end() -> None:
    cache, program = DeviceCache(100), _program()
    cache.begin(program, spare=1000)
    cache.reserve(30)
    cache.keep("a", "a", 60)
    cache.clear()
    assert cache.find("a") is None
    assert cache.free_up(70)
    assert not cache.free_up(71)
