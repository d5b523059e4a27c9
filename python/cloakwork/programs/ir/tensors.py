"""The tensor operations: what frontends ask for, before anything has a place in slots.

They form a graph of nodes; `plan.tensors.lower` turns it into a slot program. Operands that are
not nodes are clear arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork.programs.layout import Layout
from cloakwork.programs.packing.results import Form
from cloakwork.programs.places import TensorPlace
from cloakwork.programs.port import Port
from cloakwork.programs.spec import Spec

# What numbers are that are 0 or 1: true and false, as a comparison's; see `programs.ir.truths`; or
# numbers as others are, such as the bits of a circuit.
Choice: TypeAlias = Literal["", "truths", "bits"]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """An encrypted tensor from outside.

    Args:
        name: Its name; empty to number it among the inputs.
        shape: Its shape.
        place: Where its elements sit; None where the planner may choose.
        level: Its level; None where the planner may choose.
        tensor: The tensor itself, where there is one.
    """

    name: str
    shape: tuple[int, ...]
    place: TensorPlace | None = None
    level: int | None = None
    tensor: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """One or two operands, at least one a node, multiplied and summed label by label.

    Args:
        operands: Nodes and clear arrays.
        labels: Labels of each operand, one per axis; an axis of size 1 stretches.
        output: Labels of the result, each once.
        shape: Shape of the result.
        origin: The user's line.
    """

    operands: tuple[Node | NDArray[np.float64], ...]
    labels: tuple[str, ...]
    output: str
    shape: tuple[int, ...]
    origin: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Sum:
    """The sum of nodes, each with a sign, and of a clear array; axes of size 1 stretch.

    Args:
        terms: The nodes.
        signs: +1 or -1 for each.
        constant: The clear array, of the result's shape, or None.
        shape: Shape of the result.
        origin: The user's line.
    """

    terms: tuple[Node, ...]
    signs: tuple[int, ...]
    constant: NDArray[np.float64] | None
    shape: tuple[int, ...]
    origin: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Rearrange:
    """Elements of one node in another order and shape: slices, reshapes, flips.

    Args:
        operand: The node.
        elements: For each element of the result, which element of the operand it is,
            counted in C order; in the result's shape.
        origin: The user's line.
    """

    operand: Node
    elements: NDArray[np.int64]
    origin: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.elements.shape


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """A node whose elements lie in a range that cannot be seen from what it is made of.

    Args:
        operand: The node.
        low: The least number that an element is.
        high: The greatest.
        claimed: Whether the user says so, rather than mathematics; clients check what they can.
        choice: What its elements are, where they are 1 and 0 alone.
        cleared: Whether slots beside the elements are cleared where they may hold anything, so that
            the range is that of all slots.
        exponent: The base-2 logarithm of the unit that the numbers and the range are in; see
            `plan.functions.units`.
    """

    operand: Node
    low: float
    high: float
    claimed: bool
    choice: Choice = ""
    cleared: bool = False
    exponent: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.operand.shape


@dataclass(frozen=True, slots=True, eq=False)
class Apply:
    """A function of every element, which the planner replaces by what comes near to it.

    Args:
        function: Its name, one of `programs.functions`.
        operand: The node.
        bits: Bits after the binary point that are to be right; None for those of the program.
        origin: The user's line.
        gap: Of a comparison, how close to 0 its values may be between the two that it has; None
            for what is usual, which clients check.
        closest: Of a comparison, how close to 0 its numbers come, where that is closer than usual;
            clients check it.
    """

    function: str
    operand: Node
    bits: int | None = None
    origin: str = ""
    gap: float | None = None
    closest: float | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.operand.shape


@dataclass(frozen=True, slots=True)
class Use:
    """What a function is used for at one place of a program.

    Args:
        name: The function.
        low: The least number that it is meant for.
        high: The greatest.
        claimed: Whether the range rests on what the user says of numbers on the way.
        gap: How close to 0 a number may not be.
    """

    name: str
    low: float
    high: float
    claimed: bool
    gap: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Evaluate:
    """A polynomial of every element, in the Chebyshev basis over a range.

    Args:
        operand: The node.
        coefficients: Those of the polynomial, from degree 0 up.
        low: The number that is taken to -1.
        high: The number that is taken to 1.
        title: What it is for, in a few words.
        use: The function that begins with it; None within one.
        scale: What the operand is of the function's, where a function begins with it.
        origin: The user's line.
    """

    operand: Node
    coefficients: tuple[float, ...]
    low: float
    high: float
    title: str
    use: Use | None = None
    scale: float = 1.0
    origin: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the result."""
        return self.operand.shape


