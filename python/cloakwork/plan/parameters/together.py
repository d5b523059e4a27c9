"""Programs brought into one parameter set, so that one secret key serves all of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import is_
from types import MappingProxyType
from typing import Any

from cloakwork._native import BgvParameters, Parameters
from cloakwork.base.arguments import shown, truth
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    InvalidProgramError,
    NoiseBudgetError,
    NoiseExhaustedError,
    ParametersMismatchError,
)
from cloakwork.plan.parameters.bgv import roomier_sets
from cloakwork.plan.parameters.ckks import SCALE_BITS
from cloakwork.plan.reals.expected import DRAWN_BITS
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.raised_levels import with_raised_levels
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.after import After, programs_before
from cloakwork.runtime.executor import estimated_results
from cloakwork.runtime.leaving import Leaving, leaves_exactly
from cloakwork.runtime.program import Program
from cloakwork.runtime.returning import LEVEL as RETURN_LEVEL
from cloakwork.runtime.returning import Returning
from cloakwork.runtime.row import encrypted_ports
from cloakwork.schemes.bgv import Bgv
from cloakwork.schemes.bridged import (
    BridgedBits,
    BridgedIntegers,
    BridgedReals,
    sets_of_numbers,
    takes_numbers,
)
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.ckks_noise import noise_of
from cloakwork.schemes.tfhe import Tfhe

_ACTION = "bring programs together"


@names_memory("bring programs together")
def together(*programs: Program, insecure: bool = False) -> tuple[Program, ...]:
    """The same programs on one parameter set, so that one secret key serves all of them.

    Over reals the set has the levels of the deepest program and the longest of all scales, so that
    no result is less precise than before; a program with fewer levels starts lower. Over integers
    it is that of the program whose set serves all others. Programs of one set stay as they are. A
    program whose result another takes (`cloakwork.result`) gets the levels that the other needs.
    All that was made by a program that is changed, such as keys, is of the program as it was.

    Args:
        programs: Programs of one kind: all over reals, all over integers, or all over bits.
        insecure: Allow a set below 128-bit security; for tests.

    Returns:
        The programs in their order, changed where they have to be.

    Raises:
        InvalidArgumentError: They are not programs, or they are in the clear, or one is missing
            that another follows.
        ParametersMismatchError: No parameter set serves all of them: they are of several kinds or
            rings, refresh values in several ways, or compute modulo several numbers.
        InsecureParametersError: The set that would do is not 128-bit secure in their ring.

    Example:
        >>> import cloakwork as cw
        >>> shallow = cw.compile(lambda x: x + 1, (4,), log_n=13)
        >>> deep = cw.compile(lambda x: x * x, (4,), log_n=13)
        >>> shallow, deep = cw.together(shallow, deep)
        >>> shallow.scheme.key_set == deep.scheme.key_set
        True
    """
    insecure = truth(insecure, "insecure", _ACTION)
    for each in programs:
        if not isinstance(each, Program):
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected programs, got {shown(each)}; give what compile returns"
            )
        if not each.scheme.encrypts:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: {each.name} is in the clear; give the programs that encrypt, "
                "and take in_clear of what this gives"
            )
    alone = {part.fingerprint: part for each in programs for part in each.parts}
    made = _together([*alone.values()], insecure)
    return tuple(
        replace(made[each.fingerprint], row=each.row) if each.row else made[each.fingerprint]
        for each in programs
    )


def lifted(program: Program, levels: int) -> Program:
    """A program over reals that begins, and ends, so many levels higher.

    Raises:
        ParametersMismatchError: It refreshes values, or no set is as precise.
        InsecureParametersError: The set that would do is not 128-bit secure in its ring.
    """
    if not levels:
        return program
    made = _reals_together([program], {program.fingerprint: levels}, insecure=False)
    return made[program.fingerprint]


@names_memory("bring programs together")
def in_a_row(*programs: Program, insecure: bool = False) -> Program:
    """One program that runs several, each of which takes results of those before it.

    They are brought together (`cloakwork.together`). The client encrypts what no other program
    makes, the evaluator runs one program after the other, and the results are those of the last.

    Args:
        programs: The programs, each after those that it follows (`cloakwork.result`).
        insecure: Allow parameters below 128-bit security; for tests.

    Raises:
        InvalidArgumentError: They are not such programs, or the last one follows not all others.
        InvalidProgramError: Two take an input of one name in different kinds or shapes, or one
            keeps a state.
        CloakworkError: What `together` raises.

    Example:
        >>> import cloakwork as cw
        >>> first = cw.compile(lambda x: x * x, (4,), log_n=13)
        >>> second = cw.boolean.argmax(cw.Port("v", "signed", 8, shape=(4,), fraction=6))
        >>> program = cw.in_a_row(first, second.compile(after={"v": cw.result(first)}))
        >>> client, evaluator = program.keygen()
        >>> client.decrypt(evaluator.run(client.encrypt([0.5, -0.75, 0.25, 0])))["index"]
        1
    """
    made = together(*programs, insecure=insecure)
    parts = [part for each in made for part in each.parts]
    last = parts[-1] if parts else None
    row = [] if last is None else [*programs_before(last), last]
    if (
        last is None
        or len(row) < 2
        or {each.fingerprint for each in parts} != {each.fingerprint for each in row}
    ):
        names = ", ".join(each.name for each in parts) or "none"
        raise InvalidArgumentError(
            f"cannot run programs in a row: expected two or more, the last of which follows all "
            f"others, got {names}; take what one makes by cloakwork.result into the next"
        )
    inputs = (port.name for each in row for port in encrypted_ports(each))
    return replace(last, row=tuple(dict.fromkeys(inputs)))


def _together(programs: Sequence[Program], insecure: bool) -> Mapping[str, Program]:
    """Programs on one set, by what they were, none of which is a whole row."""
    _require_those_before(programs)
    lifts = _lifts(programs)
    if _are_together(programs) and not any(lifts.values()):
        return {each.fingerprint: each for each in programs}
    slots = [each for each in programs if isinstance(each.body, SlotProgram)]
    bits = [each for each in programs if each not in slots]
    # Slots and bits are brought together for numbers that go from one to the other.
    several = any(isinstance(link, Leaving | Returning) for each in programs for link in each.after)
    for kind in (slots, bits) if several else (programs,):
        if len({each.scheme.name for each in kind}) <= 1:
            continue
        apart = _apart(programs)
        if any(apart[each.fingerprint] is not each for each in programs):
            found = _together([*apart.values()], insecure)
            return {name: found[each.fingerprint] for name, each in apart.items()}
        raise _refusal(
            programs,
            "one scheme, or programs over bits that follow those over slots",
            [each.scheme.name for each in programs],
            "let keygen make keys for each kind by itself",
        )
    made: dict[str, Program] = {}
    if slots and isinstance(slots[0].scheme, Ckks):
        made = _reals_together(slots, lifts, insecure=insecure)
    elif slots:
        made = _integers_together(slots, lifts, _widths(bits), insecure=insecure)
    if bits:
        made = _bits_together(bits, lifts, made)
    return _bridged(programs, made) if slots and bits else made


def _apart(programs: Sequence[Program]) -> dict[str, Program]:
    """Programs, each with a scheme of its own alone, by what they were."""
    made: dict[str, Program] = {}
    for each in _in_order(programs):
        is_beside = isinstance(each.scheme, BridgedReals | BridgedIntegers | BridgedBits)
        after = _links_to(made, each)
        own = each.scheme.plain if is_beside else each.scheme
        is_same = own is each.scheme and all(map(is_, after, each.after))
        made[each.fingerprint] = each if is_same else replace(each, scheme=own, after=after)
    return made


def _links_to(made: Mapping[str, Program], program: Program) -> tuple[After, ...]:
    """What a program follows, as it is now; by what they were."""
    now = (made.get(link.program.fingerprint, link.program) for link in program.after)
    return tuple(
        link if one is link.program else replace(link, program=one)
        for link, one in zip(program.after, now, strict=True)
    )


def _are_together(programs: Sequence[Program]) -> bool:
    """Whether they have one set, which leaves noise of integers in a row enough room."""
    if len({each.scheme.key_set for each in programs}) > 1:
        return False
    try:
        return all(not each.after or each.noise_of_results is not None for each in programs)
    except NoiseExhaustedError:
        return False


def _widths(programs: Sequence[Program]) -> dict[str, int]:
    """The most bits of numbers that leave slots, by the program that makes them."""
    widths: dict[str, int] = {}
    for each in programs:
        for link in each.after:
            if isinstance(link, Leaving):
                first = link.program.fingerprint
                widths[first] = max(widths.get(first, 0), link.port(each).width)
    return widths


def _bridged(programs: Sequence[Program], made: Mapping[str, Program]) -> dict[str, Program]:
    """Programs over slots and over bits, each with the scheme of the other beside its own."""
    slots, bits = (
        next(each.scheme for each in made.values() if isinstance(each.body, kind))
        for kind in (SlotProgram, BootstrapProgram)
    )
    done: dict[str, Program] = {}
    for before in _in_order(programs):
        each = made[before.fingerprint]
        scheme = each.scheme
        match scheme:
            case Ckks():
                scheme = BridgedReals(scheme, bits, returns=_returns(each))
            case Bgv():
                scheme = BridgedIntegers(scheme, bits)
            case _:
                scheme = BridgedBits(scheme, slots)
        after = tuple(
            replace(own, program=done[link.program.fingerprint])
            for own, link in zip(each.after, before.after, strict=True)
        )
        done[before.fingerprint] = replace(each, scheme=scheme, after=after)
    return done


def _returns(program: Program) -> bool:
    """Whether bits come into its slots."""
    return any(isinstance(link, Returning) for link in program.after)


def _bits_together(
    programs: Sequence[Program], lifts: Mapping[str, int], before: Mapping[str, Program]
) -> dict[str, Program]:
    """Under the set of one of them, in which bootstraps of all go wrong as seldom as they may."""
    names = [each.scheme.parameters.name for each in programs]
    for name in dict.fromkeys([*names, *sets_of_numbers()] if before else names):
        if before and not takes_numbers(name):
            continue
        with suppress(InvalidProgramError, NoiseBudgetError):
            return _moved(programs, Tfhe(name), lifts, before)
    raise _refusal(
        programs,
        "one set of parameters for bootstraps of all",
        [each.scheme.parameters.name for each in programs],
        "compile them with fewer failure_bits",
    )


def _require_those_before(programs: Sequence[Program]) -> None:
    """Refuse programs that follow others which are not among them."""
    given = {each.fingerprint for each in programs}
    for each in programs:
        for link in each.after:
            if link.program.fingerprint not in given:
                raise InvalidArgumentError(
                    f"cannot {_ACTION}: expected {link.program.name} among them, whose result "
                    f"{each.name} takes, got {', '.join(one.name for one in programs)}; give "
                    f"{link.program.name} as it was given to cloakwork.result"
                )


def _lifts(programs: Sequence[Program]) -> dict[str, int]:
    """By how many levels each has to begin higher, so that those that follow have enough."""
    lifts = dict.fromkeys((each.fingerprint for each in programs), 0)
    for each in reversed(_in_order(programs)):
        for link in each.after:
            first = link.program.fingerprint
            needed = link.lacking_levels(each) + lifts[each.fingerprint]
            lifts[first] = max(lifts[first], needed)
    return lifts


def _in_order(programs: Sequence[Program]) -> list[Program]:
    """Each program after those that it follows."""
    given = {each.fingerprint: each for each in programs}
    # Of those that are given none is before itself.
    before = (one.fingerprint for each in programs for one in (*programs_before(each), each))
    return [given[each] for each in dict.fromkeys(before) if each in given]


def _require_raisable(programs: Sequence[Program], lifts: Mapping[str, int]) -> None:
    """Refuse further levels for programs whose parameters say where results stand."""
    for each in programs:
        levels = lifts[each.fingerprint]
        if levels and isinstance(each.body, SlotProgram) and refreshes(each.body):
            raise ParametersMismatchError(
                f"cannot {_ACTION}: expected {levels} further levels of the results of "
                f"{each.name}, got a program that refreshes values, whose parameters say where "
                "they stand; compile what follows it in one function with it"
            )


def _moved(
    programs: Sequence[Program],
    scheme: Any,
    lifts: Mapping[str, int],
    before: Mapping[str, Program] = MappingProxyType({}),
) -> dict[str, Program]:
    """The programs under the parameters of a scheme, each with the levels that others need.

    Args:
        programs: The programs.
        scheme: The scheme.
        lifts: By how many levels each begins higher.
        before: Others that they follow, as they are now, by what they were.
    """
    made = dict(before)
    for each in _in_order(programs):
        body = each.body
        if isinstance(body, SlotProgram):
            body = with_raised_levels(body, lifts[each.fingerprint])
        # Those of another kind are as they were until all are brought together.
        after = _links_to(made, each)
        same = all(map(is_, after, each.after))
        if same and body is each.body and each.scheme.key_set == scheme.key_set:
            made[each.fingerprint] = each
        else:
            own = _scheme_like(scheme, each.scheme)
            made[each.fingerprint] = replace(each, scheme=own, body=body, after=after)
    return made


def _scheme_like(scheme: Any, own: Any) -> Any:
    """A program's scheme under the parameters of another."""
    if own.key_set == scheme.key_set:
        return own
    if isinstance(scheme, Tfhe):
        return Tfhe(scheme.parameters.name, own.failure_bits)
    if isinstance(scheme, Ckks):
        return Ckks(scheme.parameters, scheme.refreshing, public_inputs=own.public_inputs)
    return Bgv(scheme.parameter_sets, public_inputs=own.public_inputs, modular=own.modular)


