"""Circuits as gate programs, written from their definitions."""

from itertools import pairwise

from cloakwork.programs.gates import GateBuilder, GateKind, GateProgram
from cloakwork.programs.port import Port
from tests.plan.boolean import boyar_peralta


def adder(width: int) -> GateProgram:
    """Two numbers into their sum, by full adders of five gates."""
    builder = GateBuilder("adder", (Port("a", "unsigned", width), Port("b", "unsigned", width)))
    total, carry = [], None
    for bit in range(width):
        low, carry = _full_adder(builder, bit, width + bit, carry)
        total.append(low)
    assert carry is not None
    builder.output(Port("sum", "unsigned", width + 1), [*total, carry])
    return builder.finish()


def multiplier(width: int) -> GateProgram:
    """Two numbers into their product, column by column."""
    builder = GateBuilder("product", (Port("a", "unsigned", width), Port("b", "unsigned", width)))
    columns: list[list[int]] = [[] for _ in range(2 * width + 1)]
    for i in range(width):
        for j in range(width):
            columns[i + j].append(builder.append(GateKind.AND, i, width + j))
    for column, above in pairwise(columns):
        while len(column) > 1:
            third = column.pop(0) if len(column) > 2 else None
            low, carry = _full_adder(builder, column.pop(0), column.pop(0), third)
            column.append(low)
            above.append(carry)
    zero = builder.append(GateKind.ZERO)
    bits = [column[0] if column else zero for column in columns[: 2 * width]]
    builder.output(Port("product", "unsigned", 2 * width), bits)
    return builder.finish()


def less(width: int) -> GateProgram:
    """Whether the first of two numbers is the smaller one."""
    builder = GateBuilder("less", (Port("a", "unsigned", width), Port("b", "unsigned", width)))
    result = builder.append(GateKind.AND, builder.append(GateKind.NOT, 0), width)
    for bit in range(1, width):
        differ = builder.append(GateKind.XOR, bit, width + bit)
        result = builder.append(GateKind.MUX, differ, width + bit, result)
    builder.output(Port("less", "bits", 1), [result])
    return builder.finish()


def equal(width: int, *, chain: bool = False) -> GateProgram:
    """Whether two numbers are the same, by ANDs in pairs or one after another."""
    builder = GateBuilder("equal", (Port("x", "unsigned", width), Port("z", "unsigned", width)))
    alike = [builder.append(GateKind.XNOR, bit, width + bit) for bit in range(width)]
    builder.output(Port("y", "bits", 1), [_of_all(builder, GateKind.AND, alike, chain)])
    return builder.finish()


def member(entries: int, width: int) -> GateProgram:
    """Whether a number is one of many."""
    ports = Port("entries", "unsigned", width, (entries,)), Port("key", "unsigned", width)
    builder = GateBuilder("member", ports)
    key, found = entries * width, []
    for entry in range(0, entries * width, width):
        alike = [builder.append(GateKind.XNOR, entry + bit, key + bit) for bit in range(width)]
        found.append(_of_all(builder, GateKind.AND, alike))
    builder.output(Port("found", "bits", 1), [_of_all(builder, GateKind.OR, found)])
    return builder.finish()


def _of_all(builder: GateBuilder, kind: GateKind, values: list[int], chain: bool = False) -> int:
    """A gate of many values, of gates of two."""
    while len(values) > 1:
        made = builder.append(kind, *values[:2])
        values = [made, *values[2:]] if chain else [*values[2:], made]
    return values[0]


def larger(width: int) -> GateProgram:
    """The larger of two numbers."""
    builder = GateBuilder("larger", (Port("a", "unsigned", width), Port("b", "unsigned", width)))
    a, b = list(range(width)), list(range(width, 2 * width))
    builder.output(Port("y", "unsigned", width), _chosen(builder, _exceeds(builder, a, b), a, b))
    return builder.finish()


def clamp(width: int) -> GateProgram:
    """A number of two's complement, or the bound that it is beyond."""
    ports = [Port(name, "signed", width) for name in ("x", "low", "high", "y")]
    builder = GateBuilder("clamp", ports[:3])
    x, low, high = (list(range(start, start + width)) for start in (0, width, 2 * width))

    def below(a: list[int], b: list[int]) -> int:
        # Of two's complement the highest bits are the other way round.
        return _exceeds(builder, [*b[:-1], a[-1]], [*a[:-1], b[-1]])

    at_most = _chosen(builder, below(high, x), high, x)
    builder.output(ports[3], _chosen(builder, below(x, low), low, at_most))
    return builder.finish()


def _exceeds(builder: GateBuilder, a: list[int], b: list[int]) -> int:
    """Whether a number is above another one, as Yosys has it: neither below it nor the same."""
    same, carry = None, builder.append(GateKind.ONE)
    for x, y in zip(a, b, strict=True):
        inverted = builder.append(GateKind.NOT, y)
        sides = [builder.append(GateKind.XOR, each, carry) for each in (x, inverted)]
        carry = builder.append(GateKind.XOR, builder.append(GateKind.AND, *sides), carry)
        alike = builder.append(GateKind.XOR, x, inverted)
        same = alike if same is None else builder.append(GateKind.AND, same, alike)
    assert same is not None
    return builder.append(GateKind.NOR, builder.append(GateKind.NOT, carry), same)


