"""A circuit operation by operation: each scalar its own ciphertext, nothing moved."""

from __future__ import annotations

from dataclasses import replace

from cloakwork.programs.circuits import (
    Circuit,
    Difference,
    Integer,
    Negative,
    Product,
    Scalar,
    Sum,
)
from cloakwork.programs.lanes import (
    Clear,
    LaneProgram,
    Multiple,
    Offset,
    Packed,
    Place,
    PlacedScalar,
    VectorDifference,
    VectorNegative,
    VectorOperation,
    VectorProduct,
    VectorSum,
)


def scalar_lanes(circuit: Circuit) -> LaneProgram:
    """The lane program that does every operation of a circuit by itself, in slot 0.

    What its inputs say of their placement is left aside.

    Example:
        >>> from cloakwork.programs.circuits import CircuitBuilder, CircuitInput
        >>> builder = CircuitBuilder("product")
        >>> x, y = builder.input(CircuitInput("v", (2,)))
        >>> builder.output("p", (), (builder.append(Product(x, y)),))
        >>> print(scalar_lanes(builder.finish()))
        product, 1 slots wide
          %0 = pack 0:v[0]
          %1 = pack 0:v[1]
          %2 = mul %0 %1
          output p = %2@0
    """
    made: list[VectorOperation] = []
    # A vector's number, or a clear integer that no vector is needed for.
    values: list[int | Clear] = []

    def append(operation: VectorOperation) -> int:
        made.append(operation)
        return len(made) - 1

    def sum_of(left: int | Clear, right: int | Clear) -> int | Clear:
        match left, right:
            case Clear(value=a), Clear(value=b):
                return Clear(a + b)
            case (int(vector), Clear(value=addend)) | (Clear(value=addend), int(vector)):
                return append(Offset(vector, ((0, addend),))) if addend else vector
            case int(first), int(second):
                return append(VectorSum(first, second))
        raise AssertionError

    def product_of(left: int | Clear, right: int | Clear) -> int | Clear:
        match left, right:
            case Clear(value=a), Clear(value=b):
                return Clear(a * b)
            case (int(vector), Clear(value=factor)) | (Clear(value=factor), int(vector)):
                if factor == 0:
                    return Clear(0)
                return negative_or_multiple(vector, factor)
            case int(first), int(second):
                return append(VectorProduct(first, second))
        raise AssertionError

    def negative_or_multiple(vector: int, factor: int) -> int:
        match factor:
            case 1:
                return vector
            case -1:
                return append(VectorNegative(vector))
            case _:
                return append(Multiple(vector, factor))

    for operation in circuit.operations:
        match operation:
            case Scalar(input=name, index=index):
                values.append(append(Packed((PlacedScalar(0, name, index),))))
            case Integer(value=value):
                values.append(Clear(value))
            case Sum(left=left, right=right):
                values.append(sum_of(values[left], values[right]))
            case Product(left=left, right=right):
                values.append(product_of(values[left], values[right]))
            case Negative(operand=operand):
                values.append(product_of(values[operand], Clear(-1)))
            case Difference(left=left, right=right):
                first, second = values[left], values[right]
                if isinstance(first, int) and isinstance(second, int):
                    values.append(append(VectorDifference(first, second)))
                else:
                    values.append(sum_of(first, product_of(second, Clear(-1))))
    places = tuple(
        tuple(
            value if isinstance(value, Clear) else Place(value, 0)
            for value in (values[number] for number in output.values)
        )
        for output in circuit.outputs
    )
    free = tuple(
        replace(each, replicated=False, grouped=False, slots=None) for each in circuit.inputs
    )
    return LaneProgram(circuit.title, free, tuple(made), circuit.outputs, places)
