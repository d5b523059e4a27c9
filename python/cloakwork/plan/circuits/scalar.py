"""The circuit as it is written, one ciphertext operation for each of its own: the plan to beat."""

from __future__ import annotations

from cloakwork.programs.ir.circuits import (
    Applied,
    CircuitInput,
    Difference,
    Integer,
    Negative,
    Scalar,
    ScalarCircuit,
    ScalarOperation,
    ScalarProduct,
    Sum,
    needed_values,
)
from cloakwork.programs.ir.vectors import (
    Clear,
    LaneProgram,
    Multiple,
    Offset,
    PackedLanes,
    Place,
    PlacedScalar,
)
from cloakwork.programs.operations import Add, Mul, Neg, Operation, Rotate, Sub


def scalar_program(circuit: ScalarCircuit) -> LaneProgram:
    """One operation for each of the circuit, all in slot 0.

    A scalar that may lie in a ciphertext of its own does; the others are rotated to slot 0.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder
        >>> builder = CircuitBuilder("product")
        >>> x, y = builder.input(CircuitInput("x", (2,)))
        >>> builder.output("z", (), (builder.append(ScalarProduct(x, y)),))
        >>> print(scalar_program(builder.finish()))
        product, 2 slots wide
          %0 = pack 0:x[0] 1:x[1]
          %1 = rotate %0 by 1
          %2 = mul %0 %1
          output z = %2@0
    """
    return _Translator(circuit).program()


class _Translator:
    def __init__(self, circuit: ScalarCircuit) -> None:
        self._circuit = circuit
        self._declared = {each.name: each for each in circuit.inputs}
        self._operations: list[Operation] = []
        self._packed: dict[str, int] = {}

    def program(self) -> LaneProgram:
        # What depends on no input stays clear.
        values: list[int | Clear] = []
        needed = needed_values(self._circuit)
        for number, operation in enumerate(self._circuit.operations):
            values.append(self._value(operation, values) if number in needed else Clear(0))
        outputs = self._circuit.outputs
        places = tuple(
            tuple(self._place(values[value]) for value in output.values) for output in outputs
        )
        circuit = self._circuit
        return LaneProgram(circuit.title, circuit.inputs, tuple(self._operations), outputs, places)

    def _place(self, value: int | Clear) -> Place | Clear:
        return value if isinstance(value, Clear) else Place(value, 0)

    def _append(self, operation: Operation) -> int:
        self._operations.append(operation)
        return len(self._operations) - 1

    def _value(self, operation: ScalarOperation, values: list[int | Clear]) -> int | Clear:
        match operation:
            case Scalar(input=name, index=index):
                return self._scalar(self._declared[name], index)
            case Integer(value=value):
                return Clear(value)
            case Sum(left=left, right=right):
                return self._sum(values[left], values[right])
            case Difference(left=left, right=right):
                return self._sum(values[left], values[right], sign=-1)
            case ScalarProduct(left=left, right=right):
                return self._product(values[left], values[right])
            case Negative(operand=operand):
                positive = values[operand]
                if isinstance(positive, Clear):
                    return Clear(-positive.value)
                return self._append(Neg(positive))
            case Applied():
                raise AssertionError

    def _scalar(self, declared: CircuitInput, index: int) -> int:
        if not declared.grouped:
            return self._append(PackedLanes((PlacedScalar(0, declared.name, index),)))
        slots = declared.slots or tuple(range(declared.count))
        if declared.name not in self._packed:
            scalars = [
                PlacedScalar(slot, declared.name, number) for number, slot in enumerate(slots)
            ]
            scalars.sort(key=lambda scalar: scalar.slot)
            self._packed[declared.name] = self._append(PackedLanes(tuple(scalars)))
        packed = self._packed[declared.name]
        return self._append(Rotate(packed, slots[index])) if slots[index] else packed

    def _sum(self, left: int | Clear, right: int | Clear, sign: int = 1) -> int | Clear:
        match left, right:
            case Clear(), Clear():
                return Clear(left.value + sign * right.value)
            case int(), Clear():
                return self._append(Offset(left, ((0, sign * right.value),)))
            case Clear(), int():
                signed = right if sign > 0 else self._append(Neg(right))
                return self._append(Offset(signed, ((0, left.value),)))
            case int(), int():
                return self._append((Add if sign > 0 else Sub)(left, right))
        raise AssertionError

    def _product(self, left: int | Clear, right: int | Clear) -> int | Clear:
        match left, right:
            case Clear(), Clear():
                return Clear(left.value * right.value)
            case (int(operand), Clear(value)) | (Clear(value), int(operand)):
                return self._append(Multiple(operand, value))
            case int(), int():
                return self._append(Mul(left, right))
        raise AssertionError