def _chosen(builder: GateBuilder, one: int, a: list[int], b: list[int]) -> list[int]:
    """The first of two numbers where a bit is 1, else the second."""
    return [builder.append(GateKind.MUX, one, *pair) for pair in zip(a, b, strict=True)]


def look_up() -> GateProgram:
    """One of sixteen bytes."""
    builder = GateBuilder("look up", (Port("at", "unsigned", 4), Port("of", "unsigned", 8, (16,))))
    rows = [list(range(4 + 8 * row, 12 + 8 * row)) for row in range(16)]
    for bit in range(4):
        rows = [
            [builder.append(GateKind.MUX, bit, *pair) for pair in zip(high, low, strict=True)]
            for low, high in zip(rows[::2], rows[1::2], strict=True)
        ]
    builder.output(Port("byte", "unsigned", 8), rows[0])
    return builder.finish()


def rectifier(numbers: int, width: int) -> GateProgram:
    """Numbers of two's complement, 0 for those below 0."""
    ports = [Port(name, "signed", width, (numbers,)) for name in ("x", "y")]
    builder = GateBuilder("rectifier", ports[:1])
    kept = []
    for end in range(width, (numbers + 1) * width, width):
        positive = builder.append(GateKind.NOT, end - 1)
        kept += [builder.append(GateKind.AND, positive, bit) for bit in range(end - width, end - 1)]
        kept.append(builder.append(GateKind.ZERO))
    builder.output(ports[1], kept)
    return builder.finish()


def retrieval(entries: int, index_bits: int, width: int) -> GateProgram:
    """The entry of a number, 0 past the last one: all masked, and added."""
    ports = Port("index", "unsigned", index_bits), Port("entries", "unsigned", width, (entries,))
    builder = GateBuilder("retrieval", ports)
    inverted = [builder.append(GateKind.NOT, bit) for bit in range(index_bits)]
    sums = [builder.append(GateKind.ZERO)] * width
    for entry in range(entries):
        selected = 0 if entry & 1 else inverted[0]
        for bit in range(1, index_bits):
            literal = bit if entry >> bit & 1 else inverted[bit]
            selected = builder.append(GateKind.AND, selected, literal)
        first = index_bits + entry * width
        masked = [builder.append(GateKind.AND, selected, first + bit) for bit in range(width)]
        sums = [builder.append(GateKind.XOR, *pair) for pair in zip(sums, masked, strict=True)]
    builder.output(Port("entry", "unsigned", width), sums)
    return builder.finish()


def sbox() -> GateProgram:
    """The S-box of AES."""
    builder = GateBuilder("S-box", (Port("byte", "unsigned", 8),))
    builder.output(Port("byte", "unsigned", 8), boyar_peralta.sbox(builder, range(8)))
    return builder.finish()


def rounds_of_aes(rounds: int) -> GateProgram:
    """Rounds of AES-128 with their keys, the last one without mixed columns (FIPS 197)."""
    ports = Port("key", "bytes", 128), Port("block", "bytes", 128)
    builder = GateBuilder(f"{rounds} rounds of AES-128", ports)

    def added(a: list[int], b: list[int]) -> list[int]:
        return [builder.append(GateKind.XOR, *pair) for pair in zip(a, b, strict=True)]

    def doubled(a: list[int]) -> list[int]:
        high = a[7]
        reduced = [builder.append(GateKind.XOR, a[bit - 1], high) for bit in (1, 3, 4)]
        return [high, reduced[0], a[1], reduced[1], reduced[2], a[4], a[5], a[6]]

    def mixed(column: list[list[int]]) -> list[list[int]]:
        result = []
        for row in range(4):
            a, b, c, d = (column[(row + each) % 4] for each in range(4))
            result.append(added(added(added(doubled(added(a, b)), b), c), d))
        return result

    key = [list(range(8 * byte, 8 * byte + 8)) for byte in range(16)]
    block = [list(range(128 + 8 * byte, 136 + 8 * byte)) for byte in range(16)]
    state = [added(*pair) for pair in zip(block, key, strict=True)]
    constant = 1
    for turn in range(1, rounds + 1):
        word = [boyar_peralta.sbox(builder, key[12 + (row + 1) % 4]) for row in range(4)]
        word[0] = [
            builder.append(GateKind.NOT, value) if constant >> bit & 1 else value
            for bit, value in enumerate(word[0])
        ]
        constant = constant << 1 ^ 0x11B * (constant >> 7)
        for column in range(4):
            word = [added(key[4 * column + row], word[row]) for row in range(4)]
            key[4 * column : 4 * column + 4] = word
        state = [boyar_peralta.sbox(builder, byte) for byte in state]
        columns = [[state[4 * ((at + row) % 4) + row] for row in range(4)] for at in range(4)]
        if turn < rounds:
            columns = [mixed(column) for column in columns]
        state = [byte for column in columns for byte in column]
        state = [added(*pair) for pair in zip(state, key, strict=True)]
    builder.output(Port("block", "bytes", 128), [bit for byte in state for bit in byte])
    return builder.finish()


def _full_adder(builder: GateBuilder, a: int, b: int, carry: int | None) -> tuple[int, int]:
    either, both = builder.append(GateKind.XOR, a, b), builder.append(GateKind.AND, a, b)
    if carry is None:
        return either, both
    through = builder.append(GateKind.AND, either, carry)
    total = builder.append(GateKind.XOR, either, carry)
    return total, builder.append(GateKind.OR, both, through)
