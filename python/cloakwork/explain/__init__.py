"""What was planned and what it took, as text and as figures; no number inside is shown."""

from __future__ import annotations

import os

from cloakwork.errors import InvalidArgumentError

# That of typing, which is not needed before something is explained.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from matplotlib.figure import Figure

    from cloakwork.frontends.boolean.circuit import Circuit
    from cloakwork.frontends.tensors.tensor import Tensor
    from cloakwork.runtime.encrypted import Encrypted
    from cloakwork.runtime.profile import Profile
    from cloakwork.runtime.program import Program


def explain(
    x: Program | Circuit | Tensor | Encrypted,
    profile: Profile | None = None,
    workers: int | None = None,
) -> str:
    """What was planned and what it took, as text; no number inside is shown.

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
    # All frontends are loaded by these.
    from cloakwork.base.arguments import optional, shown
    from cloakwork.explain.in_a_row import repeated_lines, row_lines
    from cloakwork.explain.own_profile import require_profile_of
    from cloakwork.explain.workers import key_lines, worker_lines
    from cloakwork.runtime.profile import Profile
    from cloakwork.runtime.program import Program

    profile = optional(profile, Profile, "profile", "explain")
    if isinstance(x, Program) and profile is not None and not x.row and not x.repeated:
        require_profile_of(x.body, profile, "explain")
    if workers is not None and not isinstance(x, Program):
        raise InvalidArgumentError(
            f"cannot explain on workers: expected a program, got {shown(x)}; compile it first"
        )
    is_several = isinstance(x, Program) and bool(x.row or x.repeated)
    if isinstance(x, Program) and is_several and (profile is not None or workers is not None):
        several = f"a row of {len(x.parts)}" if x.row else "one that is repeated"
        instead = ", or explain one of its parts" if x.row else ""
        raise InvalidArgumentError(
            f"cannot explain {x.name} with a profile or on workers: expected one program "
            f"that runs once, got {several}; leave them out{instead}"
        )
    told = row_lines(x) if isinstance(x, Program) else []
    told += [] if profile is None else key_lines(profile)
    if workers is not None and isinstance(x, Program):
        told += worker_lines(x, workers)
    parts = x.parts if isinstance(x, Program) else [x]
    for each in parts:
        lines = repeated_lines(each) if isinstance(each, Program) else []
        told = [*(["", *lines] if lines else []), *told]
    return "\n".join(["\n\n".join(_planned(each, profile) for each in parts), *told])


def _planned(x: Any, profile: Profile | None) -> str:
    """What was planned and what it took in one process."""
    from cloakwork.explain.bits import explain_bootstraps, explain_gates
    from cloakwork.explain.layers import explain_layers
    from cloakwork.explain.quantities import error_below
    from cloakwork.explain.refused import no_program
    from cloakwork.explain.slots import explain_circuit, explain_slots, explain_tensor
    from cloakwork.frontends.boolean.circuit import Circuit
    from cloakwork.frontends.tensors.tensor import Tensor
    from cloakwork.programs.bootstraps import BootstrapProgram
    from cloakwork.programs.packing.batch import BatchPacking
    from cloakwork.programs.packing.scalar import ScalarPacking
    from cloakwork.programs.slots import SlotProgram
    from cloakwork.runtime.after import error_is_bound, stated_error
    from cloakwork.runtime.encrypted import Encrypted
    from cloakwork.runtime.program import Program

    match x:
        case Tensor():
            return explain_tensor(x)
        case Circuit(gates=gates):
            return explain_gates(gates)
        case Encrypted():
            return repr(x)
        case Program(body=BootstrapProgram() as body):
            return explain_bootstraps(body, x, profile)
        case Program(body=SlotProgram() as body, packing=ScalarPacking() as packing):
            return explain_circuit(body, packing, x.scheme, x.warning, profile, x.way)
        case Program(body=SlotProgram() as body, packing=BatchPacking()):
            return explain_layers(body, x, profile)
        case Program(body=SlotProgram() as body):
            error = stated_error(x)
            # That of all steps is told with them.
            is_told = error and x.repeated is None
            told = error_below(error or 0.0, of_all=error_is_bound(x)) if is_told else ""
            return explain_slots(
                body,
                x.scheme,
                warning=x.warning,
                profile=profile,
                error=told,
                ranges=x.ranges,
                way=x.way,
            )
    raise no_program("explain", "a program, a circuit or an encrypted tensor", x)


def plot(
    x: Program | Tensor, path: str | os.PathLike[str] | None = None, profile: Profile | None = None
) -> Figure:
    """Draw a plan: which slots hold what, the graph by level, the time of every operation.

    Of a program over bits the graph has its bootstraps by level. No number inside is shown. The
    figure has no display and needs none.

    Example:
        >>> import pytest
        >>> _ = pytest.importorskip("matplotlib")
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, backend="clear", insecure=True, log_n=11)
        >>> figure = cw.plot(cw.einsum("ij->j", session.encrypt([[1.0, 2.0], [3.0, 4.0]])))
        >>> [axes.get_title(loc="left") for axes in figure.axes][:2]
        ['operand0  (2, 2)', 'result  (2,)']
    """
    # Matplotlib is large, and only drawing needs it.
    from cloakwork.explain.figures.figure import empty_figure, saved

    figure = empty_figure()
    from cloakwork.explain.figures.drawn import draw

    draw(figure, x, profile)
    return saved(figure, path)
