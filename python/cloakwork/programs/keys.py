"""Which evaluation keys a program needs, and at which levels."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from cloakwork.programs.slots import SlotProgram


@dataclass(frozen=True, slots=True)
class KeyRequirements:
    """The keys that serve a program; a key serves its own level and all below.

    Args:
        relinearisation_level: Level of the relinearisation key, None for no key.
        rotations: Level of the Galois key of each rotation.
        rotated_products: Level of the product key of each rotation: from the secret key times the
            rotated one to the secret key. That of no rotation is the relinearisation key.
        conjugation_level: Level of the key for complex conjugation, None for no key.
        encapsulation_weight: Weight of the sparse secret under which the modulus is raised, None
            for no keys to it and back.
        returns: Whether bits come into slots, by the key of `programs.phases`.
    """

    relinearisation_level: int | None = None
    rotations: Mapping[int, int] = field(default_factory=dict)
    rotated_products: Mapping[int, int] = field(default_factory=dict)
    conjugation_level: int | None = None
    encapsulation_weight: int | None = None
    returns: bool = False

    def beyond(self, held: KeyRequirements) -> KeyRequirements:
        """What of this demand the keys held do not serve.

        Example:
            >>> KeyRequirements(2, {1: 2, 4: 1}).beyond(KeyRequirements(2, {1: 1, 4: 3})).rotations
            {1: 2}
        """
        encapsulated = held.encapsulation_weight is not None
        return KeyRequirements(
            _level_beyond(self.relinearisation_level, held.relinearisation_level),
            _beyond(self.rotations, held.rotations),
            _beyond(self.rotated_products, held.rotated_products),
            _level_beyond(self.conjugation_level, held.conjugation_level),
            None if encapsulated else self.encapsulation_weight,
            self.returns and not held.returns,
        )

    def joined(self, other: KeyRequirements) -> KeyRequirements:
        """The demand that serves both."""
        return KeyRequirements(
            _highest(self.relinearisation_level, other.relinearisation_level),
            _joined(self.rotations, other.rotations),
            _joined(self.rotated_products, other.rotated_products),
            _highest(self.conjugation_level, other.conjugation_level),
            _highest(self.encapsulation_weight, other.encapsulation_weight),
            self.returns or other.returns,
        )

    def parts(self, size: int) -> Iterator[KeyRequirements]:
        """Demands of at most so many keys each that make up this one.

        Example:
            >>> [len(part) for part in KeyRequirements(2, {1: 2, 2: 2, 4: 1}).parts(3)]
            [1, 3]
        """
        if self.relinearisation_level is not None:
            yield KeyRequirements(self.relinearisation_level)
        if self.conjugation_level is not None:
            yield KeyRequirements(conjugation_level=self.conjugation_level)
        if self.encapsulation_weight is not None:
            yield KeyRequirements(encapsulation_weight=self.encapsulation_weight)
        if self.returns:
            yield KeyRequirements(returns=True)
        rotations = iter(self.rotations.items())
        while part := dict(islice(rotations, size)):
            yield KeyRequirements(None, part)
        products = iter(self.rotated_products.items())
        while part := dict(islice(products, size)):
            yield KeyRequirements(None, {}, part)

    def __len__(self) -> int:
        """How many keys."""
        others = (self.relinearisation_level, self.conjugation_level, self.encapsulation_weight)
        of_rotations = len(self.rotations) + len(self.rotated_products)
        return sum(other is not None for other in others) + of_rotations + self.returns

    def nbytes(self, key_bytes_at: Callable[[int], int]) -> int:
        """Bytes of the keys, given those of one key at each level; of those at a level alone.

        Example:
            >>> KeyRequirements(2, {1: 2, 4: 1}).nbytes(lambda level: 10 * level)
            50
        """
        levels = [*self.rotations.values(), *self.rotated_products.values()]
        single = (self.relinearisation_level, self.conjugation_level)
        levels += [level for level in single if level is not None]
        return sum(key_bytes_at(level) for level in levels)

    def __bool__(self) -> bool:
        return bool(len(self))

    def names(self) -> frozenset[str]:
        """What the keys are called, each by a name of its own, whatever its level.

        Example:
            >>> sorted(KeyRequirements(2, {1: 2, 4: 1}, {0: 2, 1: 2}).names())
            ['product 1', 'relinearisation', 'rotation 1', 'rotation 4']
        """
        # The product key of no rotation is the relinearisation key.
        products = {f"product {step}" for step in self.rotated_products if step}
        if self.relinearisation_level is not None or 0 in self.rotated_products:
            products.add("relinearisation")
        if self.conjugation_level is not None:
            products.add("conjugation")
        if self.encapsulation_weight is not None:
            products.add("encapsulation")
        if self.returns:
            products.add("return")
        return frozenset(products | {f"rotation {step}" for step in self.rotations})

    def named(self, names: Container[str]) -> KeyRequirements:
        """Those of the keys that have these names.

        Example:
            >>> KeyRequirements(2, {1: 2, 4: 1}).named(["rotation 4"])
            KeyRequirements(relinearisation_level=None, rotations={4: 1}, ...)
        """
        return KeyRequirements(
            self.relinearisation_level if "relinearisation" in names else None,
            {step: level for step, level in self.rotations.items() if f"rotation {step}" in names},
            {
                step: level
                for step, level in self.rotated_products.items()
                if (f"product {step}" if step else "relinearisation") in names
            },
            self.conjugation_level if "conjugation" in names else None,
            self.encapsulation_weight if "encapsulation" in names else None,
            self.returns and "return" in names,
        )


def _level_beyond(wanted: int | None, held: int | None) -> int | None:
    """The level of a key that is wanted, where the one held does not serve it."""
    return None if wanted is None or (held is not None and held >= wanted) else wanted


def _highest(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _beyond(wanted: Mapping[int, int], held: Mapping[int, int]) -> dict[int, int]:
    return {steps: level for steps, level in wanted.items() if held.get(steps, -1) < level}


def _joined(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    levels = dict(one)
    for steps, level in other.items():
        levels[steps] = max(level, levels.get(steps, -1))
    return levels


@dataclass(frozen=True, slots=True)
class KeyExpansion:
    """The uniform halves of evaluation keys that are expanded ahead, not whenever they are used.

    Args:
        nbytes: Bytes that they may take.
        uses: How often a run uses the Galois key of each rotation. The most used come first.
    """

    nbytes: int
    uses: Mapping[int, int]


def rotations_used(program: SlotProgram) -> Iterator[tuple[int, int]]:
    """Every use of a Galois key of a rotation: the rotation, and the level of the ciphertext.

    Example:
        >>> from cloakwork.programs.slots import Input, Output, Rotate
        >>> operations = (
        ...     Input("x", 3), Rotate(0, 2), Rotate(1, 2), Rotate(2, 1), Output(3))
        >>> list(rotations_used(SlotProgram("", 8, operations, (None,) * 5)))
        [(2, 3), (2, 3), (1, 3)]
    """
    for operation, state in zip(program.operations, program.states, strict=True):
        if state.level is not None:
            for step in operation.rotations(program.slots):
                yield step, state.level


def required_keys(program: SlotProgram, numbers: Iterable[int] | None = None) -> KeyRequirements:
    """The keys that a program needs, read off its operations.

    Example:
        >>> from cloakwork.programs.slots import Input, Output, Rotate
        >>> program = SlotProgram("", 8, (Input("x", 3), Rotate(0, 2), Output(1)), (None,) * 3)
        >>> required_keys(program).rotations
        {2: 3}
    """
    relinearisation: int | None = None
    conjugation: int | None = None
    rotations: dict[int, int] = {}
    products: dict[int, int] = {}
    for number in range(len(program.operations)) if numbers is None else numbers:
        operation, level = program.operations[number], program.states[number].level
        if level is None:
            continue
        context = program.context(number)
        conjugation = _highest(conjugation, operation.conjugation_level(context))
        product = operation.relinearisation_level(context)
        if product is not None:
            relinearisation = max(product, relinearisation or 0)
        for step in operation.rotations(program.slots):
            rotations[step] = max(level, rotations.get(step, -1))
        for step in operation.product_rotations(program.slots):
            products[step] = max(level, products.get(step, -1))
    return KeyRequirements(relinearisation, rotations, products, conjugation)
