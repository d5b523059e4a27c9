"""Circuits in the Bristol formats, written from their definitions."""


def adder(width: int) -> str:
    """Two numbers into their sum and carry, in Bristol Fashion."""
    gates, wire, carry = [], 2 * width, ""
    sums = [str(0)] * width
    total = 2 * width + 2 + 5 * (width - 1)
    outputs = total - (width + 1)

    def gate(name: str, a: int | str, b: int | str, out: int | None = None) -> int:
        nonlocal wire
        made = wire if out is None else out
        wire += out is None
        gates.append(f"2 1 {a} {b} {made} {name}")
        return made

    for bit in range(width):
        a, b = bit, width + bit
        last = outputs + width if bit == width - 1 else None
        if not carry:
            gate("XOR", a, b, outputs)
            carry = str(gate("AND", a, b, last))
            continue
        either = gate("XOR", a, b)
        sums[bit] = str(gate("XOR", either, carry, outputs + bit))
        both, through = gate("AND", a, b), gate("AND", either, carry)
        carry = str(gate("XOR", both, through, last))
    return f"{len(gates)} {total}\n2 {width} {width}\n1 {width + 1}\n\n" + "\n".join(gates) + "\n"


def less(width: int) -> str:
    """Whether the first of two numbers is the smaller one, in the old format."""
    gates, wire = [], 2 * width

    def gate(name: str, *used: int) -> int:
        nonlocal wire
        gates.append(f"{len(used)} 1 {' '.join(map(str, used))} {wire} {name}")
        wire += 1
        return wire - 1

    result = gate("AND", gate("INV", 0), width)
    for bit in range(1, width):
        differ = gate("XOR", bit, width + bit)
        # Where the bits differ the second number's tells; else what is below.
        result = gate("XOR", result, gate("AND", differ, gate("XOR", result, width + bit)))
    head = f"{len(gates)} {wire}\n{width} {width} 1\n\n"
    return head + "\n".join(gates) + "\n\n"
