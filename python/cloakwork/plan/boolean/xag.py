"""Networks of AND and XOR over bits: what the mapper works on.

A literal is twice the number of a node, plus 1 for its complement. A node's form is the set of
inputs and ANDs whose XOR it is; nodes of one form are one node, and ANDs whose operands span the
same plane of forms differ by free XORs only and are one AND.
"""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.plan.boolean.tables import best_split, cofactors
from cloakwork.programs.gates import GateKind, GateProgram

FALSE = 0
TRUE = 1

Form = frozenset[int]

# Longer forms are not followed: their node counts as an input of the forms above it.
MAX_FORM = 192


class XorAndGraph:
    """A network under construction; nodes are in an order of evaluation.

    Node 0 is the constant 0, nodes 1 and on are the inputs.

    Args:
        inputs: How many inputs there are.

    Example:
        >>> network = XorAndGraph(2)
        >>> a, b = network.inputs()
        >>> network.land(a, b) == network.xor(network.land(a, b ^ 1), a)
        True
    """

    def __init__(self, inputs: int) -> None:
        self.input_count = inputs
        nodes = range(1 + inputs)
        # Literals of ANDs, nodes of XORs; nothing for what is neither.
        self.operands: list[tuple[int, int] | None] = [None for _ in nodes]
        self.is_and: list[bool] = [False for _ in nodes]
        self.forms: list[Form] = [frozenset([node] if node else []) for node in nodes]
        self.outputs: list[int] = []
        self._node_of: dict[Form, int] = {form: node for node, form in enumerate(self.forms)}
        self._long: dict[tuple[int, int], int] = {}
        self._and_of: dict[Form, int] = {}

    def __len__(self) -> int:
        return len(self.operands)

    def inputs(self) -> list[int]:
        """The literals of the inputs."""
        return [2 * node for node in range(1, 1 + self.input_count)]

    def xor(self, a: int, b: int) -> int:
        """The literal of a XOR b."""
        complement = (a ^ b) & 1
        a, b = a >> 1, b >> 1
        if a == b:
            return complement
        if not a or not b:
            return 2 * (a | b) + complement
        form = self.forms[a] ^ self.forms[b]
        node = self._node_of.get(form)
        if node is None:
            node = self._long_xor(a, b) if len(form) > MAX_FORM else self._append(a, b, form)
        return 2 * node + complement

    def land(self, a: int, b: int) -> int:
        """The literal of a AND b."""
        if a > b:
            a, b = b, a
        if a >> 1 == b >> 1:
            return a if a == b else FALSE
        if a <= TRUE:
            return b if a else FALSE
        third = self.xor(a & ~1, b & ~1)
        plane = frozenset((a >> 1, b >> 1, third >> 1))
        node = self._and_of.get(plane)
        if node is not None:
            return self._relative(node, a, b)
        node = len(self.operands)
        self.operands.append((a, b))
        self.is_and.append(True)
        self.forms.append(frozenset([node]))
        self._node_of[self.forms[node]] = node
        self._and_of[plane] = node
        return 2 * node

    def lor(self, a: int, b: int) -> int:
        """The literal of a OR b."""
        return self.land(a ^ 1, b ^ 1) ^ 1

    def mux(self, select: int, when_one: int, when_zero: int) -> int:
        """The literal of the one that a literal selects."""
        return self.xor(when_zero, self.land(select, self.xor(when_one, when_zero)))

    def table(self, table: int, operands: Sequence[int]) -> int:
        """The literal of a look-up table of operands, the first worth 1, the second 2..."""
        size = len(operands)
        everywhere = (1 << (1 << size)) - 1
        if table in (0, everywhere):
            return TRUE if table else FALSE
        split = best_split(table, size)
        rest = [*operands[: split.variable], *operands[split.variable + 1 :]]
        select = operands[split.variable]
        if split.partner is not None:
            select = self.xor(select, operands[split.partner])
        zero, one = cofactors(table, size, split.variable, split.partner)
        difference = self.table(zero ^ one, rest)
        if split.from_one:
            return self.xor(self.table(one, rest), self.land(select ^ 1, difference))
        return self.xor(self.table(zero, rest), self.land(select, difference))

    def plane(self, node: int) -> tuple[int, int, int]:
        """The operands of an AND and their XOR, any two of which it is made of."""
        a, b = self.children(node)
        return a, b, self.xor(2 * a, 2 * b) >> 1

    def node_of(self, form: Form) -> int | None:
        """The node of a form, if there is one."""
        return self._node_of.get(form)

    def used(self) -> list[bool]:
        """For every node whether an output needs it."""
        used = [False] * len(self)
        for literal in self.outputs:
            used[literal >> 1] = True
        for node in range(len(self) - 1, -1, -1):
            operands = self.operands[node]
            if used[node] and operands is not None:
                shift = int(self.is_and[node])
                used[operands[0] >> shift] = used[operands[1] >> shift] = True
        return used

    def uses(self) -> list[int]:
        """For every node how many needed nodes and outputs it is an operand of."""
        uses = [0] * len(self)
        for node, needed in enumerate(self.used()):
            if needed:
                for child in self.children(node):
                    uses[child] += 1
        for literal in self.outputs:
            uses[literal >> 1] += 1
        return uses

    def children(self, node: int) -> tuple[int, ...]:
        """The nodes that an AND or XOR is made of; none for an input."""
        operands = self.operands[node]
        if operands is None:
            return ()
        shift = int(self.is_and[node])
        return operands[0] >> shift, operands[1] >> shift

    def _append(self, a: int, b: int, form: Form) -> int:
        if len(form) == 2:
            # What two sums share is not needed for the sum of both.
            a, b = sorted(form)
        node = len(self.operands)
        self.operands.append((a, b))
        self.is_and.append(False)
        self.forms.append(form)
        self._node_of[form] = node
        return node

    def _long_xor(self, a: int, b: int) -> int:
        pair = (min(a, b), max(a, b))
        if pair not in self._long:
            self._long[pair] = self._append(a, b, frozenset([len(self.operands)]))
        return self._long[pair]

    def _relative(self, node: int, a: int, b: int) -> int:
        """a AND b, where the AND of the same plane is there already: they differ by XORs."""
        operands = self.operands[node]
        assert operands is not None
        first, second = operands[0] >> 1, operands[1] >> 1

        def product(x: int, y: int, literals: tuple[int, int]) -> int:
            values = [
                (x if literal >> 1 == first else y if literal >> 1 == second else x ^ y)
                ^ (literal & 1)
                for literal in literals
            ]
            return values[0] & values[1]

        differs = [product(x, y, (a, b)) ^ product(x, y, operands) for x, y in _CORNERS]
        result = 2 * node + differs[0]
        if differs[1] != differs[0]:
            result = self.xor(result, 2 * first)
        if differs[2] != differs[0]:
            result = self.xor(result, 2 * second)
        return result