def _require_one_ring(programs: Sequence[Program], rings: Sequence[int]) -> None:
    """Refuse programs of several rings."""
    if len(set(rings)) > 1:
        named = [f"log_n={ring}" for ring in rings]
        raise _refusal(programs, "one ring", named, f"compile all with log_n={max(rings)}")


def _reals_together(
    programs: Sequence[Program], lifts: Mapping[str, int], *, insecure: bool
) -> dict[str, Program]:
    _require_one_ring(programs, [each.scheme.parameters.log_n for each in programs])
    _require_raisable(programs, lifts)
    schemes = _refreshing_schemes(programs) or _schemes_without_bootstraps(
        programs, lifts, insecure=insecure
    )
    reached = [_precision(each) for each in programs]
    for scheme in schemes:
        with suppress(InvalidProgramError):
            moved = _moved(programs, scheme, lifts)
            if all(
                _is_as_precise(moved[own.fingerprint], own, least)
                for own, least in zip(programs, reached, strict=True)
            ):
                return moved
    raise _refusal(
        programs,
        "one set that has the levels and the precision of each",
        [str(each.scheme) for each in programs],
        "compile them with less precision or fewer steps in a row",
    )


def _refreshing_schemes(programs: Sequence[Program]) -> list[Ckks]:
    """Those of programs that refresh values, whose chains are as bootstraps need them."""
    found = {
        each.scheme.refreshing.parameters.to_bytes(): each.scheme
        for each in programs
        if each.scheme.refreshing is not None
    }
    if len(found) > 1:
        raise _refusal(
            programs,
            "values to be refreshed under one set",
            [str(each) for each in found.values()],
            "compile them with the same precision, and inputs of the same bounds",
        )
    return [*found.values()]


