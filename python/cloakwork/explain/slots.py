"""The plan of a computation as text: tensors, stages, operations, keys, memory, time."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from cloakwork._native import Parameters
from cloakwork.explain.bootstraps import ciphertext_lines, explain_mapped
from cloakwork.explain.gates import explain_gates
from cloakwork.explain.integers import Exact, explain_integers
from cloakwork.explain.modelled import modelled_seconds
from cloakwork.explain.picture import picture
from cloakwork.explain.quantities import counted, duration, listed, signed, size
from cloakwork.explain.stage_text import WIDTH, stage_lines
from cloakwork.explain.stages import stages_of
from cloakwork.explain.tensors import ProgramTensor, inputs_of, results_of
from cloakwork.frontends.tensors.tensor import Tensor, require_tensor
from cloakwork.plan.boolean.map import MappedProgram
from cloakwork.plan.tensors.sums import split
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.keys import demand_of
from cloakwork.programs.layout import Layout
from cloakwork.programs.slots import (
    Constant,
    Linear,
    Mul,
    Program,
    Rescale,
    Rotate,
    State,
    name_of,
)
from cloakwork.runtime import security_label as secrecy
from cloakwork.runtime.memory import ciphertext_bytes, predicted_peak_bytes
from cloakwork.runtime.profile import Profile

_SHOWN_TENSORS = 12
_SHOWN_STAGES = 40
# Programs of no more operations are printed whole, below their stages.
_LONGEST_LISTING = 25
_NO_BREAK = "\u00a0"
_SHORT_PIECE = 60


@runtime_checkable
class Planned(Protocol):
    """A program that was planned and may not have run yet."""

    @property
    def program(self) -> Program: ...
    @property
    def parameters(self) -> Parameters: ...
    @property
    def title(self) -> str: ...


@runtime_checkable
class Gated(Protocol):
    """A program over bits."""

    @property
    def gates(self) -> GateProgram: ...
    def mapped(self) -> MappedProgram: ...


def explain(x: Tensor | Planned | Gated | MappedProgram | Exact) -> str:
    """What was planned and what it took, as text; no number inside a tensor is shown.

    Args:
        x: A tensor, of which the program that made it is told; or a compiled program; or a
            program over bits, which is mapped for the threads of the engine; or one mapped; or
            a compiled circuit.

    Raises:
        InvalidArgumentError: It is none of these.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, backend="clear", insecure=True, log_n=11)
        >>> print(cw.explain(cw.einsum("ij->ji", session.encrypt([[1.0, 2.0], [3.0, 4.0]]))))
        einsum ij->ji
          clear backend: hides nothing
          operand0  (2, 2)  0:2@2 1:2@1
            [+...............................]  1024 slots, 4 in use, the rest zero
            slot 0:[0,0] 1:[0,1] 2:[1,0] 3:[1,1]
          result  (2, 2)  j:2@1 i:2@2
            [+...............................]  1024 slots, 4 in use, the rest zero
            slot 0:[0,0] 1:[1,0] 2:[0,1] 3:[1,1]
        <BLANKLINE>
          work    none: the slots stay where they are
          levels  1 to 1
        ...
    """
    if isinstance(x, Exact):
        return explain_integers(x)
    if isinstance(x, Planned):
        return explain_program(x.program, x.parameters, hidden=True)
    if isinstance(x, Gated):
        return "\n".join([explain_gates(x.gates), "", *ciphertext_lines(x.mapped())])
    if isinstance(x, MappedProgram):
        return explain_mapped(x)
    require_tensor(x, "explain")
    if x.program is not None:
        return explain_program(
            x.program, x.parameters, hidden=x.hidden, profile=x.profile, result=x
        )
    lines = [f"{'encrypted' if x.hidden else 'made'} here, not computed"]
    lines += _warning(x.parameters, hidden=x.hidden)
    lines += _tensor("tensor", x.layout)
    lines += [f"  memory  {size(x.nbytes)}", _error(x)]
    return "\n".join(lines)


def explain_program(
    program: Program,
    parameters: Parameters,
    *,
    hidden: bool,
    profile: Profile | None = None,
    result: Tensor | None = None,
) -> str:
    """A program as text: its tensors, its plan stage by stage, and what it takes.

    Args:
        program: The program.
        parameters: The parameter set that it runs under.
        hidden: Whether it runs on ciphertexts.
        profile: What a run of it took.
        result: What that run made.

    Raises:
        InvalidArgumentError: The program has a level that the parameters lack.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
        >>> program = Program("turn", 512, (Input("x", 1), Rotate(0, 1), Output(1)), (None,) * 3)
        >>> parameters = Parameters(levels=1, log_n=10, insecure=True)
        >>> print(explain_program(program, parameters, hidden=False))
        turn
          clear backend: hides nothing
        <BLANKLINE>
        plan (rotating by k brings slot i + k to slot i, modulo 512)
         1. operations, level 1
              rotate by 1
        <BLANKLINE>
          work    1 rotation
          levels  1 to 1
          keys    1 rotation (by 1), 64.0 KiB
          memory  64.0 KiB at the peak as predicted for ciphertexts
        <BLANKLINE>
        turn, 512 slots
          %0 = input x             level 1
          %1 = rotate %0 by 1      level 1
          %2 = output %1           level 1
    """
    lines = [program.title, *_warning(parameters, hidden=hidden)]
    lines += _tensors(inputs_of(program)) + _tensors(results_of(program))
    lines += _plan(program)
    lines += ["", *_work(program, parameters)]
    lines += _memory(program, parameters, hidden=hidden, profile=profile, result=result)
    if result is not None:
        lines.append(_error(result))
    lines += _time(program, parameters, hidden=hidden, profile=profile)
    if len(program.operations) <= _LONGEST_LISTING:
        lines += ["", str(program)]
    return "\n".join(lines)


def counts(program: Program) -> Counter[str]:
    """How often a program does each costly thing.

    Returns:
        Counts of rotations, diagonals, ciphertext products, plaintext products and rescales.

    Example:
        >>> from cloakwork.programs.slots import Input, Output
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


