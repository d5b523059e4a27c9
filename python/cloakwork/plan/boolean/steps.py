"""What one bootstrap of a mapped program does.

With a message space of 4 (phases of v/4 turns) it is one of these:

- A *product*: x in quarter and y in half encoding, v = x + 2y, gives x AND y, and from the same
  blind rotation y and x XOR y in finer encodings.
- A *majority*: three bits in quarter encoding (one may be 0: then it is an AND) and d in half
  encoding, v = a + b + c + 2d, gives majority(a, b, c) XOR d in any encoding.
- A *re-encoding*: y in half encoding, and if wanted x in quarter encoding, v = x + 2y, gives y and
  x XOR y in finer encodings.

With a larger one there are *shared products*: y in half encoding, x in quarter, x' in eighth
encoding and so on, with a space of 8 v = 4y + 2x + x', give what the products of x and of x' with
y give.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class AndStep:
    """An AND, (x XOR x_inverted) AND (y XOR y_inverted), of x in quarter and y in half encoding.

    Args:
        node: The AND.
        x: A node of its plane.
        y: Another one.
        x_inverted: Whether x is complemented.
        y_inverted: Whether y is complemented.
        makes: The nodes made in finer encodings: y, x XOR y, or the AND, alone or XOR x, y, both.
    """

    node: int
    x: int
    y: int
    x_inverted: int
    y_inverted: int
    makes: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ANDs that this does."""
        return (self.node,)

    @property
    def outputs(self) -> int:
        """The outputs of its bootstrap, where all that is made is needed."""
        return len(self.makes) + (self.node not in self.makes)


@dataclass(frozen=True, slots=True)
class SharedProducts:
    """ANDs that share an operand y.

    Args:
        products: Each AND with its x, and with what is made by its product.
    """

    products: tuple[AndStep, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ANDs that this does."""
        return tuple(product.node for product in self.products)

    @property
    def makes(self) -> tuple[int, ...]:
        """The nodes made in finer encodings."""
        return tuple(node for product in self.products for node in product.makes)


@dataclass(frozen=True, slots=True)
class Majority:
    """The majority of two literals and a node, XOR some more nodes.

    Args:
        node: The AND that this does: the majority XOR its last operand.
        literals: The first two operands.
        last: The last operand, 0 for none.
        added: Nodes in half encoding that are added.
        makes: What is made: the node whose value the sum is.
    """

    node: int
    literals: tuple[int, int]
    last: int
    added: tuple[int, ...]
    makes: tuple[int]

    @property
    def nodes(self) -> tuple[int, ...]:
        """The ANDs that this does."""
        return (self.node,)


@dataclass(frozen=True, slots=True)
class Reencoding:
    """Nodes in finer encodings.

    Args:
        x: A node in quarter encoding, 0 for none.
        y: A node in half encoding.
        makes: y, x XOR y, or both.
    """

    x: int
    y: int
    makes: tuple[int, ...]

    @property
    def nodes(self) -> tuple[int, ...]:
        """No AND."""
        return ()


Step = AndStep | SharedProducts | Majority | Reencoding


@dataclass(slots=True)
class Cover:
    """Steps that compute all ANDs of a network that are needed.

    Args:
        steps: In an order of evaluation.
        replaces: Nodes whose sum is to be taken from what was made, not from its parts.
    """

    steps: list[Step] = field(default_factory=list)
    replaces: set[int] = field(default_factory=set)
