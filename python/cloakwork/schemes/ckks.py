"""The CKKS backend: slot programs on ciphertexts of the native engine.

Every level has one canonical scale. A value that is no product stands at the
scale of its level, always: clear factors are encoded at the one scale after
which the rescale lands there, and a value that drops levels is aligned to the
scale of the lower one. So any two values of one level can be added.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from typing import Any, ClassVar

from cloakwork._native import (
    PRECISION_FAILURE_BITS,
    Bootstrapping,
    Ciphertext,
    CkksEstimate,
    EvaluationKeys,
    Evaluator,
    LinearTransform,
    Parameters,
    PublicKey,
    RekeyingKey,
    RotatedProducts,
    SecretKey,
)
from cloakwork.base.record import Fields, Record
from cloakwork.errors import InvalidProgramError
from cloakwork.programs.keys import KeyExpansion, KeyRequirements
from cloakwork.programs.operations.bootstrapping import refreshes
from cloakwork.programs.refreshing import Refreshing
from cloakwork.programs.slots import (
    Basis,
    SlotProgram,
    State,
    Vector,
)
from cloakwork.schemes.base import (
    Backend,
    Decrypted,
    Flooding,
    Sums,
    Transform,
    TransformTerms,
    levels_of,
    sharing_of,
)
from cloakwork.schemes.ckks_estimates import CkksEstimates
from cloakwork.schemes.clear_real import ClearReal, RealScheme
from cloakwork.schemes.device.backend import CkksDeviceBackend
from cloakwork.schemes.device.devices import OpenDevice
from cloakwork.schemes.device.staying import StayingCiphertext
from cloakwork.schemes.encoded_cache import (
    EncodedVector,
    RecentPlaintexts,
    TransformCache,
    ciphertext_bytes,
)

# Bytes of evaluation keys up to which they are made with both halves, ready to be used.
_WHOLE_KEY_BYTES = 1 << 32
# Of more, keys that are made side by side.
_KEYS_AT_ONCE = 16


class CkksBackend(Backend[Ciphertext]):
    """Computes on ciphertexts what `schemes.base.Backend` asks for.

    Args:
        parameters: The parameter set.
        keys: The evaluation keys; it holds no other key.
        cache_bytes: Bytes that encoded linear transforms may take, so that later runs need not
            encode them again; those of a bootstrapping come first.
        refreshing: What bootstraps do; None where the parameters have none.
        expand: Expands uniform halves of keys that were taken in later.

    Example:
        >>> p = Parameters(levels=1, log_n=10, insecure=True)
        >>> key = SecretKey.generate(p)
        >>> keys = key.evaluation_keys(
        ...     relinearisation_level=None, rotations={}, conjugation_level=None)
        >>> CkksBackend(p, keys).keys.rotations()
        {}
    """

    def __init__(
        self,
        parameters: Parameters,
        keys: EvaluationKeys,
        *,
        cache_bytes: int = 0,
        refreshing: Refreshing | None = None,
        expand: Callable[[], None] = lambda: None,
    ) -> None:
        self.parameters = parameters
        self.keys = keys
        # The secret key of bits in slots, where these come back.
        self.return_key: Ciphertext | None = None
        self._expand = expand
        kept = 0 if refreshing is None else refreshing.encoded_bytes
        self._keeps_circuit = kept <= cache_bytes
        self.transforms = TransformCache(parameters, cache_bytes - kept * self._keeps_circuit)
        self._refreshing = refreshing
        self._evaluator = Evaluator(keys)
        self._making = threading.Lock()
        self._factors = RecentPlaintexts(parameters)

    def extend_keys(self, keys: EvaluationKeys) -> None:
        """Take in further evaluation keys of the same secret key."""
        self.keys.extend(keys)
        self._expand()
        self._evaluator = Evaluator(self.keys)

    def bounded(self, value: Ciphertext, bound: float) -> Ciphertext:
        return value.with_bound(bound)

    def add(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        return self._evaluator.add(left, right)

    def subtract(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        return self._evaluator.sub(left, right)

    def add_constant(self, value: Ciphertext, constant: Vector | EncodedVector) -> Ciphertext:
        if isinstance(constant, EncodedVector):
            plaintext = constant.plaintext(self.parameters)
        else:
            plaintext = self.parameters.encode(constant, level=value.level, scale=value.scale)
        return self._evaluator.add_plain(value, plaintext)

    def multiply(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        if left is right:
            return self._evaluator.square(left)
        return self._evaluator.multiply(left, right)

    def multiply_lazily(self, left: Ciphertext, right: Ciphertext) -> Ciphertext:
        return self._evaluator.multiply_lazily(left, right)

    def multiply_constant(self, value: Ciphertext, constant: Vector | EncodedVector) -> Ciphertext:
        if isinstance(constant, EncodedVector):
            return self._evaluator.multiply_plain(value, constant.plaintext(self.parameters))
        scale = self.parameters.matching_scale(value.level, value.scale)
        plaintext = self._factors.of(constant, value.level, scale)
        return self._evaluator.multiply_plain(value, plaintext)

    def sum_of_products(
        self, values: Sequence[Ciphertext], constants: Sequence[EncodedVector]
    ) -> Ciphertext:
        encoding, *others = {each.encoding for each in constants}
        if others:
            return super().sum_of_products(values, constants)
        integers = [each.integers for each in constants]
        return self._evaluator.sum_of_encoded_products(values, integers, **encoding._asdict())

    def negate(self, value: Ciphertext) -> Ciphertext:
        return self._evaluator.negate(value)

    def filled(self, value: Ciphertext, constant: Vector) -> Ciphertext:
        nothing = self._evaluator.multiply_integer(value, 0)
        return self.add_constant(nothing, constant)

    def multiply_imaginary(self, value: Ciphertext) -> Ciphertext:
        return self._evaluator.multiply_imaginary(value)

    def twice_real(self, value: Ciphertext) -> Ciphertext:
        if value.degree == 2:
            value = self._evaluator.relinearize(value)
        return self._evaluator.add(value, self._evaluator.conjugate(value))

    def rotate(self, value: Ciphertext, steps: int) -> Ciphertext:
        return self.rotate_many(value, [steps])[0]

    def rotate_many(self, value: Ciphertext, steps: Sequence[int]) -> list[Ciphertext]:
        """The rotations by each of the steps, which share the decomposition (hoisting)."""
        if value.degree == 2:
            value = self._evaluator.relinearize(value)
        return self._evaluator.rotate_hoisted(value, steps)

    def linear(
        self, value: Ciphertext, diagonals: Mapping[int, Vector], baby_steps: int
    ) -> Ciphertext:
        return self.linear_sums([value], [[(0, (diagonals, baby_steps))]])[0]

    def linear_sums(
        self, values: Sequence[Ciphertext], sums: Sequence[TransformTerms]
    ) -> list[Ciphertext]:
        sharing = iter(sharing_of(sums))

        def encoded(place: int, transform: Transform) -> tuple[int, LinearTransform]:
            value, (diagonals, baby_steps) = values[place], transform
            made = self.transforms.of(
                diagonals, value.level, value.scale, baby_steps, next(sharing)
            )
            return place, made

        made = [[encoded(*term) for term in terms] for terms in sums]
        return self._evaluator.linear_transform_sums(values, made)

    def polynomial(
        self, value: Ciphertext, coefficients: Sequence[float], basis: Basis
    ) -> Ciphertext:
        return self._evaluator.polynomial(value, coefficients, basis)

    def rotated_products(
        self, left: Sequence[Ciphertext], right: Sequence[Ciphertext], step: int
    ) -> RotatedProducts:
        return self._evaluator.rotated_products(left, right, step)

    def diagonal_products(
        self, left: Sequence[Ciphertext], right: Sequence[Ciphertext], step: int
    ) -> RotatedProducts:
        return self._evaluator.diagonal_products(left, right, step)

    def add_products(self, left: RotatedProducts, right: RotatedProducts) -> RotatedProducts:
        return self._evaluator.add_rotated_products(left, right)

    def switch_product(self, products: RotatedProducts, steps: int) -> Ciphertext:
        return self._evaluator.switch_product(products, steps // products.step)

    def switch_products_and_rescale(
        self, products: RotatedProducts, steps: Sequence[int]
    ) -> list[Ciphertext]:
        rotations = [each // products.step for each in steps]
        return self._evaluator.switch_products_and_rescale(products, rotations)

    def weighted_sums(self, values: Sequence[Ciphertext], weights: Vector, offsets: Vector) -> Sums:
        return Sums(self._evaluator.weighted_sums(values, weights.ravel(), offsets))

    def rescale(self, value: Ciphertext) -> Ciphertext:
        return self._evaluator.relinearize_and_rescale(value)

    def drop_level(self, value: Ciphertext, level: int) -> Ciphertext:
        return self._evaluator.align(value, level)

    def bootstrap(self, value: Ciphertext, level: int) -> Ciphertext:
        made = self._evaluator.bootstrap(value, self._made_circuit("bootstrap"))
        # At the scale of its level: what double rounding makes of scales doubles with every square.
        return self._evaluator.align(made, level)

    def bootstrap_of_coefficients(self, value: Ciphertext, level: int) -> Ciphertext:
        return self.bootstrap(value, level)

    def bootstrap_pair(
        self, left: Ciphertext, right: Ciphertext, level: int
    ) -> Sequence[Ciphertext]:
        circuit = self._made_circuit("paired_bootstrap")
        made = self._evaluator.bootstrap_pair(left, right, circuit)
        return [self._evaluator.align(each, level) for each in made]

    def _made_circuit(self, kind: str) -> Bootstrapping:
        """The circuit, which the first of several threads makes."""
        with self._making:
            circuit = self._circuit
        if circuit is None:
            raise InvalidProgramError(f"cannot run {kind}: the parameters have no levels for it")
        return circuit

    @cached_property
    def _circuit(self) -> Bootstrapping | None:
        if self._refreshing is None:
            return None
        if self._keeps_circuit:
            return self._refreshing.encoded_circuit()
        return self._refreshing.circuit


class Ckks(RealScheme):
    """CKKS under a parameter set: approximate numbers, see `schemes.base.Scheme`.

    Args:
        parameters: The parameter set.
        refreshing: What bootstraps under it do; None where its chain has no levels for them.
        public_inputs: Whether inputs may be encrypted by a public key.

    Example:
        >>> import numpy as np
        >>> scheme = Ckks(Parameters(levels=1, log_n=10, insecure=True))
        >>> secret = scheme.secret_key()
        >>> value = scheme.encrypt_vector(secret, np.full(512, 0.5), level=1, bound=1.0)
        >>> bool(abs(secret.decrypt(value, value.estimate).decode_real()[0] - 0.5) < 1e-4)
        True
    """

    name: ClassVar[str] = "ckks"

    @property
    def insecure(self) -> bool:
        return self.parameters.insecure

    def log2_failure(self, body: SlotProgram) -> float:
        """log2 of the probability that a result errs by more than its precision says.

        Each ciphertext's does with 2^-20 (`crates/rlwe`, `ckks::estimate`), and a bootstrap makes
        all numbers wrong with the probability that a coefficient overflows.
        """
        failure = len(levels_of(body, "outputs")) * 2.0**-PRECISION_FAILURE_BITS
        if self.refreshing is not None:
            # Two that are refreshed at once are wrong at once.
            failure += refreshes(body) * 2.0**-self.refreshing.parameters.failure_bits
        return math.log2(failure)

    def in_clear(self, noise_seed: int | None = None) -> ClearReal:
        return ClearReal(
            self.parameters, self.refreshing, noise_seed, public_inputs=self.public_inputs
        )

    def estimators(
        self, body: SlotProgram, bounds: Sequence[float] | None
    ) -> Sequence[tuple[CkksEstimates, list[CkksEstimate]]]:
        assert bounds is not None
        encrypted = CkksEstimate.encrypted
        if self.public_inputs:
            encrypted = CkksEstimate.encrypted_publicly
        fresh = [
            encrypted(self.parameters.estimate(body.slots, level=level, bound=bound))
            for level, bound in zip(levels_of(body, "inputs"), bounds, strict=True)
        ]
        return [(CkksEstimates(self.parameters, self.refreshing), fresh)]

    def secret_key(self) -> Any:
        return SecretKey.generate(self.parameters)

    def public_key(self, secret: Any) -> Any:
        return secret.public_key()

    def evaluation_keys(self, secret: Any, body: Any) -> Any:
        """Exactly the evaluation keys that a body needs.

        Of many keys some are made at once, and their uniform halves given up for their seeds before
        the next ones: whoever makes them writes them to a file, and has no need of the halves.
        """
        needed = self.required_keys(body)
        if self.bytes_of(needed) <= _WHOLE_KEY_BYTES:
            return self.keys_for(secret, needed)
        keys = self.keys_for(secret, KeyRequirements())
        for part in needed.parts(_KEYS_AT_ONCE):
            made = self.keys_for(secret, part)
            made.keep_seeds()
            keys.extend(made)
        return keys

    def keys_for(self, secret: SecretKey, needed: KeyRequirements) -> EvaluationKeys:
        """Evaluation keys at the levels asked for."""
        return secret.evaluation_keys(
            relinearisation_level=needed.relinearisation_level,
            rotations=needed.rotations,
            conjugation_level=needed.conjugation_level,
            rotated_products=needed.rotated_products,
            encapsulation_weight=needed.encapsulation_weight,
        )

    def extend_keys(self, keys: Any, further: Any) -> None:
        keys.extend(further)

    def generated_key_bytes(self, body: SlotProgram) -> int:
        whole = self.key_bytes(body)
        return whole if whole <= _WHOLE_KEY_BYTES else whole // 2

    def rekeying_key(self, secret: SecretKey, to: SecretKey) -> RekeyingKey:
        return secret.rekeying_key(to)

    def rekeyed(self, key: RekeyingKey, value: Ciphertext) -> Ciphertext:
        return key.rekey(value)

    def read_rekeying_key(self, fields: Fields) -> RekeyingKey:
        return RekeyingKey.from_bytes(self.parameters, fields.data("data"))

    def held_keys(self, keys: EvaluationKeys) -> list[KeyRequirements]:
        return [
            KeyRequirements(
                keys.relinearisation_level,
                keys.rotations(),
                keys.rotated_products(),
                keys.conjugation_level,
                keys.encapsulation_weight,
            )
        ]

    def key_parts(self, keys: Any) -> Iterator[tuple[frozenset[str], Any]]:
        for each in keys.split():
            (held,) = self.held_keys(each)
            yield held.names(), each

    def encrypt_vector(
        self, key: SecretKey | PublicKey, vector: Vector, *, level: int, bound: float | None
    ) -> Ciphertext:
        """Encrypt at a level; `bound` is public, so that no ciphertext tells its own."""
        return key.encrypt(self.parameters.encode(vector, level=level, bound=bound))

    def decrypt(
        self,
        secret: Any,
        values: Sequence[Any],
        body: Any,
        expected: Sequence[Any] | None = None,
        flooding: Flooding | None = None,
    ) -> Decrypted:
        """The complex slots of every value."""
        assert expected is not None
        decrypt: Any = secret.decrypt
        if flooding is not None:
            decrypt = partial(secret.decrypt_flooded, **asdict(flooding))
        found = [decrypt(*pair) for pair in zip(values, expected, strict=True)]
        vectors = [each.decode() for each in found]
        return Decrypted(vectors, max(2.0**-each.precision for each in found))

    def backend(self, keys: Any, *, cache_bytes: int, expansion: KeyExpansion | None = None) -> Any:
        expand: Callable[[], None] = keys.expand
        if expansion is not None:
            expand = partial(keys.expand_within, expansion.nbytes, expansion.uses)
        expand()
        return CkksBackend(
            self.parameters,
            keys,
            cache_bytes=cache_bytes,
            refreshing=self.refreshing,
            expand=expand,
        )

    def device_backend(
        self, keys: Any, device: OpenDevice, *, cache_bytes: int
    ) -> CkksDeviceBackend:
        """What a program runs on that runs on a device."""
        # Keys are sent whole, and again after they have made room for others.
        keys.expand()
        return CkksDeviceBackend(
            self.parameters, keys, device, cache_bytes=cache_bytes, refreshing=self.refreshing
        )

    def bytes_at(self, state: State) -> int:
        return ciphertext_bytes(self.parameters, state.level or 0)

    def dump(self, item: Any) -> Record:
        if isinstance(item, StayingCiphertext):
            item = item.here()
        if not isinstance(item, EvaluationKeys):
            return super().dump(item)
        return {"keys": (each.to_bytes() for each in item.split())}

    def read_key(self, kind: str, fields: Fields) -> Any:
        if kind == "secret_key":
            return SecretKey.from_bytes(self.parameters, fields.secret("data"))
        if kind == "public_key":
            return PublicKey.from_bytes(self.parameters, fields.data("data"))
        parts = fields.drained("keys")
        keys = self._read_keys(next(parts, None), fields)
        for part in parts:
            keys.extend(self._read_keys(part, fields))
        return keys

    def _read_keys(self, data: Any, fields: Fields) -> EvaluationKeys:
        if not isinstance(data, bytes):
            raise fields.wrong("keys", "a list of keys as bytes")
        return EvaluationKeys.from_bytes(self.parameters, data)

    def read_ciphertext(self, fields: Fields) -> Ciphertext:
        value = Ciphertext.from_bytes(self.parameters, fields.data("data"))
        if value.slots != self.parameters.slots:
            raise fields.wrong("data", f"a ciphertext of {self.parameters.slots} slots")
        return value

    def read_products(self, fields: Fields) -> RotatedProducts:
        return RotatedProducts.from_bytes(self.parameters, fields.data("data"))

    def __str__(self) -> str:
        return str(self.parameters)