def _warning(parameters: Parameters, *, hidden: bool) -> list[str]:
    warning = secrecy.warning(parameters, hidden=hidden)
    return [f"  {warning}"] if warning else []


def _tensors(tensors: Sequence[ProgramTensor]) -> list[str]:
    placed = [(each.name, each.layout) for each in tensors if each.layout is not None]
    lines = [line for name, layout in placed[:_SHOWN_TENSORS] for line in _tensor(name, layout)]
    more = len(placed) - _SHOWN_TENSORS
    return lines + [f"  and {more} more"] * (more > 0)


def _tensor(name: str, layout: Layout) -> list[str]:
    head = textwrap.wrap(f"  {name}  {layout.shape}  {layout}", WIDTH, subsequent_indent=" " * 4)
    return head + [f"    {line}" for line in picture(layout)]


def _plan(program: Program) -> list[str]:
    stages = stages_of(program)
    if not stages:
        return []
    told = f"plan (rotating by k brings slot i + k to slot i, modulo {program.slots})"
    lines = ["", told]
    several_origins = len({stage.origin for stage in stages}) > 1
    origin = ""
    for number, stage in enumerate(stages[:_SHOWN_STAGES], start=1):
        if several_origins and stage.origin != origin:
            origin = stage.origin
            lines.append(f"  {origin}")
        lines += stage_lines(program, stage, number)
    more = len(stages) - _SHOWN_STAGES
    return lines + [f"  and {more} more stages"] * (more > 0)


def _work(program: Program, parameters: Parameters) -> list[str]:
    levels = [state.level for state in program.states if state.level is not None]
    found = counts(program)
    work = [counted(found[name], name.removesuffix("s")) for name in sorted(found)]
    demand = demand_of(program)
    steps = sorted((signed(steps, program.slots) for steps in demand.rotations), key=abs)
    keys = [f"{counted(len(steps), 'rotation')} (by {listed(steps)})"] if steps else []
    keys += ["relinearisation"] if demand.relinearisation_level is not None else []
    keys += [size(demand.nbytes(parameters.evaluation_key_bytes))] if demand else []
    return [
        *_fact("work", work or ["none: the slots stay where they are"]),
        *_fact("levels", [f"{max(levels)} to {levels[-1]}" if levels else "none"]),
        *_fact("keys", keys or ["none"]),
    ]


def _fact(name: str, pieces: Sequence[str]) -> list[str]:
    """A line of the totals, broken between short pieces only."""
    # A space that does not break keeps a number with its unit.
    glued = (
        piece.replace(" ", _NO_BREAK) if len(piece) <= _SHORT_PIECE else piece for piece in pieces
    )
    text = f"  {name:<8}{', '.join(glued)}"
    lines = textwrap.wrap(text, WIDTH, subsequent_indent=" " * 10, break_on_hyphens=False)
    return [line.replace(_NO_BREAK, " ") for line in lines]


def _memory(
    program: Program,
    parameters: Parameters,
    *,
    hidden: bool,
    profile: Profile | None,
    result: Tensor | None,
) -> list[str]:
    def bytes_at(state: State) -> int:
        return ciphertext_bytes(parameters, state.level or 0)

    predicted = size(predicted_peak_bytes(program, bytes_at))
    told = [f"{predicted} at the peak as predicted{'' if hidden else ' for ciphertexts'}"]
    told += [f"{size(profile.peak_bytes)} as measured"] if profile is not None else []
    told += [f"{size(result.nbytes)} for the result"] if result is not None else []
    return _fact("memory", told)


def _error(result: Tensor) -> str:
    return f"  error   below 2^{-result.precision:.0f}, even with every input at its bound"


def _time(
    program: Program, parameters: Parameters, *, hidden: bool, profile: Profile | None
) -> list[str]:
    measured = {} if profile is None else profile.totals()
    modelled: dict[str, float] = {}
    if hidden:
        seconds = modelled_seconds(program, parameters)
        for operation, each in zip(program.operations, seconds, strict=True):
            if each:
                modelled[name_of(operation)] = modelled.get(name_of(operation), 0.0) + each
    told: list[str] = []
    if profile is not None and measured:
        total = sum(each.seconds for each in measured.values())
        told += [f"{duration(total)} measured", f"{duration(profile.seconds)} from start to end"]
    told += [f"{duration(sum(modelled.values()))} modelled"] if modelled else []
    if not told:
        return []
    if measured:
        by_kind = [f"{kind} {duration(each.seconds)}" for kind, each in measured.items()]
    else:
        by_kind = [f"{kind} {duration(each)}" for kind, each in modelled.items()]
    if measured and modelled:
        by_kind = [
            f"{text} ({duration(modelled[kind])})"
            for kind, text in zip(measured, by_kind, strict=True)
        ]
        by_kind[0] = f"by kind (modelled): {by_kind[0]}"
    if not hidden:
        told.append("not modelled, as nothing is encrypted")
    return _fact("time", told) + _fact("", by_kind)
