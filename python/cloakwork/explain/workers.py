"""A program on workers of a cluster as text: how it is cut, what moves, and which keys are read."""

from __future__ import annotations

from collections.abc import Iterable

from cloakwork.base.arguments import integer
from cloakwork.cluster.forms import form_of
from cloakwork.cluster.simulation import simulated
from cloakwork.cluster.work import Network
from cloakwork.errors import InvalidArgumentError
from cloakwork.explain.quantities import counted, duration, size
from cloakwork.runtime.encrypted import require_files
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program

_MOST_WORKERS = 1 << 20
# Workers whose keys are listed one by one.
_TOLD = 8


def worker_lines(program: Program, workers: int) -> list[str]:
    """How one run of a program is cut for workers of one thread each."""
    action = f"explain {program.name} on workers"
    workers = integer(workers, "workers", action, least=1, most=_MOST_WORKERS)
    if not program.scheme.encrypts:
        raise InvalidArgumentError(
            f"cannot {action}: it is in the clear, which runs in one process; compile it encrypted"
        )
    require_files(action)
    from cloakwork.cluster.placing import chosen_cut  # noqa: PLC0415

    parts, made = chosen_cut(program, workers, None, lambda _: "", action)
    form = form_of(program, parts)
    found = simulated(form.work, made, Network())
    needed = [form.key_bytes(form.keys_of(tasks)) for tasks in made.tasks_of_lanes()]
    return [
        f"on {counted(workers, 'worker')}, of which {made.lanes} have tasks: "
        f"{counted(len(made.grains), 'grain')}, {size(found.moved_bytes)} move in "
        f"{counted(found.messages, 'message')}, {duration(found.seconds)} by the model",
        f"  keys of each  {_sizes(needed)} of {size(program.key_bytes)}",
    ]


def key_lines(profile: Profile) -> list[str]:
    """Which keys the workers of a run have read; nothing where they had all or there were none."""
    if not profile.key_bytes:
        return []
    return [f"keys read by each of the workers, as files: {_sizes(profile.key_bytes.values())}"]


def _sizes(found: Iterable[int]) -> str:
    """Sizes in order, the first ones and the largest."""
    sizes = list(found)
    more = f" and {len(sizes) - _TOLD} more, up to {size(max(sizes))}" if len(sizes) > _TOLD else ""
    return ", ".join(map(size, sizes[:_TOLD])) + more