def _schemes_without_bootstraps(
    programs: Sequence[Program], lifts: Mapping[str, int], *, insecure: bool
) -> Iterator[Ckks]:
    """The set of a program that has the levels, scale and headroom of all; or a new one."""
    sets: list[Parameters] = [each.scheme.parameters for each in programs]
    levels = max(
        each.body.top_level + lifts[each.fingerprint] + RETURN_LEVEL * _returns(each)
        for each in programs
        if isinstance(each.body, SlotProgram)
    )
    scale, headroom = max(each.scale_bits for each in sets), max(e.headroom_bits for e in sets)
    # Rings have few of the shortest primes.
    words = sorted({each.word_bits for each in sets})
    for each in programs:
        own = each.scheme.parameters
        same = own.scale_bits >= scale and own.headroom_bits >= headroom
        same = same and own.word_bits == words[0]
        if same and own.levels >= levels:
            yield each.scheme
    while scale <= SCALE_BITS[-1]:
        for word in words:
            try:
                made = Parameters(
                    levels=levels,
                    scale_bits=scale,
                    headroom_bits=headroom,
                    log_n=sets[0].log_n,
                    word_bits=word,
                    insecure=insecure or any(each.insecure for each in sets),
                )
            except InsecureParametersError as refusal:
                raise InsecureParametersError(
                    f"cannot {_ACTION}: {', '.join(each.name for each in programs)} together take "
                    f"{levels} levels of scale 2^{scale:g}: {refusal.reason}; compile all with "
                    f"log_n={sets[0].log_n + 1}, or, for tests, say insecure=True here, too"
                ) from refusal
            except InvalidParametersError:
                continue
            yield Ckks(made)
        # Keys of longer chains have a little more noise.
        scale = math.floor(scale) + 1


