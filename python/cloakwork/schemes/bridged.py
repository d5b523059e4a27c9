"""Two schemes with one client: slots, and bits that numbers in slots become.

A program over reals or integers and one over bits that follows it have a scheme each, which know of
one another: one secret key has both halves, and the evaluation keys are what each program needs,
with the ring switching key that leads from slots to bits. Both halves are 128-bit secure by
themselves; that one encrypts the other is the assumption of circular security, which bootstraps
make anyway.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

from cloakwork._native import (
    WORD_BYTES,
    BooleanParameters,
    Ciphertext,
    RingSwitchingKey,
    boolean_parameter_sets,
    return_key,
    ring_switching_variance,
)
from cloakwork.base.record import Fields, Record
from cloakwork.errors import MissingKeyError
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.keys import KeyExpansion, KeyRequirements
from cloakwork.programs.phases import DIMENSION, summing_rotations
from cloakwork.programs.slots import SlotProgram
from cloakwork.schemes.base import BitRun, Decrypted, Flooding, ReadLimits, Scheme
from cloakwork.schemes.bgv import Bgv, ByPrime
from cloakwork.schemes.ckks import Ckks
from cloakwork.schemes.encoded_cache import ciphertext_bytes
from cloakwork.schemes.tfhe import Tfhe
from cloakwork.schemes.tfhe_noise import BitNoise

_SWITCH = frozenset(("ring switching",))
_BACK = KeyRequirements(returns=True).names()


def takes_numbers(parameter_set: str) -> bool:
    """Whether numbers can leave slots for a parameter set over bits, or come back from it.

    A ring switched to its large key is 128-bit secure then: see `crates/rlwe`,
    `core::ring_switching`.

    Example:
        >>> [takes_numbers(name) for name in ("space4", "space4x2", "space8", "space16")]
        [False, True, True, True]
    """
    return BooleanParameters(parameter_set).lwe_bytes == WORD_BYTES * (DIMENSION + 1)


def sets_of_numbers() -> list[str]:
    """The parameter sets over bits that numbers can leave slots for, and come back from.

    Example:
        >>> "space4x2" in sets_of_numbers(), "space4" in sets_of_numbers()
        (True, False)
    """
    return [name for name in boolean_parameter_sets() if takes_numbers(name)]


@dataclass(frozen=True, slots=True)
class SecretPair:
    """The secret keys of slots and of bits."""

    slots: Any = field(repr=False)
    bits: Any = field(repr=False)


@dataclass(frozen=True, slots=True)
class PublicPair:
    """The public keys of slots and of bits: inputs of a row may be of both."""

    slots: Any = field(repr=False)
    bits: Any = field(repr=False)


@dataclass(slots=True)
class KeyPair:
    """Evaluation keys of slots and of bits, and those that lead from one to the other, if any.

    Args:
        slots: Those of slots.
        bits: Those of bits.
        switch: From slots to bits.
        back: From bits to slots: the secret key of bits in slots; see `programs.phases`.
    """

    slots: Any = field(default=None, repr=False)
    bits: Any = field(default=None, repr=False)
    switch: RingSwitchingKey | None = field(default=None, repr=False)
    back: Ciphertext | None = field(default=None, repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of all."""
        parts = self.slots, self.bits, self.switch, self.back
        return sum(each.nbytes for each in parts if each is not None)


_PAIRS: Mapping[str, Any] = {"secret_key": SecretPair, "public_key": PublicPair}