Node: TypeAlias = Source | Contract | Sum | Rearrange | Within | Apply | Evaluate


def operand_nodes(node: Node) -> tuple[Node, ...]:
    """The nodes that a node works on.

    Example:
        >>> x = Source("x", (2,))
        >>> operand_nodes(Sum((x, x), (1, -1), None, (2,))) == (x, x)
        True
    """
    match node:
        case Source():
            return ()
        case Contract():
            return tuple(each for each in node.operands if not isinstance(each, np.ndarray))
        case Sum():
            return node.terms
        case Rearrange() | Within() | Apply() | Evaluate():
            return (node.operand,)


def are_truths(node: Node) -> bool:
    """Whether the numbers of a node stand for true and false, and add up as numpy's booleans do.

    Example:
        >>> x = Source("x", (2,))
        >>> above = Apply("step", x)
        >>> are_truths(above), are_truths(x), are_truths(Sum((above,), (1,), None, (2,)))
        (True, False, False)
    """
    return _choice(node) == "truths"


def are_zeros_and_ones(node: Node) -> bool:
    """Whether the numbers of a node are known to be 0 or 1: truths, or bits, which are numbers.

    Example:
        >>> bits = Apply("bit_of_phase", Source("x", (2,)))
        >>> are_zeros_and_ones(bits), are_truths(bits)
        (True, False)
    """
    return bool(_choice(node))


def _choice(node: Node) -> Choice:
    """What numbers are that are 0 or 1."""
    match node:
        case Source(tensor=tensor):
            return "truths" if tensor is not None and tensor.truths else ""
        case Apply(function="step"):
            return "truths"
        case Apply(function="bit_of_phase"):
            return "bits"
        case Within(operand=operand, choice=choice):
            return choice or _choice(operand)
        case Rearrange(operand=operand):
            return _choice(operand)
        case Contract(operands=(operand,), labels=(term,), output=output):
            is_summed = set(term) != set(output)
            return "" if is_summed or isinstance(operand, np.ndarray) else _choice(operand)
        case _:
            return ""


def on_operands(node: Node, made: Callable[[Node], Node]) -> Node:
    """The same node of what is made of its operands; itself where these are unchanged.

    Example:
        >>> x, y = Source("x", (2,)), Source("y", (2,))
        >>> on_operands(Apply("exp", x), {x: y}.__getitem__).operand is y
        True
    """
    old = operand_nodes(node)
    new = [made(each) for each in old]
    if all(one is other for one, other in zip(new, old, strict=True)):
        return node
    match node:
        case Source():
            return node
        case Contract(operands=operands):
            left = iter(new)
            found = (one if isinstance(one, np.ndarray) else next(left) for one in operands)
            return replace(node, operands=tuple(found))
        case Sum():
            return replace(node, terms=tuple(new))
        case Rearrange() | Within() | Apply() | Evaluate():
            (operand,) = new
            return replace(node, operand=operand)


def with_sources(node: Node, sources: Mapping[Node, Source]) -> Node:
    """The same node of other encrypted tensors.

    Example:
        >>> x, y = Source("x", (2,)), Source("y", (2,))
        >>> with_sources(Sum((x, x), (1, -1), None, (2,)), {x: y}).terms[0] is y
        True
    """
    made: dict[Node, Node] = dict(sources)

    def placed(each: Node) -> Node:
        # A node may be the operand of many.
        if each not in made:
            if isinstance(each, Source):
                raise KeyError(each.name)
            made[each] = on_operands(each, placed)
        return made[each]

    return placed(node)


@dataclass(frozen=True, slots=True)
class TensorFunction:
    """What a function does.

    Args:
        sources: Its arguments.
        specs: Shape and range of each.
        results: What it returns.
        form: Whether it returns the one tensor, or a tuple.
        samples: Arguments such as it will be given; none where nobody has any.
        places: Where the first results are to lie, which are the next arguments; the planner
            chooses for others.
    """

    sources: tuple[Source, ...]
    specs: tuple[Spec, ...]
    results: tuple[Node, ...]
    form: Form
    samples: tuple[Mapping[Source, NDArray[np.float64]], ...] = ()
    places: tuple[Layout, ...] = ()

    @property
    def inputs(self) -> tuple[Port, ...]:
        """The arguments as a program takes them."""
        return tuple(spec.port(source.name) for source, spec in self.spec_of.items())

    @property
    def spec_of(self) -> Mapping[Source, Spec]:
        """Shape and range of each argument."""
        return dict(zip(self.sources, self.specs, strict=True))