def _precision(program: Program) -> float:
    """Bits after the binary point that are right in every result."""
    (found,) = estimated_results(
        program.scheme, program.body, program.input_bounds, program.value_bounds
    )
    precision: float = min(each.precision for each in found)
    return precision


def _is_as_precise(moved: Program, own: Program, reached: float) -> bool:
    """Whether a program under another set is as precise as it was.

    Of a deep network estimates for all inputs say nothing, and its error is what was drawn for
    some, with a margin: it stands where operations are no noisier than by what a draw is off.
    """
    if moved is own or _precision(moved) >= reached:
        return True
    is_drawn = own.error is not None and own.error < 2.0**-reached
    return is_drawn and _rotation_noise(moved) <= 2.0**DRAWN_BITS * _rotation_noise(own)


def _rotation_noise(program: Program) -> float:
    """What a rotation adds in a slot, as relinearisations and rescales do."""
    own = program.scheme.parameters
    return noise_of(own).rotation(2.0**own.scale_bits)


def _moduli_of_all(programs: Sequence[Program]) -> tuple[int, ...]:
    """The primes whose product holds the results of all.

    Raises:
        ParametersMismatchError: The results of some are modulo a prime of their own.
    """
    several = {
        tuple(each.plaintext_modulus for each in one.scheme.parameter_sets): one for one in programs
    }
    follows = any(each.after for each in programs)
    own = any(getattr(each.packing, "modulus", None) or each.scheme.modular for each in programs)
    if len(several) > 1 and (own or not follows):
        raise _refusal(
            programs,
            "one modulus",
            [", ".join(map(str, moduli)) for moduli in several],
            "compile all with the bits of the one with the largest",
        )
    return max(several, key=math.prod)