class _Bridged(Scheme):
    """What both sides have in common; a side's own scheme comes after it in the order of classes.

    Attributes:
        half: The field of pairs that this side computes with.
        plain_slots: The scheme of slots by itself.
        plain_bits: That of bits.
    """

    half: ClassVar[str]
    plain_slots: Any
    plain_bits: Tfhe

    @property
    def plain(self) -> Any:
        """This side's scheme by itself."""
        return getattr(self, f"plain_{self.half}")

    def _own(self, pair: Any) -> Any:
        """This side's half of a pair of keys."""
        return getattr(pair, self.half)

    @property
    def insecure(self) -> bool:
        return bool(self.plain_slots.insecure or self.plain_bits.insecure)

    @property
    def key_set(self) -> Hashable:
        return self.plain_slots.key_set, self.plain_bits.key_set

    def secret_key(self) -> SecretPair:
        return SecretPair(self.plain_slots.secret_key(), self.plain_bits.secret_key())

    def public_key(self, secret: SecretPair) -> PublicPair:
        return PublicPair(
            self.plain_slots.public_key(secret.slots), self.plain_bits.public_key(secret.bits)
        )

    def extend_keys(self, keys: KeyPair, further: KeyPair) -> None:
        if keys.slots is None:
            keys.slots = further.slots
        elif further.slots is not None:
            self.plain_slots.extend_keys(keys.slots, further.slots)
        keys.bits = further.bits if keys.bits is None else keys.bits
        keys.switch = further.switch if keys.switch is None else keys.switch
        keys.back = further.back if keys.back is None else keys.back

    def require_keys(self, keys: KeyPair, body: Any) -> None:
        if self._own(keys) is None:
            raise MissingKeyError(
                f"cannot use the evaluation keys for {body.title}: expected keys of {self}, got "
                "none; have the client make them by evaluation_keys, with the programs that are "
                "served already"
            )
        self.plain.require_keys(self._own(keys), body)

    def encrypt(
        self, key: Any, vectors: Mapping[int, Any], body: Any, bounds: Sequence[float] | None
    ) -> dict[int, Any]:
        made: dict[int, Any] = self.plain.encrypt(self._own(key), vectors, body, bounds)
        return made

    def decrypt(
        self,
        secret: SecretPair,
        values: Sequence[Any],
        body: Any,
        expected: Sequence[Any] | None = None,
        flooding: Flooding | None = None,
    ) -> Decrypted:
        made: Decrypted = self.plain.decrypt(self._own(secret), values, body, expected, flooding)
        return made

    def key_parts(self, keys: KeyPair) -> Iterator[tuple[frozenset[str], KeyPair]]:
        if keys.slots is not None:
            for names, part in self.plain_slots.key_parts(keys.slots):
                yield names, KeyPair(slots=part)
        if keys.bits is not None:
            for names, part in self.plain_bits.key_parts(keys.bits):
                yield names, KeyPair(bits=part)
        if keys.switch is not None:
            yield _SWITCH, KeyPair(switch=keys.switch)
        if keys.back is not None:
            yield _BACK, KeyPair(back=keys.back)

    def dump(self, item: Any) -> Record:
        if not isinstance(item, SecretPair | PublicPair | KeyPair):
            return dict(self.plain.dump(item))
        made: dict[str, Any] = {}
        if item.slots is not None:
            made["slots"] = self.plain_slots.dump(item.slots)
        if item.bits is not None:
            made["bits"] = self.plain_bits.dump(item.bits)
        if isinstance(item, KeyPair) and item.switch is not None:
            made["switch"] = {"data": item.switch.to_bytes()}
        if isinstance(item, KeyPair) and item.back is not None:
            made["back"] = {"data": item.back.to_bytes()}
        return made

    def read_key(self, kind: str, fields: Fields) -> Any:
        slots, bits = (
            plain.read_key(kind, fields.within(name)) if fields.has(name) else None
            for name, plain in (("slots", self.plain_slots), ("bits", self.plain_bits))
        )
        if kind in _PAIRS:
            if slots is None or bits is None:
                raise fields.wrong("slots", "beside bits, the keys of both")
            return _PAIRS[kind](slots, bits)
        switch = None
        if fields.has("switch"):
            switch = RingSwitchingKey.from_bytes(
                self.plain_slots.parameter_sets[0],
                self.plain_bits.parameters,
                fields.within("switch").data("data"),
            )
        back = None
        if fields.has("back"):
            back = self._read_back(fields.within("back"))
        return KeyPair(slots, bits, switch, back)

    def _read_back(self, fields: Fields) -> Ciphertext:
        """A return key, at the top level as it is made."""
        if not isinstance(self.plain_slots, Ckks):
            raise fields.wrong("data", "keys of integers, which nothing returns to")
        back = self.plain_slots.read_ciphertext(fields)
        if back.level != self.plain_slots.parameters.levels or back.degree != 1:
            raise fields.wrong("data", "a ciphertext at the top level")
        return back


