"""Which signals the steps of a cover use: those made in finer encodings, or sums in half encoding.

Forwards over the steps it is settled from what each sum is taken, by what has been made before;
backwards it is found which encodings are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from cloakwork.plan.boolean.steps import AndStep, Cover, Majority, SharedProducts, Step
from cloakwork.plan.boolean.xag import XorAndGraph
from cloakwork.programs.bootstraps import HALF, QUARTER

# What stands for the step that made a node, where a sum, an AND's own bootstrap or an input does.
OWN = -1

# A node, and the step that made it in a finer encoding, or OWN.
Use = tuple[int, int]


@dataclass(slots=True)
class StepUses:
    """What one step uses and what it has to make.

    Args:
        fine: Nodes in quarter or finer encoding.
        halves: Nodes in half encoding.
        finest: For the nodes that it makes, as far as needed, the finest encoding needed.
        alone: Those of the step's ANDs that are needed in half encoding as such.
    """

    fine: dict[int, Use]
    halves: dict[int, Use]
    finest: dict[int, int] = field(default_factory=dict)
    alone: set[int] = field(default_factory=set)


class Uses:
    """The uses of all steps of a cover, and of the outputs.

    Args:
        network: The network.
        cover: Its cover.

    Attributes:
        steps: What each step uses.
        outputs: The nodes that leave, in half encoding.
        parts: For every XOR that is taken from its parts what these are.
        inputs: For inputs that are needed in finer encodings than half the finest of these.
    """

    def __init__(self, network: XorAndGraph, cover: Cover) -> None:
        self._network = network
        self._cover = cover
        self._maker: dict[int, int] = {}
        self.parts: dict[int, list[Use]] = {}
        self.inputs: dict[int, int] = {}
        self.steps: list[StepUses] = []
        self._times_used = network.uses()
        for at, step in enumerate(cover.steps):
            self.steps.append(self._uses_of(step))
            self._maker |= dict.fromkeys(step.makes, at)
        nodes = [literal >> 1 for literal in network.outputs]
        self.outputs = {node: self._half(node) for node in nodes}
        self._find_needs()

    def _uses_of(self, step: Step) -> StepUses:
        if isinstance(step, Majority):
            nodes = [literal >> 1 for literal in step.literals]
            fine, halves = [*nodes, step.last], list(step.added)
        elif isinstance(step, SharedProducts):
            fine, halves = [each.x for each in step.products], [step.products[0].y]
        else:
            fine, halves = [step.x], [step.y]
        return StepUses(
            {node: (node, self._maker.get(node, OWN)) for node in fine if node},
            {node: self._half(node) for node in halves},
        )

    def _half(self, node: int) -> Use:
        """From what a node in half encoding is taken now."""
        pending = [node]
        while pending:
            last = pending.pop()
            if self._use(last)[1] == OWN and last not in self.parts:
                self.parts[last] = self._parts(last)
                pending += [part for part, maker in self.parts[last] if maker == OWN]
        return self._use(node)

    def _parts(self, node: int) -> list[Use]:
        """What a sum is taken from: in place of sums that nothing else needs, their parts."""
        found: list[Use] = []
        pending = list(parts_of_signal(self._network, node))[::-1]
        while pending:
            use = self._use(pending.pop())
            below = parts_of_signal(self._network, use[0]) if use[1] == OWN else ()
            if below and self._is_used_once(use[0]):
                pending += below[::-1]
            else:
                found.append(use)
        return found

    def _is_used_once(self, node: int) -> bool:
        return node < len(self._times_used) and self._times_used[node] == 1

    def _use(self, node: int) -> Use:
        return node, self._maker.get(node, OWN) if node in self._cover.replaces else OWN

    def _find_needs(self) -> None:
        seen: set[int] = set()
        step_of = {node: at for at, step in enumerate(self._cover.steps) for node in step.nodes}

        def need_half(use: Use) -> None:
            pending = [use]
            while pending:
                node, maker = pending.pop()
                if maker != OWN:
                    self._need_fine((node, maker), HALF)
                elif node not in seen:
                    seen.add(node)
                    if node in step_of:
                        self.steps[step_of[node]].alone.add(node)
                    pending += self.parts.get(node, ())

        for use in self.outputs.values():
            need_half(use)
        for step, uses in zip(reversed(self._cover.steps), reversed(self.steps), strict=True):
            if isinstance(step, Majority) and uses.alone:
                uses.finest.setdefault(step.makes[0], HALF)
            if not isinstance(step, Majority):
                uses.alone -= uses.finest.keys()
            if not (uses.finest or uses.alone):
                continue
            if isinstance(step, SharedProducts):
                products = shared_encodings(step, uses)
            elif isinstance(step, AndStep):
                products = [(step, QUARTER)]
            else:
                products = []
                for use in uses.fine.values():
                    self._need_fine(use, QUARTER)
            for product, encoding in products:
                self._need_fine(uses.fine[product.x], encoding)
                for node in uses.finest.keys() & set(product.makes):
                    if node not in plane_of(self._network, product):
                        self._need_fine(uses.fine[product.x], uses.finest[node] // 2)
            for use in uses.halves.values():
                need_half(use)

    def _need_fine(self, use: Use, encoding: int) -> None:
        node, maker = use
        finest = self.inputs if maker == OWN else self.steps[maker].finest
        finest[node] = min(encoding, finest.get(node, encoding))


def shared_encodings(step: SharedProducts, uses: StepUses) -> list[tuple[AndStep, int]]:
    """The products that are needed, and in which encodings the bootstrap takes their x."""
    needed = uses.alone | uses.finest.keys()
    products = [each for each in step.products if needed & {each.node, *each.makes}]
    return [(product, QUARTER >> place) for place, product in enumerate(products)]


def plane_of(network: XorAndGraph, step: AndStep) -> tuple[int, int, int]:
    """x, y and x XOR y of a product."""
    (third,) = set(network.plane(step.node)) - {step.x, step.y}
    return step.x, step.y, third


def parts_of_signal(network: XorAndGraph, node: int) -> Sequence[int]:
    """Nodes whose sum a XOR is: its operands, or where these share something, its form.

    What the operands share need not be there when the XOR is wanted.
    """
    if network.is_and[node] or not network.children(node):
        return ()
    a, b = network.children(node)
    if node in network.forms[node] or network.forms[a].isdisjoint(network.forms[b]):
        return a, b
    return sorted(network.forms[node])