def _integer_schemes(
    programs: Sequence[Program],
    moduli: Sequence[int],
    lifts: Mapping[str, int],
    *,
    insecure: bool,
) -> Iterator[Bgv]:
    """The sets of programs over these primes; or new ones with more and more room for noise."""
    sets: list[Sequence[BgvParameters]] = [each.scheme.parameter_sets for each in programs]
    for each in programs:
        if [one.plaintext_modulus for one in each.scheme.parameter_sets] == [*moduli]:
            yield each.scheme
    levels = max(
        each.body.top_level + lifts[each.fingerprint]
        for each in programs
        if isinstance(each.body, SlotProgram)
    )
    try:
        for made in roomier_sets(sets, moduli, levels, insecure=insecure):
            yield Bgv(made)
    except InsecureParametersError as refusal:
        names = ", ".join(each.name for each in programs)
        raise InsecureParametersError(
            f"cannot {_ACTION}: {names} together take {levels} levels, and noise takes more of the "
            f"modulus: {refusal.reason}; compile all with log_n={sets[0][0].log_n + 1}, or, for "
            "tests, say insecure=True here, too"
        ) from refusal


def _integers_together(
    programs: Sequence[Program],
    lifts: Mapping[str, int],
    widths: Mapping[str, int],
    *,
    insecure: bool,
) -> dict[str, Program]:
    """Under the set of one of them, or one with more room for what leaves slots."""
    sets: list[Sequence[BgvParameters]] = [each.scheme.parameter_sets for each in programs]
    _require_one_ring(programs, [of_one[0].log_n for of_one in sets])
    moduli = _moduli_of_all(programs)
    failure = max(each.failure_bits for of_one in sets for each in of_one)
    for scheme in _integer_schemes(programs, moduli, lifts, insecure=insecure):
        if min(each.failure_bits for each in scheme.parameter_sets) < failure:
            continue
        with suppress(InvalidProgramError, NoiseExhaustedError):
            moved = _moved(programs, scheme, lifts)
            for each in moved.values():
                _ = each.noise_of_results
            if all(leaves_exactly(moved[own], width) for own, width in widths.items()):
                return moved
    raise _refusal(
        programs,
        "a program whose parameters leave the noise of all others enough of the modulus",
        [str(each.scheme) for each in programs],
        "compile the one with the most levels with as many failure_bits and bits as the others",
    )


def _refusal(
    programs: Sequence[Program], expected: str, got: Sequence[str], advice: str
) -> ParametersMismatchError:
    """Why no set serves programs, with what each has."""
    several = "; ".join(f"{each} for {one.name}" for each, one in zip(got, programs, strict=False))
    return ParametersMismatchError(
        f"cannot {_ACTION}: expected {expected}, got {several}; {advice}"
    )