class _Slots(_Bridged):
    """The side of slots."""

    half: ClassVar[str] = "slots"

    def evaluation_keys(self, secret: SecretPair, body: Any) -> KeyPair:
        return KeyPair(slots=self.plain_slots.evaluation_keys(secret.slots, body))

    def key_back(self, _: SecretPair, __: KeyRequirements) -> Ciphertext | None:
        """The return key, where it is needed."""
        return None

    def further_keys(
        self,
        secret: SecretPair,
        needed: KeyRequirements | None,
        served: Sequence[KeyRequirements | None],
    ) -> KeyPair | None:
        assert needed is not None
        lacking, known = needed, [each for each in served if each is not None]
        for each in known:
            lacking = lacking.beyond(each)
        made = self.plain_slots.further_keys(secret.slots, needed, known)
        return None if made is None else KeyPair(slots=made, back=self.key_back(secret, lacking))

    def rekeying_key(self, secret: Any, to: Any) -> Any:
        """What takes what lies in slots to another key; bits are not taken over."""
        return self.plain_slots.rekeying_key(secret.slots, to.slots)

    def backend(
        self, keys: KeyPair, *, cache_bytes: int, expansion: KeyExpansion | None = None
    ) -> Any:
        """What a program runs on; see `schemes.base.SlotScheme`."""
        made = self.plain_slots.backend(keys.slots, cache_bytes=cache_bytes, expansion=expansion)
        made.return_key = keys.back
        return made

    def to_record(self) -> Record:
        own = self.plain_slots.to_record()
        return {**own, "scheme": self.name, "bits": self.plain_bits.to_record()}

    def __str__(self) -> str:
        return f"{self.plain_slots}, beside {self.plain_bits}"


class BridgedReals(_Slots, Ckks):
    """CKKS of programs whose results become bits, or whose inputs come from bits.

    Args:
        slots: CKKS by itself.
        bits: What results become, or come from.
        returns: Whether inputs come from bits.
    """

    name: ClassVar[str] = "ckks beside tfhe"

    def __init__(self, slots: Ckks, bits: Tfhe, *, returns: bool) -> None:
        super().__init__(slots.parameters, slots.refreshing, public_inputs=slots.public_inputs)
        self.plain_slots, self.plain_bits, self.returns = slots, bits, returns

    def evaluation_keys(self, secret: SecretPair, body: Any) -> KeyPair:
        needed = self.required_keys(body)
        slots = self.plain_slots.keys_for(secret.slots, needed)
        return KeyPair(slots=slots, back=self.key_back(secret, needed))

    def key_back(self, secret: SecretPair, needed: KeyRequirements) -> Ciphertext | None:
        if not needed.returns:
            return None
        return return_key(self.parameters, secret.slots, secret.bits, self.parameters.levels)

    def required_keys(
        self, body: SlotProgram, numbers: Collection[int] | None = None
    ) -> KeyRequirements:
        needed: KeyRequirements = self.plain_slots.required_keys(body, numbers)
        if not self.returns or numbers is not None:
            return needed
        levels = dict.fromkeys(summing_rotations(self.parameters.slots), self.parameters.levels)
        return needed.joined(KeyRequirements(rotations=levels, returns=True))

    def bytes_of(self, keys: KeyRequirements) -> int:
        made = int(self.plain_slots.bytes_of(keys))
        if keys.returns:
            made += ciphertext_bytes(self.parameters, self.parameters.levels)
        return made

    def require_keys(self, keys: KeyPair, body: Any) -> None:
        super().require_keys(keys, body)
        if self.returns and keys.back is None:
            raise MissingKeyError(
                f"cannot use the evaluation keys for {body.title}: expected the return key as "
                "well; have the client make it by evaluation_keys, with the programs that are "
                "served already"
            )

    def estimators(self, body: SlotProgram, bounds: Sequence[float] | None) -> Any:
        found = self.plain_slots.estimators(body, bounds)
        for backend, _ in found:
            whole = self.parameters.estimate(
                self.parameters.slots, level=self.parameters.levels, bound=1.0
            )
            backend.return_key = whole.encrypted()
        return found

    def device_backend(self, keys: KeyPair, device: Any, *, cache_bytes: int) -> Any:
        return super().device_backend(keys.slots, device, cache_bytes=cache_bytes)

    def to_record(self) -> Record:
        return {**super().to_record(), "returns": self.returns}

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        bits = Tfhe.from_fields(fields.within("bits"), limits)
        returns = fields.value("returns", bool)
        return cls(Ckks.from_fields(fields, limits), bits, returns=returns)


