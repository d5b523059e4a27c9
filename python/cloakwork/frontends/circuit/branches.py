"""What both sides of a statement leave in variables, of which one is chosen."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np

from cloakwork.base.itself import Itself
from cloakwork.base.source_line import users_line_in
from cloakwork.errors import CloakworkError, EncryptedConditionError
from cloakwork.frontends.circuit import statements
from cloakwork.frontends.circuit.refusals import at_line
from cloakwork.frontends.circuit.selection import one_or_other
from cloakwork.frontends.circuit.symbols import Symbol, Vector, clear_integer

_Values: TypeAlias = Mapping[str, Any]
# A flag, or a condition: of Python, or a Boolean of a circuit.
_Flag: TypeAlias = Any

# What a name holds that nothing was given to.
_ABSENT = object()
_QUOTED = re.compile(r"'(\w+)'")
_OF_FLAGS = (statements.RETURNED, statements.BROKEN, statements.CONTINUED)

# What has no other contents than these show.
_PLAIN = (Symbol, Vector, set, np.ndarray, np.generic, int, float, str, bytes, range)

# Why names hold nothing, by the names, while a function runs.
_dropped: ContextVar[dict[str, str] | None] = ContextVar("_dropped", default=None)


@contextmanager
def explaining_names() -> Iterator[None]:
    """Say why a name has no value, where that is because of an encrypted condition.

    Raises:
        EncryptedConditionError: A name is used that has a value on one side alone.
    """
    token = _dropped.set({})
    try:
        yield
    except NameError as error:
        name = next(iter(_QUOTED.findall(str(error))), "")
        reason = (_dropped.get() or {}).get(name)
        if reason is None:
            raise
        line = users_line_in(error.__traceback__)
        raise EncryptedConditionError(
            f"cannot use {name}{f' at {line}' if line else ''} after an if by an encrypted value: "
            f"{reason}; give {name} a value of the same kind on both sides, or before"
        ) from error
    finally:
        _dropped.reset(token)


class _Branch:
    """An `if` statement.

    Args:
        test: Its condition.
        held: What all variables hold.
        names: Those that it assigns.
        effect: What in it does more than that, with its line; empty where nothing does.
        changed: The names of what has methods called, or items set.
    """

    def __init__(
        self, test: Any, held: _Values, names: Sequence[str], effect: str, changed: Sequence[str]
    ) -> None:
        self._names = names
        self._is_both = isinstance(test, Symbol)
        self._test: _Flag = test
        if self._is_both:
            _require_no_effect(effect, held, changed)
            self._test = test if test.is_boolean else test != 0
            self._before = _of_names(held, names)
            self._contents = _Contents(held.values())
        else:
            self._test = bool(test)

    def is_first(self) -> bool:
        """Whether the body runs."""
        return self._is_both or bool(self._test)

    def is_second(self, held: _Values) -> bool:
        """Whether what is under `else` runs, after the body where that ran."""
        if not self._is_both:
            return not self._test
        self._first = _of_names(held, self._names)
        self._contents.restore()
        return True

    def restored(self, held: _Values) -> tuple[Any, ...]:
        """What the names held before."""
        return tuple((self._before if self._is_both else _of_names(held, self._names)).values())

    def joined(self, held: _Values) -> tuple[Any, ...]:
        """What the names hold after both."""
        second = _of_names(held, self._names)
        if not self._is_both:
            return tuple(second.values())
        self._contents.join(self._test)
        first = self._first
        return tuple(_joined(name, self._test, first, second) for name in self._names)


class _Guard:
    """Statements that run where no flag is set.

    Args:
        held: What all variables hold.
        names: Those that the statements assign, and the flags.
        flags: The flags.
        effect: What in the statements does more than to assign, with its line.
        changed: The names of what has methods called, or items set.
    """

    def __init__(
        self,
        held: _Values,
        names: Sequence[str],
        flags: Sequence[str],
        effect: str,
        changed: Sequence[str],
    ) -> None:
        self._names, self._flags = names, flags
        self._left = {name: held[name] for name in flags}
        exited = _any_of(self._left.values())
        self._is_both = isinstance(exited, Symbol)
        self._exited: _Flag = exited
        if self._is_both:
            _require_no_effect(effect, held, changed)
            self._before = _of_names(held, names)
            self._contents = _Contents(held.values())

    def is_first(self) -> bool:
        """Whether the statements run."""
        return self._is_both or not self._exited

    def joined(self, held: _Values) -> tuple[Any, ...]:
        """What the names hold after the statements."""
        after = _of_names(held, self._names)
        if not self._is_both:
            return tuple(after.values())
        self._contents.restore()
        self._contents.join(self._exited)
        made = []
        for name in self._names:
            if name in self._left:
                others = [each for flag, each in self._left.items() if flag != name]
                here = _all_of([after[name], _opposite(_any_of(others))])
                made.append(_any_of([self._left[name], here]))
            else:
                made.append(_joined(name, self._exited, self._before, after))
        return tuple(made)


def _require_no_effect(effect: str, held: _Values, changed: Sequence[str]) -> None:
    for name in changed:
        if not effect and name in held and not _is_plain(held[name]):
            effect = f"a change of {name}, a {type(held[name]).__name__}"
    if effect:
        raise EncryptedConditionError(
            f"cannot run a branch by an encrypted value{at_line()}: expected that it assigns, "
            f"returns, breaks or continues alone, for both sides are computed, got {effect}; move "
            "that out of the branch"
        )


def _of_names(held: _Values, names: Iterable[str]) -> dict[str, Any]:
    return {name: held.get(name, _ABSENT) for name in names}


def _joined(name: str, test: Symbol, first: _Values, second: _Values) -> Any:
    """What a name holds: what the first side gave it where the test holds."""
    one, zero = first[name], second[name]
    if name.startswith(_OF_FLAGS):
        return _flag_of(test, one, zero)
    if name == statements.VALUE:
        # Where nothing is returned the value is not looked at.
        if first.get(statements.RETURNED, True) is False:
            return zero
        if second.get(statements.RETURNED, True) is False:
            return one
        return one_or_other(test, one, zero)
    if _is_same(one, zero):
        return one
    dropped = _dropped.get()
    reason = "one side alone gives it a value"
    if one is not _ABSENT and zero is not _ABSENT:
        try:
            return one_or_other(test, one, zero)
        except CloakworkError as error:
            reason = str(error)
    if dropped is not None:
        dropped[name] = reason
    return _ABSENT


def _is_plain(value: Any) -> bool:
    """Whether all that may be changed of a value is what lists, dicts and arrays hold."""
    if isinstance(value, list | tuple | dict):
        return all(map(_is_plain, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _PLAIN) or value is None


def _is_same(one: Any, zero: Any) -> bool:
    if one is zero:
        return True
    numbers = clear_integer(one), clear_integer(zero)
    return None not in numbers and type(one) is type(zero) and numbers[0] == numbers[1]


def _flag_of(test: Symbol, one: _Flag, zero: _Flag) -> _Flag:
    """One of two flags; those of a loop within one side are set before they are read again."""
    if one is zero or zero is _ABSENT:
        return one
    if one is _ABSENT:
        return zero
    return _any_of([_all_of([test, one]), _all_of([_opposite(test), zero])])


def _any_of(flags: Iterable[_Flag]) -> _Flag:
    made: _Flag = False
    for each in flags:
        if each is True or made is True:
            return True
        made = each if made is False else made if each is False else made | each
    return made


def _all_of(flags: Iterable[_Flag]) -> _Flag:
    return _opposite(_any_of([_opposite(each) for each in flags]))


def _opposite(flag: _Flag) -> _Flag:
    return not flag if isinstance(flag, bool) else ~flag


class _Contents:
    """What lists, dicts and arrays hold that a branch may change in place."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._found: dict[Itself[Any], Any] = {}
        for each in values:
            self._find(each)
        self._before = self._copies()
        self._first: dict[Itself[Any], Any] = {}

    def _find(self, value: Any) -> None:
        if isinstance(value, list | dict | set | np.ndarray):
            if Itself(value) in self._found:
                return
            self._found[Itself(value)] = value
        if isinstance(value, list | tuple | dict):
            for each in value.values() if isinstance(value, dict) else value:
                self._find(each)

    def _copies(self) -> dict[Itself[Any], Any]:
        return {key: each.copy() for key, each in self._found.items()}

    def restore(self) -> None:
        """Put back what was held before, and remember what is."""
        self._first = self._copies()
        for key, each in self._found.items():
            _fill(each, self._before[key])

    def join(self, test: Symbol) -> None:
        """Let each hold what it held at `restore` where a test holds, else what it does now."""
        for key, each in self._found.items():
            one, zero = self._first[key], each.copy()
            if not _is_alike(one, zero):
                _fill(each, _one_content(test, one, zero))


