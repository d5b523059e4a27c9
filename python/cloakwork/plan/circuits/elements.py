"""Circuits that compute the same of many elements: one circuit, and what each element takes.

Such a circuit runs on slots as it does for one element, an element a slot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cloakwork.plan.circuits.to_slots import SlotPlan
from cloakwork.programs.ir.circuits import (
    Applied,
    CircuitInput,
    CircuitOutput,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarOperation,
    operands_of,
)
from cloakwork.programs.ir.vectors import PlacedScalar
from cloakwork.programs.packing.scalar import InputDigits, ResultPlace, ScalarPlaces


@dataclass(frozen=True, slots=True, eq=False)
class AlikeElements:
    """What a circuit does with each element.

    Args:
        circuit: That, of inputs that hold what one element takes of each, in order.
        scalars: For each element what scalars of the whole circuit these are, by input.
        places: For each result of the whole circuit its element, and which result it is of that.
    """

    circuit: ScalarCircuit
    scalars: tuple[Mapping[str, Sequence[int]], ...]
    places: tuple[tuple[int, int], ...]

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.scalars)

    def placed(self, plan: SlotPlan, digits: Sequence[InputDigits]) -> SlotPlan:
        """The plan of one element with all of them in slots side by side."""
        counts = {each.input: each.count for each in digits}

        def spread(scalar: PlacedScalar) -> tuple[PlacedScalar, ...]:
            place, digit = divmod(scalar.index, counts.get(scalar.input, 1))
            rows = (each[scalar.input][place] for each in self.scalars)
            count = counts.get(scalar.input, 1)
            return tuple(
                PlacedScalar(slot, scalar.input, index * count + digit)
                for slot, index in enumerate(rows)
            )

        inputs = tuple(spread(scalar) for (scalar,) in plan.places.inputs)
        results = [
            replace(place, slot=element) if isinstance(place, ResultPlace) else place
            for element, place in (
                (element, plan.places.results[number]) for element, number in self.places
            )
        ]
        return replace(
            plan, places=ScalarPlaces(plan.places.slots, self.count, inputs, tuple(results))
        )


def elements_of(circuit: ScalarCircuit) -> AlikeElements | None:
    """The elements of a circuit of one output; None where it is not the same of several.

    Example:
        >>> from cloakwork.frontends.circuit.inputs import scalar, vector
        >>> from cloakwork.frontends.circuit.staging import staged
        >>> declared = {"v": vector(3), "x": scalar()}
        >>> found = elements_of(staged(lambda v, x: [each < x for each in v], declared).circuit)
        >>> found.scalars[2], found.places
        ({'v': [2], 'x': [0]}, ((0, 0), (1, 0), (2, 0)))
    """
    (output,) = circuit.outputs
    groups: dict[tuple[ScalarOperation, ...], list[int]] = {}
    for number, value in enumerate(output.values):
        groups.setdefault(_Cone(circuit, (value,)).key, []).append(number)
    rows = [*zip(*groups.values(), strict=False)]
    if len({len(each) for each in groups.values()}) > 1 or len(rows) < 2:
        return None
    cones = [_Cone(circuit, tuple(output.values[number] for number in row)) for row in rows]
    if any(each.key != cones[0].key for each in cones) or not _may_be_spread(circuit, cones):
        return None
    places = {number: (at, own) for at, row in enumerate(rows) for own, number in enumerate(row)}
    return AlikeElements(
        cones[0].circuit,
        tuple(each.scalars for each in cones),
        tuple(places[number] for number in range(output.count)),
    )


def _may_be_spread(circuit: ScalarCircuit, cones: Sequence[_Cone]) -> bool:
    """Whether no input has a layout, and what several elements take may be copied."""
    for each in circuit.inputs:
        taken = [index for cone in cones for index in cone.scalars.get(each.name, ())]
        if each.grouped or (not each.replicated and len(set(taken)) < len(taken)):
            return False
    return True


class _Cone:
    """What some values are computed from, in an order that only how they are computed decides.

    Attributes:
        key: The operations, whose operands and scalars are counted anew, and which the values are.
        scalars: The scalars, by input.
    """

    def __init__(self, circuit: ScalarCircuit, values: Sequence[int]) -> None:
        self._circuit = circuit
        self._values = values
        self._numbers: dict[int, int] = {}
        self._operations: list[ScalarOperation] = []
        self.scalars: dict[str, list[int]] = {}
        for value in values:
            self._add(value)
        self.key = (*self._operations, *(Integer(self._numbers[each]) for each in values))

    @property
    def circuit(self) -> ScalarCircuit:
        """The circuit that these values are the results of."""
        (output,) = self._circuit.outputs
        numbers = tuple(self._numbers[each] for each in self._values)
        inputs = tuple(
            CircuitInput(each.name, (len(self.scalars[each.name]),), replicated=True, grouped=False)
            for each in self._circuit.inputs
            if each.name in self.scalars
        )
        outputs = (CircuitOutput(output.name, (len(numbers),), numbers),)
        origins = tuple(self._circuit.origins[each] for each in self._numbers)
        return ScalarCircuit(self._circuit.title, inputs, tuple(self._operations), outputs, origins)

    def _add(self, value: int) -> None:
        waiting = [value]
        while waiting:
            each = waiting[-1]
            operation = self._circuit.operations[each]
            left = [one for one in operands_of(operation) if one not in self._numbers]
            if left and each not in self._numbers:
                waiting += reversed(dict.fromkeys(left))
                continue
            waiting.pop()
            if each not in self._numbers:
                self._numbers[each] = len(self._operations)
                self._operations.append(self._counted(operation))

    def _counted(self, operation: ScalarOperation) -> ScalarOperation:
        """An operation whose operands are counted from the first of the cone."""
        match operation:
            case Scalar(input=name, index=index):
                own = self.scalars.setdefault(name, [])
                own.append(index)
                return Scalar(name, len(own) - 1)
            case Integer():
                return operation
            case Negative(operand=operand):
                return Negative(self._numbers[operand])
            case Applied(function=function, operands=operands):
                return Applied(function, tuple(self._numbers[each] for each in operands))
            case _:
                left, right = (self._numbers[each] for each in operands_of(operation))
                return type(operation)(left, right)
