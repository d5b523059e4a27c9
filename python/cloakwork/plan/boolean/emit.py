"""A cover written out as a bootstrap program, refreshed where sums would be too noisy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cloakwork.errors import NoiseBudgetError
from cloakwork.plan.boolean.inputs import Inputs
from cloakwork.plan.boolean.steps import AndStep, Cover, Majority, Reencoding, SharedProducts
from cloakwork.plan.boolean.sums import SignalSums, Term
from cloakwork.plan.boolean.uses import OWN, StepUses, Use, Uses, plane_of, shared_encodings
from cloakwork.plan.boolean.wide_network import WideNetwork
from cloakwork.programs.bootstraps import (
    HALF,
    QUARTER,
    BootstrapProgram,
)
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.table_rotations import distinct_tables, rotated_steps, step_rotation
from cloakwork.schemes.tfhe_noise import BitNoise

_MESSAGE_BITS = 2


def program_of_cover(
    program: GateProgram, wide: WideNetwork, cover: Cover, noise: BitNoise
) -> BootstrapProgram:
    """The bootstrap program of a cover."""
    writer = _StepWriter(program, wide, cover, noise)
    for at, step in enumerate(cover.steps):
        uses = writer.uses.steps[at]
        if not (uses.finest or uses.alone):
            continue
        if isinstance(step, Majority):
            writer.majority(at, step)
        elif isinstance(step, AndStep):
            writer.product(at, step)
        elif isinstance(step, SharedProducts):
            writer.shared(at, step)
        else:
            writer.reencode(at, step)
    return writer.finish()


class _StepWriter:
    def __init__(
        self, program: GateProgram, wide: WideNetwork, cover: Cover, noise: BitNoise
    ) -> None:
        if not noise.most_tables(_MESSAGE_BITS):
            raise NoiseBudgetError(
                f"cannot map the gates under {noise.name!r}: its bootstraps are too "
                "noisy for a message space of 4; take other parameters"
            )
        self.uses = Uses(wide.network, cover)
        self._program = program
        self._network = wide.network
        self._noise = noise
        self._sums = SignalSums(program, noise)
        self._inputs = Inputs(wide, self._sums, noise, self.uses.inputs)
        # Nodes in half encoding, and by step those made in finer ones, as terms with encodings.
        self._own: dict[int, Term] = {}
        self._made: dict[Use, Term] = {}
        self._refreshed: dict[tuple[Term, int], Term] = {}
        # What a bootstrap that refreshes a sum can take, and some headroom.
        self._most_variance = 0.7 * noise.budget(_MESSAGE_BITS, 1)

    # Steps.

    def majority(self, at: int, step: Majority) -> None:
        """The majority of three bits XOR others; and the AND of it, if needed."""
        uses = self.uses.steps[at]
        ((made, encoding),) = uses.finest.items()
        fine, constant = [], 0
        for literal in (*step.literals, 2 * step.last):
            if literal >> 1:
                signal, weight = self._fine(uses.fine[literal >> 1], QUARTER)
                fine.append((signal, -weight if literal & 1 else weight))
                constant += QUARTER * (literal & 1)
        halves = [self._half(use) for use in uses.halves.values()]
        table = (-encoding // 2, -encoding // 2)
        (signal,) = self._bootstrap(
            fine, [QUARTER] * len(fine), halves, constant, [table], [encoding // 2], [encoding]
        )
        self._make(at, made, signal, encoding)
        if uses.alone:
            parts = [(signal, HALF // encoding), *halves]
            if made != step.node and step.last:
                parts.append(self._fine(uses.fine[step.last], HALF))
            self._own[step.node] = self._sum(parts if made != step.node else parts[:1])

    def product(self, at: int, step: AndStep) -> None:
        """An AND, and operands and shifted ANDs in finer encodings."""
        uses = self.uses.steps[at]
        _, y, third = plane_of(self._network, step)
        wanted = [(node, encoding) for node, encoding in uses.finest.items()]
        wanted += [(OWN, HALF)] * len(uses.alone)
        in_plane = [node in (y, third) for node, _ in wanted]
        tables = [self._table(step, node, encoding) for node, encoding in wanted]
        halved = [encoding // 2 for _, encoding in wanted]
        constants = [half * inside for half, inside in zip(halved, in_plane, strict=True)]
        periods = [half << inside for half, inside in zip(halved, in_plane, strict=True)]
        fine = [self._fine(uses.fine[step.x], QUARTER)]
        halves = [self._half(uses.halves[y])]
        signals = self._bootstrap(fine, [QUARTER], halves, 0, tables, constants, periods)
        for signal, (node, encoding) in zip(signals, wanted, strict=True):
            if node in (y, third):
                self._make(at, node, signal, encoding)
            else:
                self._keep_product(at, step, node, encoding, [(signal, 1)])

    def shared(self, at: int, step: SharedProducts) -> None:
        """What several products of one operand make, each a sum of rotations of one step."""
        uses = self.uses.steps[at]
        products = shared_encodings(step, uses)
        fine = [self._fine(uses.fine[each.x], encoding) for each, encoding in products]
        encodings = [encoding for _, encoding in products]
        halves = [self._half(use) for use in uses.halves.values()]
        size = 1 << len(products)
        height = min([HALF, *uses.finest.values()]) // 4
        made = [
            (product, node, encoding, rotated_steps(function, height))
            for place, (product, _) in enumerate(products)
            for node, encoding, function in self._functions(uses, product, size, place)
        ]
        rotations = sorted({earlier for *_, weights in made for earlier in weights})
        tables = [step_rotation(size, earlier, height) for earlier in rotations]
        steps = [height] * len(tables)
        signals = self._bootstrap(fine, encodings, halves, 0, tables, [0] * len(tables), steps)
        signal_of = dict(zip(rotations, signals, strict=True))
        for product, node, encoding, weights in made:
            parts = [(signal_of[earlier], times) for earlier, times in weights.items()]
            if node in plane_of(self._network, product):
                self._make(at, node, self._sums.linear(parts, encoding // 2), encoding)
            else:
                self._keep_product(at, product, node, encoding, parts)

    def _functions(
        self, uses: StepUses, product: AndStep, size: int, place: int
    ) -> Iterator[tuple[int, int, list[int]]]:
        """What a product among several makes: nodes, encodings, functions of the message."""
        bits = [message * (2 << place) // size & 1 for message in range(size)]
        for node in product.makes:
            if node in uses.finest:
                encoding = uses.finest[node]
                first, second = self._table(product, node, encoding)
                yield node, encoding, [second if bit else first for bit in bits]
        if product.node in uses.alone:
            first, second = self._table(product, OWN, HALF)
            yield OWN, HALF, [second if bit else first for bit in bits]

    def _table(self, step: AndStep, node: int, encoding: int) -> tuple[int, int]:
        """What a bootstrap gives for x = 0 and 1, y being 0, to make a node."""
        _, y, third = plane_of(self._network, step)
        half = encoding // 2
        if node in (y, third):
            return -half, half if node == third else -half
        a, b, _ = self._shifted(step, node)
        size = -half if b else half
        return size * a, size * (1 - a)

    def _keep_product(
        self, at: int, step: AndStep, node: int, encoding: int, parts: Sequence[Term]
    ) -> None:
        """An AND, alone or XOR operands of its own: x, or its complement, less the parts."""
        a, _, inverted = self._shifted(step, node)
        side = -1 if inverted else 1
        x_side = side * (-1 if a else 1)
        added = [(part, -side * times) for part, times in parts]
        fine = [self._fine(self.uses.steps[at].fine[step.x], encoding // 2)]
        # Such sums are operands of others of their kind.
        _, _, variance = self._sums.added([(fine[0][0], fine[0][1] * x_side), *added], [])
        if variance * (HALF // encoding) ** 2 > self._most_variance:
            self._refresh_noisiest(fine, [encoding // 2])
        [(signal, weight)] = fine
        terms = [(signal, weight * x_side), *added]
        whole = self._sums.linear(terms, side * a * (encoding // 2) + inverted * encoding)
        if node == OWN:
            self._own[step.node] = whole, 1
            return
        self._make(at, node, whole, encoding)
        if node == step.node:
            self._own[node] = whole, HALF // encoding

    def reencode(self, at: int, step: Reencoding) -> None:
        """One or two nodes in finer encodings."""
        uses = self.uses.steps[at]
        encodings = list(uses.finest.values())
        halves = [encoding // 2 for encoding in encodings]
        tables = [
            (-half, -half if node == step.y else half)
            for node, half in zip(uses.finest, halves, strict=True)
        ]
        fine = [self._fine(use, QUARTER) for use in uses.fine.values()]
        if step.y in uses.finest and len(uses.finest) == 1:
            fine = []
        summed = [self._half(use) for use in uses.halves.values()]
        quarters = [QUARTER] * len(fine)
        signals = self._bootstrap(fine, quarters, summed, 0, tables, halves, encodings)
        for signal, (node, encoding) in zip(signals, uses.finest.items(), strict=True):
            self._make(at, node, signal, encoding)

    def finish(self) -> BootstrapProgram:
        """The program, all bits of its outputs in half encoding."""
        literals = iter(self._network.outputs)
        leaving: dict[int, int] = {}
        for port in self._program.outputs:
            signals = []
            for _ in range(port.bits):
                literal = next(literals)
                if literal not in leaving:
                    leaving[literal] = self._leaving(literal)
                signals.append(leaving[literal])
            self._sums.builder.output(port, signals, [HALF] * port.bits)
        return self._sums.builder.finish()

    def _leaving(self, literal: int) -> int:
        constant = HALF * (literal & 1)
        if not literal >> 1:
            return self._sums.linear([], constant)
        signal, weight = self._half(self.uses.outputs[literal >> 1])
        if weight == 1 and not constant:
            return signal
        return self._sums.linear([(signal, weight)], constant)

    def _shifted(self, step: AndStep, node: int) -> tuple[int, int, int]:
        """The product whose value, inverted or not, is an AND XOR operands of its own."""
        a, b = step.x_inverted, step.y_inverted
        if node in (OWN, step.node):
            return a, b, 0
        forms = self._network.forms
        shift = forms[node] ^ forms[step.node]
        third = forms[plane_of(self._network, step)[2]]
        other_a = a ^ (shift in (forms[step.y], third))
        other_b = b ^ (shift in (forms[step.x], third))
        return other_a, other_b, (a & b) ^ (other_a & other_b)

    # Signals.

    def _make(self, at: int, node: int, signal: int, encoding: int) -> None:
        self._made[node, at] = signal, encoding

    def _fine(self, use: Use, encoding: int) -> Term:
        """A node in a finer encoding as a term."""
        node, maker = use
        if maker == OWN:
            return self._inputs.term(node - 1, encoding)
        signal, own = self._made[use]
        return signal, encoding // own

    def _half(self, use: Use) -> Term:
        """A node in half encoding as a term."""
        pending = [use]
        while pending:
            node, maker = pending[-1]
            if maker == OWN and node not in self._own:
                parts = self.uses.parts[node]
                if not parts:
                    self._own[node] = self._inputs.term(node - 1, HALF)
                else:
                    missing = [
                        part for part in parts if part[1] == OWN and part[0] not in self._own
                    ]
                    if missing:
                        pending += missing
                        continue
                    self._own[node] = self._sum([self._term(part) for part in parts])
            pending.pop()
        return self._term(use)

    def _term(self, use: Use) -> Term:
        if use[1] == OWN:
            term = self._own[use[0]]
        else:
            signal, encoding = self._made[use]
            term = signal, HALF // encoding
        return self._refreshed.get((term, HALF), term)

    def _sum(self, terms: Sequence[Term]) -> Term:
        """The XOR of bits in half encoding, no noisier than sums may be."""
        if len(terms) == 1:
            return terms[0]
        terms = list(terms)
        while True:
            signed, constant, variance = self._sums.added([], terms)
            if variance <= self._most_variance:
                break
            if not (
                self._refresh_first(terms) or self._refresh_noisiest(terms, [HALF] * len(terms))
            ):
                break
        return self._sums.linear(signed, constant), 1

    def _refresh_first(self, terms: list[Term]) -> bool:
        """Put a bootstrap in place of the first term too many, or of the sum of those before."""
        left, count = self._most_variance, 0
        for signal, weight in terms:
            left -= weight**2 * self._sums.variance(signal)
            if left < 0:
                break
            count += 1
        if not 0 < count < len(terms):
            return False
        pair = [self._sum(terms[:count]), terms[count]]
        is_refreshed = self._refresh_noisiest(pair, [HALF, HALF])
        terms[: count + 1] = pair
        return is_refreshed

    def _bootstrap(
        self,
        fine: Sequence[Term],
        encodings: Sequence[int],
        halves: Sequence[Term],
        constant: int,
        tables: Sequence[Sequence[int]],
        constants: Sequence[int],
        steps: Sequence[int],
    ) -> list[int]:
        """A bootstrap of bits in finer and in half encoding; outputs are multiples of `steps`."""
        fine, halves = list(fine), list(halves)
        message_bits = len(tables[0]).bit_length()
        distinct = distinct_tables(tuple(map(tuple, tables)))
        budget = self._noise.budget(message_bits, distinct)
        in_half = [HALF] * len(halves)
        while True:
            signed, offset, variance = self._sums.added(fine, halves)
            if variance <= budget:
                break
            if not (
                self._refresh_noisiest(halves, in_half) or self._refresh_noisiest(fine, encodings)
            ):
                self._refuse()
        constant += offset
        return self._sums.bootstrap(signed, constant, message_bits, tables, constants, steps)

    def _refresh_noisiest(self, terms: list[Term], encodings: Sequence[int]) -> bool:
        """Put a bootstrap in place of the noisiest of some terms; whether there was one to."""

        def noise(at: int) -> float:
            signal, weight = terms[at]
            return weight**2 * self._sums.variance(signal)

        worst = max(range(len(terms)), key=noise, default=None)
        if worst is None or noise(worst) <= self._noise.bootstrap_variance:
            return False
        if noise(worst) > self._noise.budget(_MESSAGE_BITS, 1):
            # As it is it may yet be an output.
            return False
        (signal, weight), encoding = terms[worst], encodings[worst]
        side = -1 if weight < 0 else 1
        key = (signal, weight * side), encoding
        if key not in self._refreshed:
            # A bit in half encoding is message 0 or 2, one in quarter encoding message 0 or 1.
            half = encoding // 2
            if encoding == HALF:
                (made,) = self._bootstrap([], [], [key[0]], 0, [(-half, -half)], [half], [encoding])
            else:
                quarter = signal, weight * side * (QUARTER // encoding)
                (made,) = self._bootstrap(
                    [quarter], [QUARTER], [], 0, [(-half, half)], [half], [encoding]
                )
            self._refreshed[key] = made, 1
        fresh, _ = self._refreshed[key]
        terms[worst] = fresh, side
        return True

    def _refuse(self) -> None:
        raise NoiseBudgetError(
            f"cannot map the gates under {self._noise.name!r}: a sum of fresh LWE ciphertexts is "
            "too noisy for a bootstrap; take other parameters"
        )