def _is_alike(one: Any, zero: Any) -> bool:
    """Whether two containers hold the same things."""
    if isinstance(one, np.ndarray):
        return all(a is b or _is_same(a, b) for a, b in zip(one.flat, zero.flat, strict=True))
    if isinstance(one, set):
        return bool(one == zero)
    if len(one) != len(zero):
        return False
    if isinstance(one, dict):
        return [*one] == [*zero] and all(one[key] is zero[key] for key in one)
    return all(_is_same(*pair) for pair in zip(one, zero, strict=True))


def _one_content(test: Symbol, one: Any, zero: Any) -> Any:
    kinds_agree = len(one) == len(zero) and not isinstance(one, set)
    if not kinds_agree or (isinstance(one, np.ndarray) and one.dtype != object):
        raise EncryptedConditionError(
            f"cannot change a {type(one).__name__} in a branch by an encrypted value{at_line()}: "
            "expected as many items after both sides, got others; give every item a value on both "
            "sides, such as by out.append(x if c else 0)"
        )
    if isinstance(one, np.ndarray):
        made = one.copy()
        for place in np.ndindex(one.shape):
            made[place] = one_or_other(test, one[place], zero[place])
        return made
    return one_or_other(test, one, zero)


def _fill(container: Any, content: Any) -> None:
    """Let a container hold what another one does."""
    if isinstance(container, list | np.ndarray):
        container[:] = content
    else:
        container.clear()
        container.update(content)


