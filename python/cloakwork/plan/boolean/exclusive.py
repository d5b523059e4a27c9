"""ORs made XORs, which are free, where no more than one of their sides can be 1."""

from __future__ import annotations

import dataclasses

from cloakwork.programs.gates import GateKind, GateProgram

# Twice a value, plus 1 for its complement.
_Literal = int

# What a literal needs to be 1: one of these products at least, each a set of literals, numbered
# from 0, as the bits of a number. A product of nothing is always there.
_Products = frozenset[int]

_ANYTHING: _Products = frozenset([0])
_MOST_PRODUCTS = 512

# Which operands of the AND that a gate is are complemented, and whether the AND is.
_AS_AND = {
    GateKind.AND: (0, 0),
    GateKind.NAND: (0, 1),
    GateKind.OR: (1, 1),
    GateKind.NOR: (1, 0),
}


def with_exclusive_ors(program: GateProgram) -> GateProgram:
    """The same function with XORs for ORs whose sides exclude each other.

    They do where every product that one side needs has a literal whose complement every product of
    the other has: so it is where one of many entries is selected by its number. Gates that are
    ORs of complements (NAND), and complements of ORs, are made XORs and XNORs alike.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("select", (Port("a", "bits", 3),))
        >>> when_one = builder.append(GateKind.AND, 0, 1)
        >>> when_zero = builder.append(GateKind.AND, builder.append(GateKind.NOT, 0), 2)
        >>> either = builder.append(GateKind.OR, when_one, when_zero)
        >>> builder.output(Port("y", "bits", 1), (either,))
        >>> [kind.name for kind, _, _ in with_exclusive_ors(builder.finish()).gates()]
        ['AND', 'NOT', 'AND', 'XOR']
    """
    needs = _Needs(program)
    kinds = program.kinds.copy()
    for gate, kind in enumerate(map(GateKind, kinds.tolist())):
        if kind in _AS_AND and needs.exclude(gate):
            kinds[gate] = _exclusive(kind)
    return dataclasses.replace(program, kinds=kinds)


def _exclusive(kind: GateKind) -> GateKind:
    """The gate that does the same where not both sides of the OR in a gate are 1."""
    return GateKind.XOR if _AS_AND[kind][1] else GateKind.XNOR


class _Needs:
    """What the literals of a program need to be 1."""

    def __init__(self, program: GateProgram) -> None:
        self._ands = _ands(program)
        self._first = program.input_bits
        place = _places(self._ands)
        self._exclusive: dict[tuple[_Products, _Products], bool] = {}
        self._of: list[_Products] = []
        for value in range(self._first + program.gate_count):
            products = [_ANYTHING, _ANYTHING]
            operands = self._ands[value - self._first] if value >= self._first else ()
            if operands:
                inverted = program.kinds[value - self._first] in _INVERTED
                products[inverted] = _both(*(self._of[operand] for operand in operands))
                products[not inverted] = _either(*(self._of[operand ^ 1] for operand in operands))
            for complement, each in enumerate(products):
                own = 1 << (2 * place[value] + complement) if value in place else 0
                self._of.append(frozenset(product | own for product in each) if own else each)

    def exclude(self, gate: int) -> bool:
        """Whether the sides of the OR in a gate are known never to be 1 at once."""
        a, b = (self._of[operand ^ 1] for operand in self._ands[gate])
        if (a, b) not in self._exclusive:
            self._exclusive[a, b] = all(
                turned & other for turned in map(_complements, a) for other in b
            )
        return self._exclusive[a, b]


_INVERTED = frozenset(kind for kind, (_, inverted) in _AS_AND.items() if inverted)


def _ands(program: GateProgram) -> list[tuple[_Literal, ...]]:
    """For every gate that is an AND of literals, or its complement, these literals."""
    literal_of = [2 * value for value in range(program.input_bits)]
    ands: list[tuple[_Literal, ...]] = []
    for kind, operands, _ in program.gates():
        ands.append(())
        literal_of.append(2 * len(literal_of))
        if kind in (GateKind.NOT, GateKind.BUF):
            literal_of[-1] = literal_of[operands[0]] ^ (kind == GateKind.NOT)
        elif kind in _AS_AND:
            ands[-1] = tuple(literal_of[operand] ^ _AS_AND[kind][0] for operand in operands)
    return ands


def _places(ands: list[tuple[_Literal, ...]]) -> dict[int, int]:
    """Numbers for the values that ANDs take plain and complemented: others exclude nothing."""
    taken = {literal for operands in ands for literal in operands}
    both = [literal >> 1 for literal in sorted(taken) if not literal & 1 and literal ^ 1 in taken]
    return {value: place for place, value in enumerate(both)}


def _both(a: _Products, b: _Products) -> _Products:
    """Products of which one is needed where one of a and one of b is."""
    if len(a) > 1 and len(b) > 1:
        # All pairs would be too many; what either side needs is needed.
        return min(a, b, key=len)
    return frozenset(x | y for x in a for y in b)


def _either(a: _Products, b: _Products) -> _Products:
    together = a | b
    return _ANYTHING if 0 in together or len(together) > _MOST_PRODUCTS else together


def _complements(product: int) -> int:
    plain = int.from_bytes(b"\x55" * (product.bit_length() // 8 + 1), "little")
    return (product & plain) << 1 | (product >> 1) & plain
