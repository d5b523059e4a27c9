"""The plan of a tensor as text: layouts, operations, levels, keys, memory, precision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from cloakwork.plan.keys import demand_of
from cloakwork.plan.layout import Layout, positions
from cloakwork.plan.rotate import split
from cloakwork.programs.slots import (
    Constant,
    Input,
    Linear,
    Mul,
    Output,
    Program,
    Rescale,
    Rotate,
)
from cloakwork.runtime import secrecy
from cloakwork.runtime.tensor import Tensor, require_tensor

_PICTURE_WIDTH = 48
_SHOWN_SLOTS = 6


def explain(tensor: Tensor) -> str:
    """What was planned to make a tensor, and what it took; no number inside it is shown.

    Raises:
        InvalidArgumentError: It is no tensor.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, backend="clear", insecure=True, log_n=11)
        >>> print(cw.explain(cw.einsum("ij->ji", session.encrypt([[1.0, 2.0], [3.0, 4.0]]))))
        einsum ij->ji
          clear backend: hides nothing
          operand0  (2, 2)  0:2@2 1:2@1
            [+...............................................]  1024 slots, 4 in use, the rest zero
            slot 0:[0,0] 1:[0,1] 2:[1,0] 3:[1,1]
          result  (2, 2)  j:2@1 i:2@2
            [+...............................................]  1024 slots, 4 in use, the rest zero
            slot 0:[0,0] 1:[1,0] 2:[0,1] 3:[1,1]
        <BLANKLINE>
          work    none: the slots stay where they are
        ...
    """
    require_tensor(tensor, "explain")
    program = tensor.program
    if program is None:
        return "\n".join(
            [
                f"{'encrypted' if tensor.hidden else 'made'} here, not computed",
                *_warning(tensor),
                *_picture("tensor", tensor.layout),
                *_value(tensor),
            ]
        )
    lines = [program.title, *_warning(tensor)]
    for name, layout in _tensors(program):
        lines += _picture(name, layout)
    lines += ["", *_counts(program), *_value(tensor), "", str(program)]
    return "\n".join(lines)


def _tensors(program: Program) -> Iterator[tuple[str, Layout]]:
    """Those that go in and come out, each once, however many ciphertexts it has."""
    ends = [
        (operation, layout)
        for operation, layout in zip(program.operations, program.layouts, strict=True)
        if layout is not None and isinstance(operation, Input | Output)
    ]
    place = 0
    while place < len(ends):
        operation, layout = ends[place]
        if isinstance(operation, Input):
            name = operation.name
            yield (name.removesuffix(".0") if layout.ciphertexts > 1 else name), layout
        else:
            yield "result", layout
        place += layout.ciphertexts


def counts(program: Program) -> Counter[str]:
    """How often a program does each costly thing.

    Returns:
        Counts of rotations, diagonals, ciphertext products, plaintext products and rescales.

    Example:
        >>> counts(Program("", 8, (Input("x", 3), Rotate(0, 2), Output(1)), (None,) * 3))
        Counter({'rotations': 1})
    """
    found: Counter[str] = Counter()
    for operation in program.operations:
        match operation:
            case Rotate():
                found["rotations"] += 1
            case Linear(diagonals=diagonals, baby_steps=baby_steps):
                found["rotations"] += split(diagonals, program.slots, baby_steps).rotations
                found["diagonals"] += len(diagonals)
            case Mul(left=left, right=right):
                factors = (program.operations[left], program.operations[right])
                clear = any(isinstance(factor, Constant) for factor in factors)
                found["plaintext products" if clear else "ciphertext products"] += 1
            case Rescale():
                found["rescales"] += 1
            case _:
                pass
    return found


def _counts(program: Program) -> list[str]:
    levels = [state.level for state in program.states if state.level is not None]
    work = ", ".join(f"{count} {name}" for name, count in sorted(counts(program).items()))
    demand = demand_of(program)
    relinearisation = "" if demand.relinearisation_level is None else ", relinearisation"
    return [
        f"  work    {work or 'none: the slots stay where they are'}",
        f"  levels  {max(levels)} to {levels[-1]}",
        f"  keys    {len(demand.rotations)} rotations{relinearisation}",
    ]


def _warning(tensor: Tensor) -> list[str]:
    warning = secrecy.warning(tensor.parameters, hidden=tensor.hidden)
    return [f"  {warning}"] if warning else []


def _value(tensor: Tensor) -> list[str]:
    return [
        f"  memory  {_bytes(tensor.nbytes)} for the result",
        f"  error  below 2^{-tensor.precision:.0f}, even with every input at its bound",
    ]


def _picture(name: str, layout: Layout) -> list[str]:
    used = np.zeros(layout.slots, dtype=bool)
    used[positions(layout.axes + layout.replicas) + layout.offset] = True
    cells = np.array_split(used, min(_PICTURE_WIDTH, layout.slots))
    empty = "~" if layout.dirty else "."
    drawn = "".join("#" if cell.all() else "+" if cell.any() else empty for cell in cells)
    rest = "the rest anything" if layout.dirty else "the rest zero"
    count = layout.ciphertexts
    each = f"{count} ciphertexts of {layout.slots}" if count > 1 else f"{layout.slots}"
    order = np.argsort(positions(layout.axes), axis=None)[:_SHOWN_SLOTS]
    extents = [axis.extent for axis in layout.axes]
    shown = []
    for flat in order:
        index = np.unravel_index(int(flat), extents)
        slot = layout.offset + sum(
            int(i) * axis.stride for i, axis in zip(index, layout.axes, strict=True)
        )
        shown.append(f"{slot}:[{','.join(str(int(i)) for i in index)}]")
    more = " ..." if int(np.prod(layout.shape)) > _SHOWN_SLOTS else ""
    return [
        f"  {name}  {layout.shape}  {layout}",
        f"    [{drawn}]  {each} slots, {int(used.sum())} in use, {rest}",
        f"    slot {' '.join(shown)}{more}",
    ]


def _bytes(count: int) -> str:
    return f"{count / 2**20:.1f} MiB" if count >= 2**20 else f"{count / 2**10:.1f} KiB"
