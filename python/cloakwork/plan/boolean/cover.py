"""Which bootstraps compute the ANDs of a network, and in which order.

The steps are those of `plan.boolean.steps`. XORs are sums of LWE ciphertexts in half encoding. So
each AND takes one bootstrap once one of its operands or their XOR, its *plane*, is in quarter
encoding; what is to be saved are re-encodings. The program inputs are in all encodings. The plan is
made greedily: ANDs that can share a bootstrap do; products whose other operand is wanted in quarter
encoding give it on the way; a majority that completes a wanted XOR gives that directly; where
nothing helps, what most ANDs want is re-encoded.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from cloakwork.plan.boolean.cover_state import URGENT, Progress, RequiredEncodings, Sharing
from cloakwork.plan.boolean.planes import Planes
from cloakwork.plan.boolean.reencode import Reencodings
from cloakwork.plan.boolean.steps import AndStep, Cover, Majority, SharedProducts, Step
from cloakwork.plan.boolean.xag import XorAndGraph

# Ready ANDs that are looked at to choose the next bootstrap.
_WINDOW = 256
_AIMING_WINDOW = 64


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the bootstraps of a parameter set can do.

    Args:
        most_outputs: The most outputs of one with a message space of 4.
        longest_chain: How many products in finer encodings may follow one another, each of which
            takes an operand in an encoding finer still.
        most_shared: The most ANDs of one that share an operand.
    """

    most_outputs: int
    longest_chain: int
    most_shared: int


def is_also_of(known: Cover, abilities: Abilities, less: Abilities) -> bool:
    """Whether a cover that abilities made is what lesser ones make: it uses no more than these.

    Example:
        >>> network = XorAndGraph(2)
        >>> network.outputs = [network.land(*network.inputs())]
        >>> known = cover(network, Abilities(4, 5, 3), 0, generous=False)
        >>> is_also_of(known, Abilities(4, 5, 3), Abilities(2, 5, 1))
        True
    """
    return (
        less.longest_chain == abilities.longest_chain
        and 1 < less.most_outputs <= abilities.most_outputs
        and less.most_shared <= abilities.most_shared
        and not any(isinstance(step, SharedProducts) for step in known.steps)
        and all(
            step.outputs <= less.most_outputs for step in known.steps if isinstance(step, AndStep)
        )
    )


def cover(network: XorAndGraph, abilities: Abilities, slack: float, *, generous: bool) -> Cover:
    """Plan the bootstraps of a network.

    Example:
        >>> network = XorAndGraph(3)
        >>> a, b, c = network.inputs()
        >>> network.outputs = [network.land(a, c), network.land(b, c)]
        >>> for most_shared in (1, 2):
        ...     len(cover(network, Abilities(2, 1, most_shared), 0, generous=False).steps)
        2
        1
    """
    return _Planner(network, abilities, slack, generous=generous).plan()


