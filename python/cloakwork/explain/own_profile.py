"""Whether a profile is of the program that is shown with it."""

from __future__ import annotations

from cloakwork.errors import InvalidArgumentError
from cloakwork.programs.bootstraps import LINEAR
from cloakwork.programs.slots import SlotProgram
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Body


def require_profile_of(body: Body, profile: Profile, action: str) -> None:
    """Refuse a profile that measured operations which a program does not have.

    Example:
        >>> import cloakwork as cw
        >>> program = cw.compile(lambda x: x.sum(), (4,), log_n=10, insecure=True)
        >>> require_profile_of(program.body, Profile(), "explain")
    """
    if isinstance(body, SlotProgram):
        kinds = [operation.kind for operation in body.operations]
    else:
        kinds = ["linear" if kind == LINEAR else "bootstrap" for kind in body.kinds.tolist()]
    for each in profile.operations:
        if each.number >= len(kinds) or kinds[each.number] != each.kind:
            raise InvalidArgumentError(
                f"cannot {action} {body.title}: expected the profile of a run of this program, got "
                f"one whose operation {each.number} is {each.kind}; give the profile that "
                "evaluator.run of this program filled"
            )
