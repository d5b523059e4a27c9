"""Steps of a function that are repeated: traced and planned once, run as often as is asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from cloakwork.base.arguments import integer, positive, shown
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError, ValueOutOfRangeError
from cloakwork.frontends.tensors.crossing import Loop
from cloakwork.frontends.tensors.tracing import Trace, TracedTensor
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.observed import Observed
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Node, Source, Sum, Within, operand_nodes
from cloakwork.programs.repeated import MAX_TIMES
from cloakwork.programs.spec import ends

_ACTION = "repeat a step"
# Beyond it no numbers are bootstrapped, nor has a scale many bits left for them.
_LARGEST = 2.0**20


def repeat(
    step: Callable[..., Any],
    state: Any,
    times: int,
    *,
    bound: float | Sequence[float] | None = None,
    low: float | Sequence[float] | None = None,
    high: float | Sequence[float] | None = None,
) -> Any:
    """What a step makes of a state when it is repeated, each time on what it made before.

    In a function that `cloakwork.compile` plans, the step is traced and planned once, and run as
    often as is asked: the plan of a hundred steps is that of two. The state keeps one layout and
    one range. Where its levels are spent, a bootstrap lifts it before the next step. What the step
    takes from outside is the same each time. Of arrays, and of tensors that are computed line by
    line, the step is called as often.

    The range of the state follows from that of the first one, where no step leaves it; else from
    as many steps as there are, or from samples where the function is compiled with these. Steps
    that shrink the state, as most iterations do, say so by no range: give `bound`, or `low` and
    `high`. A client runs the function in the clear first, and refuses inputs by which a state
    leaves it.

    Args:
        step: A function of the state that returns the next one, of the same shapes.
        state: The first state: a tensor, or a tuple of tensors, which the step takes one by one and
            returns as a tuple.
        times: How often, from 1 to 4096.
        bound: The largest absolute value of any number of the state, in any step, the first one
            included; of several tensors one for all, or one for each.
        low: The least number, where more is known than the bound; without a bound both ends are
            given.
        high: The greatest.

    Returns:
        The last state, as the step returns it.

    Raises:
        ShapeMismatchError: The step returns another number of tensors, or other shapes.
        InvalidArgumentError: The step is no function of the state, returns something else, takes a
            state and leaves it unused, has a step that is repeated or `cloakwork.exactly` in it, or
            the first state is clear.
        ValueOutOfRangeError: The state outgrows every range that could be planned for, or an array
            leaves the range that was given.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> def root(a):
        ...     return cw.repeat(lambda x: x + (a - x * x) / 2, a, 4, low=0, high=1)
        >>> program = cw.compile(root, cw.Spec((2,), low=0.25, high=1))
        >>> bool(np.abs(program.run_clear([0.25, 0.81]) - [0.5, 0.9]).max() < 0.05)
        True
        >>> program.repeated.times
        4
    """
    several = isinstance(state, tuple | list)
    first = tuple(state) if several else (state,)
    times = integer(times, "times", _ACTION, least=1, most=MAX_TIMES)
    if not first:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a tensor or a tuple of tensors as the state, got an empty "
            "one; give what the step takes"
        )
    _require_step(step, first)
    ranges = _ranges(len(first), bound, low, high)
    runners = {each.runner for each in first if isinstance(each, TracedTensor)}
    traces = [each for each in runners if isinstance(each, Trace)]
    if not traces:
        return _one_by_one(step, first, times, ranges, several=several)
    tensors = tuple(each for each in first if isinstance(each, TracedTensor))
    if len(runners) > 1 or len(tensors) < len(first):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected encrypted tensors of one function as the first state, got "
            f"{', '.join(map(shown, first))}; make what is clear an argument of the function"
        )
    (trace,) = traces
    made = _Tracing(step, tensors, times, ranges, trace, several).results()
    return tuple(made) if several else made[0]


def _require_step(step: object, state: Sequence[Any]) -> None:
    """Refuse what does not take a state, as far as Python knows what it takes."""
    if not callable(step):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a function of the state as the step, got {shown(step)}; "
            "give it before the state"
        )
    try:
        taken = signature(step)
    except ValueError:
        return
    try:
        taken.bind(*state)
    except TypeError as error:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected a step that takes the state, {len(state)} tensor(s), one "
            f"by one, got one with the parameters {taken}: {error}; give a tuple of as many "
            "tensors, and of numbers that are one tensor an array, as by numpy.asarray(numbers)"
        ) from error


def _ranges(count: int, bound: Any, low: Any, high: Any) -> list[tuple[float, float] | None]:
    """The range of each state; None where none is given."""
    found: list[tuple[float, float] | None] = []
    for number in range(count):
        own = [_own(given, number, count) for given in (bound, low, high)]
        if own == [None] * 3:
            found.append(None)
            continue
        size, least, greatest = own
        if size is None and None in (least, greatest):
            end, other = ("low", "high") if greatest is None else ("high", "low")
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected both ends of the range of a state, got "
                f"{end}={shown(least if greatest is None else greatest)} alone; give {other}= as "
                "well, or bound= for the largest absolute value"
            )
        if size is None:
            size = max(abs(least), abs(greatest))
        found.append(ends(least, greatest, positive(size, "bound", _ACTION), _ACTION))
    return found


def _own(given: Any, number: int, count: int) -> Any:
    if not isinstance(given, tuple | list):
        return given
    if len(given) != count:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected one bound, or one for each of the {count} tensors of the "
            f"state, got {len(given)}"
        )
    return given[number]


def _returned(made: Any, shapes: Sequence[tuple[int, ...]], *, several: bool) -> tuple[Any, ...]:
    """What a step returned, where it is a next state."""
    found = tuple(made) if several and isinstance(made, tuple | list) else (made,)
    got = [_shape(each) for each in found]
    if got != list(shapes):
        raise ShapeMismatchError(
            f"cannot {_ACTION}: expected a step that returns a state as it takes it, of the shapes "
            f"{', '.join(map(str, shapes))}, got {', '.join(map(str, got))}; return the next state "
            "alone, in the same order"
        )
    return found


def _shape(returned: Any) -> Any:
    """The shape of a tensor or an array; of a tuple that stands for one, the shapes in it."""
    if isinstance(returned, tuple | list):
        return [_shape(each) for each in returned]
    return returned.shape if hasattr(returned, "shape") else np.shape(returned)


def _one_by_one(
    step: Callable[..., Any],
    state: tuple[Any, ...],
    times: int,
    ranges: Sequence[tuple[float, float] | None],
    *,
    several: bool,
) -> Any:
    """The last state of arrays, or of tensors that are computed line by line."""
    shapes = [getattr(each, "shape", np.shape(each)) for each in state]
    for _ in range(times):
        state = _returned(step(*state), shapes, several=several)
        for each, given in zip(state, ranges, strict=True):
            if isinstance(each, np.ndarray) and given is not None:
                _require_within(each, *given)
    return state if several else state[0]


@dataclass(slots=True)
class _Tracing:
    """A step as it is traced.

    Args:
        step: The step.
        first: The first state.
        times: How often it is repeated.
        given: The range of each state; None where it follows.
        trace: The run of the function that it is a part of.
        several: Whether the state is a tuple.
    """

    step: Callable[..., Any]
    first: tuple[TracedTensor, ...]
    times: int
    given: Sequence[tuple[float, float] | None]
    trace: Trace
    several: bool

    def results(self) -> list[TracedTensor]:
        """What stands for the last state."""
        ranges, claimed = self._ranges()
        tensors = self.trace.tensors
        states = self._sources("state")
        following = self._traced(states, ranges)
        observed = self.trace.observed
        if observed is not None:
            # What comes in all steps is known of a step that was traced, which is traced again.
            within = observed.of_steps(states, self._taken(states, following))
            following = self._traced(states, ranges, within)
        captured = _captured(following, states, tensors)
        loop = Loop(
            states,
            tuple(ranges),
            self._first(captured),
            tuple(captured),
            tuple(
                Within(node, *of_state, claimed=is_claimed)
                for node, of_state, is_claimed in zip(following, ranges, claimed, strict=True)
            ),
            self.times,
            {
                source.name: Within(source, *of_state, claimed=False)
                for source, of_state in zip(self._sources("last"), ranges, strict=True)
            },
            self._samples(captured),
        )
        self._require_used(loop)
        if observed is not None:
            self._decide(loop, states, following)
        return self.trace.repeated(loop)

    def _first(self, captured: Sequence[Node]) -> tuple[Node, ...]:
        """The first state; what a step takes as another argument, too, is handed on to it."""
        nodes = [each.node() for each in self.first]
        taken = [*nodes, *captured]
        return tuple(
            Sum((each,), (1,), None, each.shape) if taken.count(each) > 1 else each
            for each in nodes
        )

    def _samples(self, captured: Sequence[Node]) -> tuple[tuple[Any, ...], ...]:
        """The first state, and what a step takes from outside, on samples."""
        if self.trace.observed is None:
            return ()
        nodes = [*(each.node() for each in self.first), *captured]
        several = self.trace.observed.numbers_of(nodes)
        return tuple(tuple(values[each] for each in nodes) for values in several)

    def _sources(self, kind: str) -> tuple[Source, ...]:
        return tuple(
            Source(f"{kind}{number}", each.shape) for number, each in enumerate(self.first)
        )

    def _traced(
        self,
        states: Sequence[Source],
        ranges: Sequence[tuple[float, float]],
        within: Observed | None = None,
    ) -> tuple[Node, ...]:
        """The next states, of states in these ranges."""
        cuts = len(self.trace.cuts)
        returned = self.trace.made_of(self.step, dict(zip(states, ranges, strict=True)), within)
        if len(self.trace.cuts) > cuts:
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected a step of operations of tensors alone, got "
                "cloakwork.repeat or cloakwork.exactly in it; repeat the inner steps by a loop of "
                "Python's, which is planned as a whole, or decide exactly after the last step"
            )
        shapes = [each.shape for each in self.first]
        found = _returned(returned, shapes, several=self.several)
        if not all(isinstance(each, TracedTensor) and each.runner is self.trace for each in found):
            raise InvalidArgumentError(
                f"cannot {_ACTION}: expected a step that returns tensors made of the state, got "
                f"{shown(returned)}; add what is clear to a tensor"
            )
        return tuple(each.node() for each in found)

    def _ranges(self) -> tuple[list[tuple[float, float]], list[bool]]:
        """The range of each state in all steps, and whether it is for clients to check."""
        starts = [self.trace.interval_of(each.node()).ends for each in self.first]
        observed = self.trace.observed
        # Of samples there is no need of a margin: clients refuse what leaves the range.
        firsts = starts if observed is None else [observed.seen(each.node()) for each in self.first]
        for (low, high), given in zip(firsts, self.given, strict=True):
            if given is not None and not (given[0] <= low and high <= given[1]):
                raise InvalidArgumentError(
                    f"cannot {_ACTION}: expected a first state from {given[0]:g} to {given[1]:g}, "
                    f"as every state is said to be, got one from {low:g} to {high:g}; give a "
                    "larger bound, or the arguments smaller ones"
                )
        now = [
            one if given is None else given for one, given in zip(starts, self.given, strict=True)
        ]
        if None not in self.given:
            return now, [True] * len(now)
        states = self._sources("state")
        following = self._traced(states, now)
        if observed is not None:
            return self._seen(states, following), [True] * len(now)
        return self._followed(states, following, now)

    def _followed(
        self,
        states: Sequence[Source],
        following: Sequence[Node],
        now: list[tuple[float, float]],
    ) -> tuple[list[tuple[float, float]], list[bool]]:
        """The ranges after as many steps as there are, or those that no step leaves."""
        claimed = [each is not None for each in self.given]
        for step in range(1, self.times + 1):
            reached = self.trace.ends_of_next(following, dict(zip(states, now, strict=True)))
            wider = [
                old if is_claimed else (min(old[0], new[0]), max(old[1], new[1]))
                for old, new, is_claimed in zip(now, reached, claimed, strict=True)
            ]
            if wider == now:
                return now, claimed
            now = wider
            largest = max(max(abs(low), abs(high)) for low, high in now)
            if not largest <= _LARGEST:
                raise ValueOutOfRangeError(
                    f"cannot {_ACTION}: expected a state whose range follows from the first one, "
                    f"got one that may come to {largest:.3g} by step {step} of {self.times}; say "
                    "by bound= how large its numbers are, or compile with samples of the arguments"
                )
        # They hold for the first state as it may be, and for as many steps.
        return now, [True] * len(now)

    def _seen(
        self,
        states: Sequence[Source],
        following: Sequence[Node],
    ) -> list[tuple[float, float]]:
        """The ranges by what states are on samples."""
        observed = self.trace.observed
        assert observed is not None
        taken = self._taken(states, following, beyond=1)
        return [
            observed.range_of([arrays[number] for steps in taken for arrays in steps])
            if given is None
            else given
            for number, given in enumerate(self.given)
        ]

    def _taken(
        self, states: Sequence[Source], following: Sequence[Node], beyond: int = 0
    ) -> list[list[list[Array]]]:
        """For each sample what the states are in every step, and beyond the last."""
        observed = self.trace.observed
        assert observed is not None
        first = [each.node() for each in self.first]
        found: list[list[list[Array]]] = []
        for values in observed.numbers_of(first):
            steps = [[values[each] for each in first]]
            while len(steps) < self.times + beyond:
                taken = {**values}
                taken.update(zip(states, steps[-1], strict=True))
                made = values_of(following, taken)
                steps.append([made[each] for each in following])
            found.append(steps)
        return found

    def _decide(self, loop: Loop, states: Sequence[Source], following: Sequence[Node]) -> None:
        """Take what stands for the last state for what it is on samples."""
        observed = self.trace.observed
        assert observed is not None
        last = iter([steps[-1] for steps in self._taken(states, following, beyond=1)])
        sources = [each.operand for each in loop.results.values() if isinstance(each, Within)]
        observed.decide(
            [each for each in sources if isinstance(each, Source)], (), lambda _: next(last)
        )

    def _require_used(self, loop: Loop) -> None:
        """Refuse a state that no next one is made of."""
        used = {*in_order(loop.next)}
        for number, state in enumerate(loop.states):
            if state not in used:
                raise InvalidArgumentError(
                    f"cannot {_ACTION}: expected a step that takes every tensor of its state, got "
                    f"one that leaves number {number} unused; leave it out of the state"
                )


def _captured(
    following: Sequence[Node], states: Collection[Node], tensors: Collection[Node]
) -> list[Node]:
    """What a step takes from outside: arguments of the function, and its tensors before."""

    def is_outside(node: Node) -> bool:
        return node not in states and (isinstance(node, Source) or node in tensors)

    order = in_order(following, lambda node: () if is_outside(node) else operand_nodes(node))
    return [each for each in order if is_outside(each)]


def _require_within(array: Any, low: float, high: float) -> None:
    if array.size and not (low <= array.min() and array.max() <= high):
        raise ValueOutOfRangeError(
            f"cannot {_ACTION}: expected a state from {low:g} to {high:g}, got one from "
            f"{array.min():g} to {array.max():g}; give a larger bound"
        )