class _Planner:
    def __init__(
        self, network: XorAndGraph, abilities: Abilities, slack: float, *, generous: bool
    ) -> None:
        self._network = network
        self._abilities = abilities
        self._planes = Planes(network)
        self._progress = Progress(self._planes, slack)
        self._required = RequiredEncodings(self._progress, generous=generous)
        self._sharing = Sharing(self._progress, abilities.most_shared, abilities.longest_chain)
        self._reencodings = Reencodings(self._progress, abilities.most_outputs)
        # Of nodes that are not done: how many parts are missing, what waits for a part, the sums
        # that lack nothing but it, and how many sums with it are not in quarter encoding.
        self._missing: dict[int, int] = {}
        self._followers: dict[int, list[int]] = defaultdict(list)
        self._closes: dict[int, list[int]] = defaultdict(list)
        self._potential: dict[int, int] = defaultdict(int)
        self._waiting: dict[int, int] = {}
        self._groups: dict[int, list[int]] = defaultdict(list)
        # Ready ANDs of the present group: for products, for majorities, not yet feasible.
        self._products: dict[int, None] = {}
        self._majorities: dict[int, None] = {}
        self._infeasible: dict[int, None] = {}
        # The wanted XOR whose ANDs are being done.
        self._aim = 0
        self._collect()

    def plan(self) -> Cover:
        while True:
            if not (self._products or self._majorities or self._infeasible):
                if not self._groups:
                    return self._progress.cover
                level = min(self._groups)
                for node in self._groups.pop(level):
                    self._classify(node)
            elif shared := self._sharing.largest():
                self._do_shared(shared)
            elif self._products:
                self._do_product(next(iter(self._products)))
            elif self._infeasible:
                self._do_reencoding()
            else:
                self._do_majority()

    # What there is to do.

    def _collect(self) -> None:
        tracked = self._planes.tracked()
        for node in sorted(tracked):
            # A long XOR of inputs alone is there from the start.
            own = node in self._network.forms[node] and not self._network.is_and[node]
            if own and all(base in self._progress.level for base in self._planes.basis(node)):
                self._progress.level[node] = 0
        for node in tracked:
            basis = [base for base in self._planes.basis(node) if base not in self._progress.level]
            self._missing[node] = len(basis)
            for base in basis:
                self._followers[base].append(node)
                self._potential[base] += 1
            if len(basis) == 1:
                self._closes[next(iter(basis))].append(node)
        for node in self._planes.ands:
            self._required.update(node)
        for node in self._planes.ands:
            a, b, _ = self._planes.plane[node]
            self._waiting[node] = (self._missing[a] > 0) + (self._missing[b] > 0)
            if not self._waiting[node]:
                self._groups[0].append(node)

    def _classify(self, node: int) -> None:
        for group in (self._products, self._majorities, self._infeasible):
            group.pop(node, None)
        if self._progress.triple(node):
            self._majorities[node] = None
        elif any(map(self._progress.in_time, self._planes.plane[node])):
            self._products[node] = None
        else:
            self._infeasible[node] = None
        self._sharing.update(node)

    # What is done.

    def _step(self, step: Step, level: int) -> None:
        self._progress.cover.steps.append(step)
        for node in step.nodes:
            self._progress.level[node] = level
            for group in (self._products, self._majorities, self._infeasible):
                group.pop(node, None)
            self._sharing.remove(node)
            self._required.remove(node)
            self._follow(node)
        for node in step.makes:
            self._make(node, level)

    def _follow(self, done: int) -> None:
        """Count down what an AND, now done, is part of."""
        pending, complete = [done], []
        while pending:
            found = pending.pop()
            if found != done:
                # A long XOR is there once what waits for others is told of these.
                bases = self._planes.basis(found)
                self._progress.level[found] = max(map(self._progress.level.__getitem__, bases))
            for node in self._followers[found]:
                self._missing[node] -= 1
                if self._missing[node] == 1:
                    last = next(
                        base
                        for base in self._planes.basis(node)
                        if base not in self._progress.level
                    )
                    self._closes[last].append(node)
                elif not self._missing[node]:
                    complete.append(node)
                    if node in self._network.forms[node] and not self._network.is_and[node]:
                        pending.append(node)
        # What an AND that is ready now is made of is there.
        for node in complete:
            self._release(node)

    def _release(self, operand: int) -> None:
        for node in self._planes.in_plane.get(operand, ()):
            if node not in self._progress.level and operand in self._planes.plane[node][:2]:
                self._waiting[node] -= 1
                if not self._waiting[node]:
                    a, b, _ = self._planes.plane[node]
                    level = max(self._progress.half_level(a), self._progress.half_level(b))
                    if self._progress.slack == math.inf:
                        self._classify(node)
                    else:
                        self._groups[level].append(node)

    def _make(self, node: int, level: int) -> None:
        if node in self._progress.quarter:
            return
        self._progress.quarter[node] = level
        self._reencodings.note(node)
        # What a node is made of may be later than the node made on its own.
        if level <= self._progress.natural_level(node) + self._progress.slack:
            self._progress.cover.replaces.add(node)
        for base in self._planes.basis(node):
            self._potential[base] -= 1
        for each in (*self._planes.in_plane.get(node, ()), *self._planes.in_coset.get(node, ())):
            if each in self._progress.level:
                continue
            self._required.update(each)
            if each in self._products or each in self._majorities or each in self._infeasible:
                self._classify(each)

    def _do_product(self, node: int) -> None:
        quarter = self._progress.quarter
        plane = self._planes.plane[node]
        x = min(
            filter(self._progress.in_time, plane),
            key=lambda each: (quarter[each], len(self._network.forms[each])),
        )
        others = sorted(
            (each for each in plane if each != x),
            key=lambda each: (self._progress.half_level(each), len(self._network.forms[each])),
        )
        y = others[0]
        level = 1 + max(quarter[x], self._progress.half_level(y))
        makes = self._could_make(node, x)
        makes.sort(key=self._required.weight, reverse=True)
        # The AND itself in a finer encoding is also the AND in half encoding.
        free = self._abilities.most_outputs - (node not in makes[: self._abilities.most_outputs])
        self._step(self._product(node, x, y, makes[:free]), level)

    def _could_make(self, node: int, x: int) -> list[int]:
        """What is wanted in quarter encoding that a product of x could make on the way."""
        plane = self._planes.plane[node]
        makes = [each for each in plane if each != x and self._required.weight(each)]
        if self._progress.chain.get(x, 0) < self._abilities.longest_chain:
            shifted = [self._planes.moved(node, by) for by in (0, *plane)]
            makes += [each for each in shifted if each is not None and self._required.weight(each)]
        return makes

    def _product(self, node: int, x: int, y: int, makes: Sequence[int]) -> AndStep:
        for each in makes:
            if each not in self._planes.plane[node]:
                self._progress.chain[each] = self._progress.chain.get(x, 0) + 1
        inverted = self._planes.inverted(node, x), self._planes.inverted(node, y)
        return AndStep(node, x, y, *inverted, tuple(makes))

    def _do_shared(self, shared: int) -> None:
        chosen = self._sharing.sharers(shared)
        products: list[AndStep] = []
        for node, x in chosen:
            made = {each for product in products for each in product.makes}
            makes = [each for each in self._could_make(node, x) if each not in made]
            products.append(self._product(node, x, shared, makes))
        levels = [
            self._progress.half_level(shared),
            *(self._progress.quarter[x] for _, x in chosen),
        ]
        self._step(SharedProducts(tuple(products)), 1 + max(levels))

    def _do_majority(self) -> None:
        best = None
        for node in islice(self._majorities, _WINDOW):
            wanted = [
                each
                for each in self._closes[node]
                if self._required.weight(each) and node in self._network.forms[each]
            ]
            if not wanted:
                continue
            made = max(wanted, key=lambda each: (self._required.weight(each), -self._size(each)))
            key = (self._required.weight(made), -self._size(made))
            if (best is None or key > best[0]) and self._sum_in_time(node, made):
                best = key, node, made
        if best is not None:
            self._do_sum(best[1], best[2])
            return
        left = self._left_of_aim() or list(islice(self._majorities, _WINDOW))
        node = min(left, key=self._potential.__getitem__)
        plane = self._planes.plane[node]
        third = [each for each in plane if self._required.weight(each)]
        if third and self._abilities.most_outputs > 1 and any(map(self._progress.in_time, plane)):
            self._do_product(node)
        else:
            self._do_sum(node, node)

    def _left_of_aim(self) -> list[int]:
        """ANDs to do so that a wanted XOR lacks but one of them; none if there is no such."""
        left = self._left(self._aim)
        if not left:
            open_sums = {
                each
                for node in islice(self._majorities, _AIMING_WINDOW)
                for each in self._followers[node]
                if self._missing[each] > 1 and self._required.weight(each) >= URGENT
            }
            for each in sorted(open_sums, key=lambda each: (self._missing[each], each)):
                left = self._left(each)
                if left:
                    self._aim = each
                    break
        return left

    def _left(self, aim: int) -> list[int]:
        """What is left of a wanted XOR, if more than one AND and all of them for majorities."""
        if not aim or self._missing[aim] < 2 or not self._required.weight(aim):
            return []
        left = [base for base in self._planes.basis(aim) if base not in self._progress.level]
        return left if all(base in self._majorities for base in left) else []

    def _size(self, node: int) -> int:
        return len(self._network.forms[node])

    def _added(self, node: int, made: int, last: int) -> tuple[int, ...]:
        """Nodes whose sum, with an AND and the last operand of its majority, is to be made."""
        forms = self._network.forms
        whole = forms[made] ^ forms[node] ^ forms[last]
        if not whole:
            return ()
        found = self._network.node_of(whole)
        if found is not None:
            return (found,)
        parts: dict[int, None] = {last: None} if last else {}
        while made != node:
            a, b = self._network.children(made)
            if not forms[a].isdisjoint(forms[b]):
                # What cancels may not be there yet.
                return tuple(sorted(whole))
            if node not in forms[a]:
                a, b = b, a
            if b in parts:
                del parts[b]
            else:
                parts[b] = None
            made = a
        return tuple(parts)

    def _sum_in_time(self, node: int, made: int) -> bool:
        triple = self._progress.triple(node)
        assert triple is not None
        added = self._added(node, made, triple[2])
        natural = max(self._progress.half_level(each) for each in self._planes.plane[node][:2])
        return all(
            self._progress.half_level(each) <= natural + self._progress.slack for each in added
        )

    def _do_sum(self, node: int, made: int) -> None:
        triple = self._progress.triple(node)
        assert triple is not None
        first, second, last = triple
        added = self._added(node, made, last)
        levels = [self._progress.quarter[each] for each in triple] + [
            self._progress.half_level(e) for e in added
        ]
        level = 1 + max(levels)
        forms = self._network.forms
        literals = []
        for each in (first, second):
            in_plane = self._network.node_of(forms[each] ^ forms[last])
            assert in_plane is not None
            literals.append(2 * each + self._planes.inverted(node, in_plane))
        step = Majority(node, (literals[0], literals[1]), last, added, (made,))
        self._step(step, level)

    def _do_reencoding(self) -> None:
        step = self._reencodings.choose(self._infeasible)
        progress = self._progress
        level = 1 + max(progress.half_level(step.y), progress.quarter[step.x])
        for node in step.makes:
            # One that came too late is made anew.
            progress.quarter.pop(node, None)
        self._step(step, level)
