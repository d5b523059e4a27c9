"""Numbers that leave slots: an input of a program over bits is a result over reals or integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError, ParametersMismatchError
from cloakwork.programs.bits_of_numbers import MOST_BITS
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.matrix import IntegerMatrixPacking
from cloakwork.programs.packing.results import Keyed, Leaf, integers_of, plain_form
from cloakwork.programs.packing.scalar import ROWS, ResultPlace, ScalarPacking
from cloakwork.programs.port import Port
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.after import After, shape_of, stated_error
from cloakwork.schemes.base import levels_of, value_count
from cloakwork.schemes.bridged import sets_of_numbers
from cloakwork.schemes.tfhe_noise import noise_of

if TYPE_CHECKING:
    from cloakwork.runtime.program import Program

# Where a number of slots is multiplied by the plaintext of one slot, which takes a level's scale.
_LEVEL = 1
_QUARTER = 0.25
# How many deviations noise exceeds with a probability of 2^-64, and with one of 2^-128.
_DEVIATIONS = 9.2
_EXACT_DEVIATIONS = 13.2


@dataclass(frozen=True, slots=True, eq=False)
class Leaving(After):
    """Which input of a program over bits is a result over reals or integers, as whole numbers.

    The numbers of an input with a fixed point are whole multiples of its last bit.
    """

    def misfit(self, program: Program) -> str:
        reason = self.absent(program)
        if reason:
            return reason
        wanted, given = self.port(program), self.result_port
        if not fits(self.program, given, wanted):
            return f"its input {wanted} does not hold the result {given}"
        assert isinstance(program.body, BootstrapProgram)
        if not self._comes_as_numbers(program, program.body):
            return f"its input {self.input!r:.40} does not come as numbers out of slots"
        return ""

    def _comes_as_numbers(self, program: Program, body: BootstrapProgram) -> bool:
        ((own, _),) = self.pairs(program)
        width = self.port(program).width
        places = body.places_of(own) % width
        wanted = np.uint64(1) << (32 - width + places).astype(np.uint64)
        return bool((body.input_encodings[body.signals_of(own)] == wanted).all())

    @property
    def takes_one(self) -> bool:
        return self.program.batch > 1 and not isinstance(self.program.packing, BatchPacking)

    def lacking_levels(self, _: Program) -> int:
        first = self.program.body_of("outputs")
        assert isinstance(first, SlotProgram)
        if first.numbers == "integer":
            return 0
        return _LEVEL - min(levels_of(first, "outputs"))

    def require_fit(self, program: Program, action: str) -> None:
        After.require_fit(self, program, action)
        first = self.program
        width = self.port(program).width
        if first.scheme.encrypts and first.scheme.exact and not leaves_exactly(first, width):
            raise ParametersMismatchError(
                f"cannot {action}: expected results of {first.name} with so little noise that "
                f"{width} bits of them leave slots as they are, got {first.scheme}; bring "
                "both together by cloakwork.together before keys are made"
            )

    def taken(
        self, program: Program, backend: Any, values: Mapping[int, Any], _: str
    ) -> dict[int, Any]:
        """Each number as a ciphertext of its lowest bit, those of its other bits as zeros.

        Args:
            program: The program over bits.
            backend: The evaluation keys.
            values: The results.
        """
        body = program.body
        assert isinstance(body, BootstrapProgram)
        port, own = self.port(program), self.pairs(program)[0][0]
        elements, places = np.divmod(body.places_of(own), port.width)
        used = np.unique(elements)
        numbers = self._numbers(backend.switch, values, port, used)
        zero = numbers.trivial(np.zeros(1, np.uint8), body.input_encodings[:1])
        order = np.where(places == 0, np.searchsorted(used, elements), len(used))
        return {own: numbers.concatenate([zero]).select(order.tolist())}

    def _numbers(
        self, switch: Any, values: Mapping[int, Any], port: Port, used: NDArray[np.int64]
    ) -> Any:
        """The numbers of these elements, each one LWE ciphertext."""
        body = self.program.body
        assert isinstance(body, SlotProgram)
        size = _slots_of_one(body)
        ciphertexts, slots = np.divmod(slots_of(self.program, self.result)[used], size)
        made, order = [], []
        for number in np.unique(ciphertexts).tolist():
            own = np.flatnonzero(ciphertexts == number)
            order.append(own)
            of_one = slots[own].tolist()
            if body.numbers == "integer":
                (value,) = values[number].by_prime
                parts = one_in_modulus(port, self.program.scheme.modulus)
                made.append(switch.leave_integers(value, of_one, parts))
            else:
                made.append(switch.leave(values[number], of_one, _turns(port)))
        first, *others = made
        together = first.concatenate(others) if others else first
        return together.select(np.argsort(np.concatenate(order)).tolist())


def _turns(port: Port) -> float:
    """What 1 is in turns, of which a number of all bits fills one."""
    return float(2.0 ** (port.fraction - port.width))


def one_in_modulus(port: Port, modulus: int) -> int:
    """What 1 is of a plaintext modulus."""
    return round(modulus * _turns(port))


def fits(program: Program, given: Port, wanted: Port) -> bool:
    """Whether numbers of a result, rounded, are numbers of an input over bits."""
    if wanted.shape != shape_of(program, given):
        return False
    if wanted.kind not in ("signed", "unsigned") or not 1 <= wanted.width <= MOST_BITS:
        return False
    if given.kind not in ("real", "integer"):
        return False
    least, greatest = range_of(program, given)
    if given.kind == "integer":
        low, high = _ends(wanted)
        return low <= least and greatest <= high
    return holds(wanted, least, greatest, stated_error(program) or 0.0)


def holds(port: Port, least: float, greatest: float, off: float = 0.0) -> bool:
    """Whether an input over bits holds all reals of a range, which are rounded with some noise.

    What is rounded beyond one end of a port becomes the number at its other end.

    Args:
        port: The input.
        least: The least number.
        greatest: The greatest.
        off: How far numbers may be off.

    Example:
        >>> port = Port("v", "signed", 4)
        >>> holds(port, -8.3, 7.3), holds(port, -8, 7.49), holds(port, -8, 7, off=0.4)
        (True, False, False)
    """
    low, high = rounded_safely(port, off)
    return low <= least and greatest <= high


def rounded_safely(port: Port, off: float = 0.0) -> tuple[float, float]:
    """Between which ends reals are rounded to numbers of an input over bits, whatever the noise.

    Args:
        port: The input.
        off: How far numbers may be off.
    """
    low, high = _ends(port)
    beyond = (0.5 - _noise_of_rounding()) * 2.0**-port.fraction - off
    return low - beyond, high + beyond


def _ends(port: Port) -> tuple[float, float]:
    """The least and the greatest number of an input over bits."""
    low = -(1 << port.width - 1) if port.kind == "signed" else 0
    return math.ldexp(low, -port.fraction), math.ldexp(low + (1 << port.width) - 1, -port.fraction)


@cache
def _noise_of_rounding() -> float:
    """How near to a border of rounding noise decides, as a part of the last bit, in any set.

    By the bootstrap that decides on the lowest bit, with a probability of 2^-128 to be nearer.
    """
    noises = [noise_of(name).switch_variance[0] for name in sets_of_numbers()]
    return 2 * _EXACT_DEVIATIONS * math.sqrt(max(noises))


def range_of(program: Program, port: Port) -> tuple[float, float]:
    """What a result may come to: by the ranges of inputs, where these are known."""
    packing = program.packing
    if isinstance(packing, ScalarPacking):
        form = packing.form.parts[port.name] if isinstance(packing.form, Keyed) else packing.form
        numbers = [each.number for each in integers_of(form) if isinstance(each, Leaf)]
        own = [packing.ranges[number] for number in numbers]
        if own:
            return min(low for low, _ in own), max(high for _, high in own)
    infinity = math.inf
    return (
        -infinity if port.low is None else port.low,
        infinity if port.high is None else port.high,
    )


def _slots_of_one(body: SlotProgram) -> int:
    return body.slots * (ROWS if body.numbers == "integer" else 1)


def slots_of(program: Program, result: str) -> NDArray[np.int64]:
    """For each element of a result in order the slot where it lies, those of all outputs counted.

    Of several evaluations of integers it is that of the first. What a packing makes of vectors that
    hold the numbers of their slots says it.

    Raises:
        InvalidArgumentError: An element lies in no slot, or is the imaginary part of one.
    """
    body, packing = program.body, program.packing
    assert isinstance(body, SlotProgram)
    size, count = _slots_of_one(body), value_count(body, "outputs")
    place = [port.name for port in program.outputs].index(result)
    if isinstance(packing, ScalarPacking):
        vectors = np.arange(size * count).reshape(count, ROWS, -1)
        (found,) = packing.places.unpack([*vectors], 1)
        form = packing.form
        part = form.parts[result] if isinstance(form, Keyed) else form
        leaves = [*integers_of(part)]
        if not all(_is_encrypted(each, packing) for each in leaves):
            raise InvalidArgumentError(
                f"cannot take a result: expected {result} of {program.name} to be encrypted, and "
                "some of it is known; give what is known to the next function itself"
            )
        return np.array([found[each.number] for each in leaves if isinstance(each, Leaf)])
    plain: Any = packing
    if isinstance(packing, IntegerMatrixPacking):
        plain = packing.of_slots
    else:
        plain = replace(plain, form=plain_form(len(program.outputs)))
    numbers: NDArray[Any] = np.arange(size * count)
    shape: tuple[int, ...] = (count, ROWS, -1)
    if body.numbers == "real":
        # Imaginary parts are told by their signs.
        numbers, shape = numbers - 1j * (1 + numbers), (count, size)
    vectors = numbers.reshape(shape)
    many = program.batch if isinstance(packing, BatchPacking) and program.batch > 1 else None
    made = plain.unpack([[*vectors]], many)
    places = np.asarray(made[place] if isinstance(made, tuple) else made).ravel().astype(np.int64)
    if places.min(initial=0) < 0:
        raise InvalidArgumentError(
            f"cannot take a result: expected {result} of {program.name} in real parts of slots, "
            "got two numbers in one; compile the function that returns its argument between them, "
            "as cloakwork.compile(lambda x: x, cloakwork.result(first))"
        )
    return places


def _is_encrypted(leaf: object, packing: ScalarPacking) -> bool:
    """Whether a number of a result lies in a slot, and is not what it is for all inputs."""
    results = packing.places.results
    return isinstance(leaf, Leaf) and isinstance(results[leaf.number], ResultPlace)


def numbers_leaving(program: Program) -> int:
    """How many numbers leave slots for a program."""
    links = (link for link in program.after if isinstance(link, Leaving))
    return sum(math.prod(link.port(program).shape) for link in links)


def border(program: Program, link: Leaving) -> float:
    """How near to a border of rounding a number may be rounded to either side.

    By the error of the result, and by the noise of the bootstrap that decides on the lowest bit,
    which exceeds this with a probability of 2^-64.
    """
    noise = noise_of(program.scheme.parameters.name, program.scheme.failure_bits)
    # Half a turn is one of the last bit.
    of_sign = 2 * _DEVIATIONS * math.sqrt(noise.switch_variance[0])
    return (stated_error(link.program) or 0.0) + of_sign * 2.0 ** -link.port(program).fraction


def require_modulus(first: Program, port: Port, action: str) -> None:
    """Refuse integers whose modulus does not tell the bits of a port apart.

    Raises:
        InvalidArgumentError: It does not.
    """
    modulus, bits = first.scheme.modulus, 2 * port.width
    if len(first.scheme.parameter_sets) > 1 or modulus < 1 << bits:
        is_circuit = isinstance(first.packing, ScalarPacking)
        remedy = "" if is_circuit else "a circuit that returns the numbers of "
        raise InvalidArgumentError(
            f"cannot {action}: expected integers modulo one prime above 2^{bits} for an input of "
            f"{port.width} bits, got {first.scheme}; compile {remedy}{first.name} with "
            f"bits={bits}, or declare fewer bits"
        )


def leaves_exactly(first: Program, width: int) -> bool:
    """Whether noise leaves integers of so many bits as they are, on their way out of slots.

    It does where it exceeds a quarter of the last bit with a probability of 2^-128.
    """
    estimates, *others = first.noise_of_results
    deviation = math.sqrt(max(each.leaving_variance for each in estimates))
    return not others and _EXACT_DEVIATIONS * deviation * 2.0**width <= _QUARTER