class BridgedIntegers(_Slots, Bgv):
    """BGV of programs whose results become bits.

    Args:
        slots: BGV by itself, of one prime.
        bits: What results become.
    """

    name: ClassVar[str] = "bgv beside tfhe"

    def __init__(self, slots: Bgv, bits: Tfhe) -> None:
        super().__init__(
            slots.parameter_sets, public_inputs=slots.public_inputs, modular=slots.modular
        )
        self.plain_slots, self.plain_bits = slots, bits

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        bits = Tfhe.from_fields(fields.within("bits"), limits)
        return cls(Bgv.from_fields(fields, limits), bits)


class BridgedBits(_Bridged, Tfhe):
    """TFHE of programs that take numbers out of slots.

    Args:
        bits: TFHE by itself.
        slots: What the numbers are encrypted by.
    """

    name: ClassVar[str] = "tfhe beside slots"
    half: ClassVar[str] = "bits"

    def __init__(self, bits: Tfhe, slots: Ckks | Bgv) -> None:
        super().__init__(bits.parameters.name, bits.failure_bits)
        self.plain_slots, self.plain_bits = slots, bits

    @property
    def noise(self) -> BitNoise:
        """With the noise of what leaves slots."""
        noise = super().noise
        switched = ring_switching_variance(
            self.plain_slots.parameter_sets[0].log_n, self.parameters
        )
        return replace(noise, public_variance=max(noise.public_variance, switched))

    def key_bytes(self, body: BootstrapProgram) -> int:
        """Bytes of the evaluation key and of the ring switching key, as they are stored."""
        log_n = self.plain_slots.parameter_sets[0].log_n
        return super().key_bytes(body) + int(RingSwitchingKey.stored_bytes(log_n))

    def evaluation_keys(self, secret: SecretPair, body: Any) -> KeyPair:
        slots = secret.slots.by_prime[0] if isinstance(secret.slots, ByPrime) else secret.slots
        return KeyPair(
            bits=self.plain_bits.evaluation_keys(secret.bits, body),
            switch=RingSwitchingKey.generate(slots, secret.bits),
        )

    def further_keys(
        self,
        secret: SecretPair,
        needed: KeyRequirements | None,
        served: Sequence[KeyRequirements | None],
    ) -> KeyPair | None:
        return None if None in served else self.evaluation_keys(secret, None)

    def run(
        self,
        key: KeyPair,
        body: BootstrapProgram,
        values: Mapping[int, Any],
        clear: Mapping[int, Any],
        *,
        threads: int | None,
        cancel: threading.Event | None,
    ) -> BitRun:
        return super().run(self._own(key), body, values, clear, threads=threads, cancel=cancel)

    def run_part(self, key: KeyPair, part: Any, inputs: Any, *, threads: int) -> BitRun:
        return super().run_part(self._own(key), part, inputs, threads=threads)

    def to_record(self) -> Record:
        own = self.plain_bits.to_record()
        return {**own, "scheme": self.name, "slots": self.plain_slots.to_record()}

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        slots = fields.within("slots")
        kinds = {each.name: each for each in (Ckks, Bgv)}
        kind = kinds[slots.choice("scheme", tuple(kinds))]
        return cls(Tfhe.from_fields(fields, limits), kind.from_fields(slots, limits))

    def __str__(self) -> str:
        return f"{self.plain_bits}, beside {self.plain_slots}"