def _is_left(*flags: _Flag) -> bool:
    """Whether a loop is left for certain."""
    return any(each is True for each in flags)


def _is_left_or_stuck(*flags: _Flag) -> bool:
    """Whether a loop of unknown length is left.

    Raises:
        EncryptedConditionError: That is encrypted.
    """
    if any(isinstance(each, Symbol) for each in flags):
        raise EncryptedConditionError(
            f"cannot leave a while loop by an encrypted value{at_line()}: how often it runs would "
            "not be known; write a for loop over a range that is long enough"
        )
    return _is_left(*flags)


def _result(returned: _Flag, value: Any) -> Any:
    """What a function returns.

    Raises:
        EncryptedConditionError: It returns something for some encrypted values alone.
    """
    if isinstance(returned, Symbol):
        raise EncryptedConditionError(
            f"cannot return by an encrypted value alone{at_line()}: expected a value that is "
            "returned otherwise, got none; write a return at the end of the function"
        )
    return value if returned else None


BRANCHES: Mapping[str, Callable[..., Any] | object] = {
    statements.BRANCH: _Branch,
    statements.GUARD: _Guard,
    statements.LEFT: _is_left,
    statements.STUCK: _is_left_or_stuck,
    statements.RESULT: _result,
    statements.ABSENT: _ABSENT,
    statements.LOCALS: builtins.locals,
}
