"""Programs that stand for a whole row: for themselves and for all programs that they follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.keys import KeyRequirements
from cloakwork.programs.port import Port
from cloakwork.runtime.leaving import Leaving

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program


def encrypted_ports(program: Program | Interface) -> list[Port]:
    """The inputs of a program that its clients encrypt: those that are results of no other."""
    taken = {link.input for link in program.after}
    return [port for port in program.packing.inputs if port.name not in taken]


def inputs_of_row(program: Program | Interface) -> tuple[Port, ...]:
    """What the clients of a row encrypt: each input once, though several programs take it."""
    ports: dict[str, Port] = {}
    for part in program.parts:
        for port in encrypted_ports(part):
            ports.setdefault(port.name, port)
    return tuple(ports[name] for name in program.row)


def row_misfit(
    program: Program | Interface, before: Sequence[Program] | Sequence[Interface]
) -> str:
    """Why a program cannot stand for its row; empty where it can.

    Args:
        program: The program.
        before: Those that it follows.
    """
    ports: dict[str, Port] = {}
    for each in (*before, program):
        for port in encrypted_ports(each):
            known = ports.setdefault(port.name, port)
            if (known.kind, known.shape, known.width) != (port.kind, port.shape, port.width):
                return f"its programs take {port.name!r:.40} in several kinds or shapes"
    if any(each.kept for each in (*before, program)):
        return "a program of its row keeps a state"
    if not before or sorted(ports) != sorted(program.row):
        return "its inputs are not those of its row"
    return ""


def require_plain(action: str, **given: object) -> None:
    """Refuse what the run of a row does not take.

    Raises:
        InvalidArgumentError: It is given.
    """
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise InvalidArgumentError(
            f"cannot {action}: expected encrypted inputs for a row of programs, which runs "
            f"here, got {names[0]}= beside them; leave it out"
        )


def arguments_of(part: Program | Interface, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the arguments of a row that a program of it takes."""
    ports = encrypted_ports(part)
    return {port.name: arguments[port.name] for port in ports if port.name in arguments}


def evenly(ports: Sequence[Port], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with as many evaluations each, as several programs take them.

    Example:
        >>> ports = Port("x", "real", 0, (2,)), Port("y", "real", 0, ())
        >>> evenly(ports, {"x": [[1, 2], [3, 4], [5, 6]], "y": 7})["y"].tolist()
        [7, 7, 7]
    """
    axes = {port.name: len(port.shape) for port in ports if not port.is_bits}
    shapes = {name: np.shape(value) for name, value in arguments.items() if name in axes}
    counts = [shape[0] for name, shape in shapes.items() if len(shape) == axes[name] + 1]
    if not counts:
        return dict(arguments)
    return {
        name: np.broadcast_to(value, (counts[0], *shapes[name]))
        if name in axes and len(shapes[name]) == axes[name]
        else value
        for name, value in arguments.items()
    }


def rounded_to_port(numbers: Any, port: Port) -> NDArray[Any]:
    """The numbers of a port over bits that are nearest to some.

    Example:
        >>> rounded_to_port([0.3, -0.3], Port("v", "signed", 8, (2,), fraction=2)).tolist()
        [0.25, -0.25]
    """
    whole: NDArray[np.int64] = np.rint(
        np.ldexp(np.asarray(numbers, np.float64), port.fraction)
    ).astype(np.int64)
    made: NDArray[Any] = np.ldexp(np.float64(whole), -port.fraction) if port.fraction else whole
    return made


def in_the_clear(
    parts: Sequence[Program],
    arguments: Mapping[str, Any],
    run: Callable[[Program, Mapping[str, Any]], Any],
) -> Any:
    """What the last program of a row gives, where each runs by itself in the clear.

    Args:
        parts: The programs.
        arguments: The inputs of the row.
        run: Runs one of them on its inputs.
    """
    made: dict[str, dict[str, Any]] = {}
    found: Any = None
    for part in parts:
        own = arguments_of(part, arguments)
        for link in part.after:
            value = made[link.program.fingerprint][link.result]
            own[link.input] = (
                rounded_to_port(value, link.port(part)) if isinstance(link, Leaving) else value
            )
        found = run(part, own)
        if part is not parts[-1]:
            made[part.fingerprint] = _by_name(part, found)
    return found


def _by_name(part: Program, found: Any) -> dict[str, Any]:
    """Results of a program by their names."""
    names = [port.name for port in part.outputs]
    if isinstance(found, dict):
        return found
    return {names[0]: found} if len(names) == 1 else dict(zip(names, found, strict=True))


def key_bytes_of(programs: Sequence[Program]) -> int:
    """Bytes of the evaluation keys of programs of one parameter set, each key once."""
    # Those of bits are the same for all programs.
    of_bits = [each.key_bytes for each in programs if each.required_keys is None]
    total, served = max(of_bits, default=0), list[KeyRequirements]()
    for each in programs:
        lacking = needed = each.required_keys
        if needed is None or lacking is None:
            continue
        for other in served:
            lacking = lacking.beyond(other)
        total += each.scheme.bytes_of(lacking) if lacking else 0
        served.append(needed)
    return total
