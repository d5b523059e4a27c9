"""Which bootstraps compute the ANDs of a network, and in which order.

The steps are those of `plan.boolean_steps`. XORs are sums of signals in half encoding. So each AND
takes one bootstrap once one of its operands or their XOR, its *plane*, is in quarter encoding; what
is to be saved are re-encodings. The program inputs are in all encodings. The plan is made greedily:
ANDs that can share a bootstrap do; products whose other operand is wanted in quarter encoding give
it on the way; a majority that completes a wanted XOR gives that directly; where nothing helps,
what most ANDs want is re-encoded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush, nsmallest
from itertools import combinations, islice
from random import Random

from cloakwork.plan.boolean_network import Network
from cloakwork.plan.boolean_steps import (
    Cover,
    Majority,
    Product,
    Reencoding,
    SharedProducts,
    Step,
)

# Ready ANDs that are looked at to choose the next bootstrap, or what to re-encode.
_WINDOW = 256
_REENCODED_WINDOW = 40
_AIMING_WINDOW = 64
# What a wish weighs that an AND cannot do without.
_URGENT = 1 << 16


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the bootstraps of a target can do.

    Args:
        most_outputs: The most outputs of one with four boxes.
        longest_chain: How many products in finer encodings may follow one another, each of which
            takes an operand in an encoding finer still.
        most_shared: The most ANDs of one that share an operand.
    """

    most_outputs: int
    longest_chain: int
    most_shared: int