_CORNERS = ((0, 0), (1, 0), (0, 1))


def network_of(program: GateProgram) -> XorAndGraph:
    """The network of a gate program.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("or", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.OR, 0, 1),))
        >>> and_count(network_of(builder.finish()))
        1
    """
    network = XorAndGraph(program.input_bits)
    values = network.inputs()
    for kind, operands, table in program.gates():
        values.append(_gate(network, kind, [values[operand] for operand in operands], table))
    network.outputs = [values[value] for value in program.output_values.tolist()]
    return network


def _gate(network: XorAndGraph, kind: GateKind, used: list[int], table: int) -> int:
    match kind:
        case GateKind.ZERO | GateKind.ONE:
            return TRUE if kind == GateKind.ONE else FALSE
        case GateKind.BUF | GateKind.NOT:
            return used[0] ^ (kind == GateKind.NOT)
        case GateKind.AND | GateKind.NAND:
            return network.land(*used) ^ (kind == GateKind.NAND)
        case GateKind.OR | GateKind.NOR:
            return network.lor(*used) ^ (kind == GateKind.NOR)
        case GateKind.XOR | GateKind.XNOR:
            return network.xor(*used) ^ (kind == GateKind.XNOR)
        case GateKind.MUX:
            return network.mux(*used)
    return network.table(table, used)


def and_count(network: XorAndGraph) -> int:
    """ANDs that an output needs."""
    return sum(used and is_and for used, is_and in zip(network.used(), network.is_and, strict=True))


def only_above(
    network: XorAndGraph, node: int, leaves: tuple[int, ...], uses: Sequence[int]
) -> list[int]:
    """The nodes above the leaves that only a node needs, itself included.

    Example:
        >>> network = XorAndGraph(3)
        >>> a, b, c = network.inputs()
        >>> both = network.land(a, b)
        >>> network.outputs = [network.land(both, c), both]
        >>> only_above(network, network.outputs[0] >> 1, (), network.uses())
        [7, 3]
    """
    left: dict[int, int] = {}
    found = []
    stack = [node]
    while stack:
        found.append(stack.pop())
        for child in network.children(found[-1]):
            if child in leaves:
                continue
            left[child] = left.get(child, uses[child]) - 1
            if not left[child]:
                stack.append(child)
    return found
