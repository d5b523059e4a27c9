"""Ports that a user gives in place of those of a file that knows no kinds."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.base.arguments import shown
from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.port import Port


def ports_as_given(
    ports: Sequence[Port], given: Sequence[Port] | None, refused: str
) -> Sequence[Port]:
    """The ports given, or those of the file where none are.

    Args:
        ports: Those of the file.
        given: Those that the user gives.
        refused: What a refusal says first.

    Raises:
        InvalidArgumentError: They are not ports, two have one name, or they have other bits
            together than the file's.

    Example:
        >>> ports_as_given([Port("x0", "unsigned", 4)], None, "cannot read")[0].name
        'x0'
    """
    if given is None:
        return ports
    if not isinstance(given, Sequence) or not all(isinstance(port, Port) for port in given):
        raise InvalidArgumentError(f"{refused}: expected a list of ports, got {shown(given)}")
    names = [port.name for port in given]
    if len(set(names)) < len(names):
        raise InvalidArgumentError(f"{refused}: a name comes twice among {shown(names)}")
    expected, got = (sum(port.bits for port in each) for each in (ports, given))
    if expected != got:
        raise InvalidArgumentError(f"{refused}: expected {expected} bits, got {got}")
    return given