def cover(network: Network, abilities: Abilities, slack: float, *, generous: bool) -> Cover:
    """Plan the bootstraps of a network.

    Args:
        network: The network.
        abilities: What bootstraps can do.
        slack: How many bootstraps deeper than needed a step may come for the sake of a
            re-encoding saved; infinite for the fewest bootstraps.
        generous: Whether products also give operands that are not yet wanted but might spare a
            re-encoding as part of a majority.

    Example:
        >>> network = Network(3)
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
        self,
        network: Network,
        abilities: Abilities,
        slack: float,
        *,
        generous: bool,
    ) -> None:
        self._network = network
        self._abilities = abilities
        # An operand of a shared bootstrap is in an encoding finer by as many halves as others are.
        self._sharing_chain = max(0, abilities.longest_chain - abilities.most_shared)
        self._slack = slack
        self._generous = generous
        self._made = Cover()
        # Levels of bootstraps: of basis nodes when done, of nodes made in quarter encoding.
        self._level: dict[int, int] = dict.fromkeys(range(1 + network.input_count), 0)
        self._quarter: dict[int, int] = dict.fromkeys(range(1 + network.input_count), 0)
        self._chain: dict[int, int] = {}
        # Natural levels of sums, from their parts; found once these are done.
        self._natural: dict[int, int] = {}
        # Sums of forms are looked for by sums of random numbers, one for each basis node.
        self._random = Random(0)
        self._mark_of: dict[int, int] = {}
        self._marked: dict[int, int] = {}
        self._planes: dict[int, tuple[int, int, int]] = {}
        self._cosets: dict[int, list[tuple[int, ...]]] = {}
        self._in_plane: dict[int, list[int]] = defaultdict(list)
        self._in_coset: dict[int, list[int]] = defaultdict(list)
        self._bases: dict[int, list[int]] = {}
        self._wanted: dict[int, int] = defaultdict(int)
        self._wanted_by: dict[int, tuple[int, list[int]]] = {}
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
        # Of those by an operand, with the other one; and operands by how many share them.
        self._sharing: dict[int, dict[int, int]] = defaultdict(dict)
        self._most_shared: list[tuple[int, int]] = []
        for node in range(1, 1 + network.input_count):
            self._marked[self._mark(node)] = node
        # The wanted XOR whose ANDs are being done.
        self._aim = 0
        self._collect()

    def plan(self) -> Cover:
        while True:
            if not (self._products or self._majorities or self._infeasible):
                if not self._groups:
                    return self._made
                level = min(self._groups)
                for node in self._groups.pop(level):
                    self._classify(node)
            elif shared := self._largest_sharing():
                self._do_shared(shared)
            elif self._products:
                self._do_product(next(iter(self._products)))
            elif self._infeasible:
                self._do_reencoding()
            else:
                self._do_majority()

    # What there is to do.

    def _collect(self) -> None:
        network = self._network
        used = network.used()
        ands = [node for node in range(len(network)) if used[node] and network.is_and[node]]
        tracked: dict[int, None] = {}
        for node in ands:
            a, b = network.children(node)
            third = network.node_of(network.forms[a] ^ network.forms[b])
            if third is None:
                third = network.xor(2 * a, 2 * b) >> 1
            self._planes[node] = (a, b, third)
            self._cosets[node] = self._cosets_of(node)
            for each in self._planes[node]:
                self._in_plane[each].append(node)
                tracked[each] = None
            for coset in self._cosets[node]:
                for each in coset:
                    self._in_coset[each].append(node)
                    tracked[each] = None
        for literal in network.outputs:
            tracked[literal >> 1] = None
        pending = list(tracked)
        while pending:
            for base in self._basis(pending.pop()):
                if not network.is_and[base] and base not in tracked:
                    tracked[base] = None
                    pending.append(base)
        for node in sorted(tracked):
            # A long XOR of inputs alone is there from the start.
            own = node in network.forms[node] and not network.is_and[node]
            if own and all(base in self._level for base in self._basis(node)):
                self._level[node] = 0
        for node in tracked:
            basis = [base for base in self._basis(node) if base not in self._level]
            self._missing[node] = len(basis)
            for base in basis:
                self._followers[base].append(node)
                self._potential[base] += 1
            if len(basis) == 1:
                self._closes[next(iter(basis))].append(node)
        for node in ands:
            self._want(node)
        for node in ands:
            a, b, _ = self._planes[node]
            self._waiting[node] = (self._missing[a] > 0) + (self._missing[b] > 0)
            if not self._waiting[node]:
                self._groups[0].append(node)

    def _basis(self, node: int) -> list[int]:
        """The ANDs and long XORs that a node is the sum of, inputs left out."""
        if node in self._bases:
            return self._bases[node]
        network = self._network
        form = network.forms[node]
        if node in form and network.children(node) and not network.is_and[node]:
            a, b = network.children(node)
            form = network.forms[a] | network.forms[b]
        self._bases[node] = sorted(base for base in form if base > network.input_count)
        return self._bases[node]

    def _cosets_of(self, node: int) -> list[tuple[int, ...]]:
        """Sets of nodes of which any three, by their majority, do an AND.

        They are the plane, moved by a node that one of its own is a XOR of.
        """
        network = self._network
        found: dict[frozenset[int], tuple[int, ...]] = {}
        plane = self._planes[node]
        shifts = {
            child for each in plane if not network.is_and[each] for child in network.children(each)
        }
        for shift in sorted(shifts - set(plane)):
            moved = (network.node_of(network.forms[each] ^ network.forms[shift]) for each in plane)
            coset = (shift, *(each for each in moved if each is not None))
            if len(coset) >= 3:
                found.setdefault(frozenset(coset), coset)
        return list(found.values())

    # What is wanted in quarter encoding.

    def _want(self, node: int) -> None:
        """Note what would make an AND feasible; or, less urgent, one for a majority."""
        self._want_no_more(node)
        plane = [each for each in self._planes[node] if each not in self._quarter]
        if not self._feasible(node):
            wanted = plane
            for coset in self._cosets[node]:
                if sum(each in self._quarter for each in coset) == 2:
                    wanted += [each for each in coset if each not in self._quarter]
            self._wanted_by[node] = _URGENT, wanted
        elif self._generous and not self._triple(node):
            self._wanted_by[node] = 1, plane
        else:
            return
        weight, wanted = self._wanted_by[node]
        for each in wanted:
            self._wanted[each] += weight

    def _want_no_more(self, node: int) -> None:
        weight, wanted = self._wanted_by.pop(node, (0, []))
        for each in wanted:
            self._wanted[each] -= weight

    def _feasible(self, node: int) -> bool:
        return any(map(self._in_time, self._planes[node])) or bool(self._triple(node))

    def _triple(self, node: int) -> tuple[int, int, int] | None:
        """Three nodes in quarter encoding whose majority does an AND."""
        quarter = self._quarter
        triples = []
        inside = [each for each in self._planes[node] if self._in_time(each)]
        if len(inside) >= 2:
            inside.sort(key=quarter.__getitem__)
            triples.append((inside[0], inside[1], 0))
        for coset in self._cosets[node]:
            inside = [each for each in coset if self._in_time(each)]
            if len(inside) >= 3:
                inside.sort(key=quarter.__getitem__)
                triples.append((inside[0], inside[1], inside[2]))
        if not triples:
            return None
        return min(triples, key=lambda triple: max(map(quarter.__getitem__, triple)))

    def _wish(self, node: int) -> int:
        """How much a node is wanted in quarter encoding."""
        return 0 if node in self._quarter else self._wanted[node]

    # Levels.

    def _half_level(self, node: int) -> int:
        if node in self._made.replaces:
            return self._quarter[node]
        return self._natural_level(node)

    def _natural_level(self, node: int) -> int:
        if node not in self._natural:
            levels = map(self._level.__getitem__, self._network.forms[node])
            self._natural[node] = max(levels, default=0)
        return self._natural[node]

    def _classify(self, node: int) -> None:
        for group in (self._products, self._majorities, self._infeasible):
            group.pop(node, None)
        if self._triple(node):
            self._majorities[node] = None
        elif any(map(self._in_time, self._planes[node])):
            self._products[node] = None
        else:
            self._infeasible[node] = None
        if self._abilities.most_shared > 1:
            self._share(node)

    def _in_time(self, node: int) -> bool:
        """Whether a node is in quarter encoding, and about as early as by a re-encoding."""
        return (
            node in self._quarter
            and self._quarter[node] <= self._half_level(node) + 1 + self._slack
        )

    # What can share a bootstrap.

    def _share(self, node: int) -> None:
        """Note the operands that a ready AND could share with others."""
        for shared in self._planes[node]:
            finer = [
                each
                for each in self._planes[node]
                if each != shared
                and each in self._quarter
                and self._chain.get(each, 0) <= self._sharing_chain
                and self._quarter[each] <= self._half_level(shared) + self._slack
            ]
            if finer:
                self._sharing[shared][node] = min(finer, key=self._quarter.__getitem__)
                self._count_sharing(shared)
            else:
                self._share_no_more(node, shared)

    def _share_no_more(self, node: int, shared: int) -> None:
        if self._sharing[shared].pop(node, None) is not None:
            self._count_sharing(shared)

    def _count_sharing(self, shared: int) -> None:
        if len(self._sharing[shared]) > 1:
            heappush(self._most_shared, (-len(self._sharing[shared]), shared))

    def _largest_sharing(self) -> int:
        """The operand that most ready ANDs share, 0 if there is none that two do."""
        while self._most_shared:
            count, shared = self._most_shared[0]
            if len(self._sharing[shared]) == -count:
                return shared
            heappop(self._most_shared)
        return 0

    # What is done.

    def _step(self, step: Step, level: int) -> None:
        number = len(self._made.steps)
        self._made.steps.append(step)
        for node in step.makes:
            self._made.made_at.setdefault(node, number)
        for node in step.nodes:
            self._level[node] = level
            for group in (self._products, self._majorities, self._infeasible):
                group.pop(node, None)
            for each in self._planes[node]:
                self._share_no_more(node, each)
            self._want_no_more(node)
            self._follow(node)
        for node in step.makes:
            self._make(node, level)

    def _follow(self, done: int) -> None:
        """Count down what an AND, now done, is part of."""
        pending = [done]
        while pending:
            for node in self._followers[pending.pop()]:
                self._missing[node] -= 1
                if self._missing[node] == 1:
                    last = next(base for base in self._basis(node) if base not in self._level)
                    self._closes[last].append(node)
                elif not self._missing[node]:
                    if node in self._network.forms[node] and not self._network.is_and[node]:
                        self._level[node] = max(map(self._level.__getitem__, self._basis(node)))
                        pending.append(node)
                    self._release(node)

    def _release(self, operand: int) -> None:
        for node in self._in_plane.get(operand, ()):
            if node not in self._level and operand in self._planes[node][:2]:
                self._waiting[node] -= 1
                if not self._waiting[node]:
                    a, b, _ = self._planes[node]
                    level = max(self._half_level(a), self._half_level(b))
                    if self._slack == float("inf"):
                        self._classify(node)
                    else:
                        self._groups[level].append(node)

    def _make(self, node: int, level: int) -> None:
        if node in self._quarter:
            return
        self._quarter[node] = level
        self._marked[self._mark(node)] = node
        # What a node is made of may be later than the node made on its own.
        if level <= self._natural_level(node) + self._slack:
            self._made.replaces.add(node)
        for base in self._basis(node):
            self._potential[base] -= 1
        for each in (*self._in_plane.get(node, ()), *self._in_coset.get(node, ())):
            if each in self._level:
                continue
            self._want(each)
            if each in self._products or each in self._majorities or each in self._infeasible:
                self._classify(each)

    def _inverted(self, node: int, each: int) -> int:
        """The complement of a node of a plane in the product with any other node of it."""
        operands = self._network.operands[node]
        assert operands is not None
        for literal in operands:
            if literal >> 1 == each:
                return literal & 1
        return 1 ^ (operands[0] & 1) ^ (operands[1] & 1)

    def _do_product(self, node: int) -> None:
        quarter = self._quarter
        plane = self._planes[node]
        x = min(
            filter(self._in_time, plane),
            key=lambda each: (quarter[each], len(self._network.forms[each])),
        )
        others = sorted(
            (each for each in plane if each != x),
            key=lambda each: (self._half_level(each), len(self._network.forms[each])),
        )
        y = others[0]
        level = 1 + max(quarter[x], self._half_level(y))
        makes = self._could_make(node, x)
        makes.sort(key=self._wish, reverse=True)
        # The AND itself in a finer encoding is also the AND in half encoding.
        room = self._abilities.most_outputs - (node not in makes[: self._abilities.most_outputs])
        self._step(self._product(node, x, y, makes[:room]), level)

    def _could_make(self, node: int, x: int) -> list[int]:
        """What is wanted in quarter encoding that a product of x could make on the way."""
        plane = self._planes[node]
        makes = [each for each in plane if each != x and self._wish(each)]
        if self._chain.get(x, 0) < self._abilities.longest_chain:
            shifted = [self._moved(node, by) for by in (0, *plane)]
            makes += [each for each in shifted if each is not None and self._wish(each)]
        return makes

    def _product(self, node: int, x: int, y: int, makes: Sequence[int]) -> Product:
        for each in makes:
            if each not in self._planes[node]:
                self._chain[each] = self._chain.get(x, 0) + 1
        inverted = self._inverted(node, x), self._inverted(node, y)
        return Product(node, x, y, *inverted, tuple(makes))

    def _do_shared(self, shared: int) -> None:
        chosen = list(islice(self._sharing[shared].items(), self._abilities.most_shared))
        products: list[Product] = []
        for node, x in chosen:
            made = {each for product in products for each in product.makes}
            makes = [each for each in self._could_make(node, x) if each not in made]
            products.append(self._product(node, x, shared, makes))
        levels = [self._half_level(shared), *(self._quarter[x] for _, x in chosen)]
        self._step(SharedProducts(tuple(products)), 1 + max(levels))

    def _moved(self, node: int, by: int) -> int | None:
        forms = self._network.forms
        return self._network.node_of(forms[node] ^ forms[by]) if by else node

    def _do_majority(self) -> None:
        best = None
        for node in islice(self._majorities, _WINDOW):
            wishes = [
                each
                for each in self._closes[node]
                if self._wish(each) and node in self._network.forms[each]
            ]
            if not wishes:
                continue
            made = max(wishes, key=lambda each: (self._wish(each), -self._size(each)))
            key = (self._wish(made), -self._size(made))
            if (best is None or key > best[0]) and self._sum_in_time(node, made):
                best = key, node, made
        if best is not None:
            self._do_sum(best[1], best[2])
            return
        left = self._left_of_aim() or list(islice(self._majorities, _WINDOW))
        node = min(left, key=self._potential.__getitem__)
        plane = self._planes[node]
        third = [each for each in plane if self._wish(each)]
        if third and self._abilities.most_outputs > 1 and any(map(self._in_time, plane)):
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
                if self._missing[each] > 1 and self._wish(each) >= _URGENT
            }
            for each in sorted(open_sums, key=lambda each: (self._missing[each], each)):
                left = self._left(each)
                if left:
                    self._aim = each
                    break
        return left

    def _left(self, aim: int) -> list[int]:
        """What is left of a wanted XOR, if more than one AND and all of them for majorities."""
        if not aim or self._missing[aim] < 2 or not self._wish(aim):
            return []
        left = [base for base in self._basis(aim) if base not in self._level]
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
        triple = self._triple(node)
        assert triple is not None
        added = self._added(node, made, triple[2])
        natural = max(self._half_level(each) for each in self._planes[node][:2])
        return all(self._half_level(each) <= natural + self._slack for each in added)

    def _do_sum(self, node: int, made: int) -> None:
        triple = self._triple(node)
        assert triple is not None
        first, second, last = triple
        added = self._added(node, made, last)
        levels = [self._quarter[each] for each in triple] + [self._half_level(e) for e in added]
        level = 1 + max(levels)
        forms = self._network.forms
        literals = []
        for each in (first, second):
            in_plane = self._network.node_of(forms[each] ^ forms[last])
            assert in_plane is not None
            literals.append(2 * each + self._inverted(node, in_plane))
        step = Majority(node, (literals[0], literals[1]), last, added, (made,))
        self._step(step, level)

    def _do_reencoding(self) -> None:
        counts: dict[int, int] = defaultdict(int)
        for node in nsmallest(_REENCODED_WINDOW, self._infeasible):
            for each in self._planes[node]:
                counts[each] += 1
            for coset in self._cosets[node]:
                inside = [each for each in coset if self._in_time(each)]
                if len(inside) == 2:
                    for each in self._known(coset):
                        counts[each] += 1
        wishes = [each for each in counts if not self._in_time(each)]
        partners, pairs = self._pairs(wishes)
        alone: list[tuple[tuple[int, int, int, int], int, tuple[int, ...]]] = [
            ((counts[each], partners[each], -self._half_level(each), -each), 0, (each,))
            for each in wishes
        ]
        best = max(alone)
        if self._abilities.most_outputs > 1:
            for x, y, other in pairs:
                gain = (
                    counts[y] + counts[other],
                    partners[y] + partners[other],
                    -self._half_level(y),
                    -y,
                )
                best = max(best, (gain, x, (y, other)))
        _, x, makes = best
        y = makes[0]
        level = 1 + max(self._half_level(y), self._quarter[x])
        for node in makes:
            # One that came too late is made anew.
            self._quarter.pop(node, None)
        self._step(Reencoding(x, y, makes), level)

    def _known(self, coset: tuple[int, ...]) -> Iterable[int]:
        """The nodes that could be re-encoded by now."""
        return (
            each
            for each in coset
            if each not in self._quarter
            and all(base in self._level for base in self._network.forms[each])
        )

    def _pairs(self, wishes: list[int]) -> tuple[dict[int, int], list[tuple[int, int, int]]]:
        """What one bootstrap may re-encode together.

        Returns:
            For every wish of how many pairs of others it is the sum, so that it would help to
            re-encode these; and nodes in quarter encoding, each with two wishes that it is the
            sum of.
        """
        partners = dict.fromkeys(wishes, 0)
        marks = {self._mark(each): each for each in wishes}
        pairs = []
        for (first, y), (second, other) in combinations(marks.items(), 2):
            between = first ^ second
            if between in marks:
                partners[marks[between]] += 1
            elif between in self._marked:
                x = self._marked[between]
                forms = self._network.forms
                if forms[x] == forms[y] ^ forms[other] and (
                    self._quarter[x] <= self._half_level(y) + self._slack
                ):
                    pairs.append((x, y, other))
        return partners, pairs

    def _mark(self, node: int) -> int:
        """The sum of the random numbers of what a node is the sum of."""
        mark = 0
        for base in self._network.forms[node]:
            if base not in self._mark_of:
                self._mark_of[base] = self._random.getrandbits(62)
            mark ^= self._mark_of[base]
        return mark
