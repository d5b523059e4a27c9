"""TFHE: bits, on which bootstrap programs run; see `schemes.base.Scheme`.

The values of a program are the ciphertexts of each input by the number of its port, every bit in
all encodings that the program uses, and those of each output, every bit once.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import (
    BooleanCiphertexts,
    BooleanEvaluationKey,
    BooleanParameters,
    BooleanPublicKey,
    BooleanSecretKey,
)
from cloakwork.base.progress import progress_bar
from cloakwork.base.record import Fields, Record
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidProgramError,
    MalformedBytesError,
    NoiseBudgetError,
)
from cloakwork.programs.bootstrap_parts import BootstrapPart
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.bootstraps_in_a_row import OwnPart
from cloakwork.schemes.base import (
    BitRun,
    Decrypted,
    Flooding,
    ReadLimits,
    Scheme,
)
from cloakwork.schemes.clear_bits import ClearBits, require_bootstraps
from cloakwork.schemes.tfhe_noise import (
    FAILURE_BITS,
    LEAST_FAILURE_BITS,
    BitNoise,
    FailureProbability,
    failure_of,
    noise_of,
)

Bits: TypeAlias = NDArray[np.uint8]

# Beyond these no parameter set goes.
MAX_FAILURE_BITS = 128


class Tfhe(Scheme):
    """TFHE under one of the engine's parameter sets, all of which are 128-bit secure.

    Args:
        parameter_set: Its name.
        failure_bits: A bootstrap goes wrong with a probability of at most 2^-failure_bits.
            With less than 40 the scheme is insecure: results that are wrong tell of the key.

    Raises:
        InvalidArgumentError: There is no such set.

    Example:
        >>> print(Tfhe("space8"))
        TFHE with the parameters space8, 128-bit secure
    """

    name: ClassVar[str] = "tfhe"

    def __init__(self, parameter_set: str, failure_bits: int = FAILURE_BITS) -> None:
        self.parameters = BooleanParameters(parameter_set)
        self.failure_bits = failure_bits

    @property
    def insecure(self) -> bool:
        """Whether bootstraps may go wrong so often that an evaluator meets it by chance."""
        return self.failure_bits < LEAST_FAILURE_BITS

    @property
    def value_bytes(self) -> int:
        """Bytes of an LWE ciphertext."""
        return self.parameters.lwe_bytes

    @property
    def noise(self) -> BitNoise:
        """How much noise its operations leave, and may leave."""
        return noise_of(self.parameters.name, self.failure_bits)

    def failure(self, body: BootstrapProgram) -> FailureProbability:
        """How likely a program goes wrong."""
        return failure_of(body, self.noise)

    def log2_failure(self, body: BootstrapProgram) -> float:
        """log2 of the probability that noise changes a result in one run."""
        return self.failure(body).total

    def require_fitting(self, body: BootstrapProgram) -> None:
        """Refuse a program with too large a message space, or that goes wrong too often."""
        require_bootstraps(body)
        self.require_fitting_row(body.title, [OwnPart(body)])

    def require_fitting_row(self, title: str, parts: Sequence[OwnPart]) -> None:
        """The same of programs in a row as one, by what each adds.

        Args:
            title: What the last of them computes.
            parts: They, the last of them with its outputs.
        """
        message_bits = max(int(each.body.message_bits.max(initial=0)) for each in parts)
        if message_bits > self.parameters.max_message_bits:
            raise InvalidProgramError(
                f"cannot use {title}: it has a message space of 2^{message_bits}, "
                f"{self.parameters.name} has 2^{self.parameters.max_message_bits}"
            )
        worst = self.worst_failure(parts)
        if worst > -self.failure_bits:
            raise NoiseBudgetError(
                f"cannot use {title}: expected bootstraps that go wrong under "
                f"{self.parameters.name} with a probability of 2^-{self.failure_bits} or less, "
                f"got 2^{worst:.1f}"
            )

    def worst_failure(self, parts: Sequence[OwnPart]) -> float:
        """log2 of the greatest probability that a bootstrap of a row goes wrong, or a result."""
        noise = self.noise
        bodies = [parts[-1].body, *(each.bootstraps for each in parts[:-1])]
        return max(failure_of(each, noise).worst for each in bodies)

    def in_clear(self, noise_seed: int | None = None) -> ClearBits:
        """The same bits without encryption; bits have no errors to model."""
        return ClearBits()

    @property
    def key_set(self) -> Hashable:
        return self.name, self.parameters.name

    def key_bytes(self, body: BootstrapProgram) -> int:
        """Bytes of the evaluation key, which is one for all programs."""
        return self.parameters.evaluation_key_bytes

    def secret_key(self) -> Any:
        return BooleanSecretKey.generate(self.parameters)

    def public_key(self, secret: Any) -> Any:
        return secret.public_key()

    def evaluation_keys(self, secret: Any, body: Any) -> Any:
        """The evaluation key."""
        return secret.evaluation_key()

    def encrypt(
        self, key: Any, vectors: Mapping[int, Bits], body: Any, bounds: Any
    ) -> dict[int, Any]:
        """Encrypt the bits of inputs, by the numbers of their ports."""
        return {
            number: key.encrypt(*body.encoded_bits(number, bits))
            for number, bits in vectors.items()
        }

    def decrypt(
        self,
        secret: Any,
        values: Sequence[Any],
        body: Any,
        expected: Any = None,
        flooding: Flooding | None = None,
    ) -> Decrypted:
        """The bits of every output."""
        return Decrypted(
            [
                secret.decrypt(value, body.output_encodings[own])
                for value, own in zip(values, body.output_slices, strict=True)
            ]
        )

    def run(
        self,
        key: Any,
        body: BootstrapProgram,
        values: Mapping[int, BooleanCiphertexts],
        clear: Mapping[int, Bits],
        *,
        threads: int | None,
        cancel: threading.Event | None,
    ) -> BitRun:
        """Run a program on encrypted inputs and clear ones.

        On a terminal a bar shows how far it is.
        """
        program = body.native
        inputs = _in_order(self.with_clear(body, values, clear), body)
        with progress_bar(body.title, total=program.bootstraps, unit="bootstrap") as bar:
            made, times = key.run_timed(
                program,
                inputs,
                threads=threads,
                progress=lambda done, _: bar.update(done - bar.n),
                cancel=cancel,
            )
        outputs = [made.select(range(own.start, own.stop)) for own in body.output_slices]
        return BitRun(outputs, *times)

    def read_key(self, kind: str, fields: Fields) -> Any:
        data = fields.secret("data") if kind == "secret_key" else fields.data("data")
        key = _KEYS[kind].from_bytes(data)
        self._require_own(key.parameters, fields)
        return key

    def read_value(
        self, fields: Fields, body: BootstrapProgram, number: int, role: str
    ) -> BooleanCiphertexts:
        """Ciphertexts of a record: those of an input or output of a program."""
        value = self.read_ciphertext(fields)
        inputs = role == "inputs"
        wanted = len(body.signals_of(number)) if inputs else body.outputs[number].bits
        if len(value) != wanted:
            raise MalformedBytesError(
                f"cannot read {fields.place}: expected {wanted} ciphertexts, got {len(value)}"
            )
        return value

    def read_ciphertext(self, fields: Fields) -> BooleanCiphertexts:
        """Ciphertexts of a record, however many."""
        value = BooleanCiphertexts.from_bytes(fields.data("data"))
        self._require_own(value.parameters, fields)
        return value

    def with_clear(
        self,
        body: BootstrapProgram,
        values: Mapping[int, BooleanCiphertexts],
        clear: Mapping[int, Bits],
    ) -> dict[int, BooleanCiphertexts]:
        """The ciphertexts of all inputs by port; those of clear inputs hide nothing."""
        if not values:
            raise InvalidArgumentError(
                f"cannot run {body.title}: no input is encrypted; run_clear computes in the clear"
            )
        first = next(iter(values.values()))
        known = {
            number: first.trivial(*body.encoded_bits(number, bits))
            for number, bits in clear.items()
        }
        return {**values, **known}

    def run_part(
        self,
        key: Any,
        part: BootstrapPart,
        inputs: BooleanCiphertexts,
        *,
        threads: int,
    ) -> BitRun:
        """Run some nodes of a program without a bar; outputs are those of the part, together."""
        made, times = key.run_timed(part.native, inputs, threads=threads)
        return BitRun([made], *times)

    def _require_own(self, parameters: BooleanParameters, fields: Fields) -> None:
        if parameters.name != self.parameters.name:
            raise MalformedBytesError(
                f"cannot read {fields.place}: expected the parameters {self.parameters.name}, got "
                f"{parameters.name}"
            )

    def to_record(self) -> Record:
        return {
            "scheme": self.name,
            "parameters": self.parameters.name,
            "failure_bits": self.failure_bits,
        }

    @classmethod
    def from_fields(cls, fields: Fields, limits: ReadLimits) -> Self:
        bits = fields.integer("failure_bits", least=1, most=MAX_FAILURE_BITS)
        try:
            return cls(fields.word("parameters"), bits)
        except InvalidArgumentError as error:
            raise MalformedBytesError(f"cannot read {fields.place}: {error}") from error

    def __str__(self) -> str:
        security = "128-bit secure"
        if self.insecure:
            security = (
                f"INSECURE: a bootstrap may go wrong with a probability of 2^-{self.failure_bits}"
            )
        return f"TFHE with the parameters {self.parameters.name}, {security}"


_KEYS: Mapping[str, Any] = {
    "secret_key": BooleanSecretKey,
    "public_key": BooleanPublicKey,
    "evaluation_keys": BooleanEvaluationKey,
}


def _in_order(
    values: Mapping[int, BooleanCiphertexts], body: BootstrapProgram
) -> BooleanCiphertexts:
    """The ciphertexts of all inputs, by port, in the order of the program's."""
    first, *others = values.values()
    order = np.concatenate([body.signals_of(number) for number in values])
    together = first.concatenate(others) if others else first
    return together.select(np.argsort(order).tolist())
