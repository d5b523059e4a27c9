"""Who runs a network: its client and its evaluator, and what passes between them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork.backends.ckks import CkksBackend
from cloakwork.backends.kept_transforms import default_budget
from cloakwork.errors import (
    InvalidArgumentError,
    ProgramMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.network_program import NetworkProgram
from cloakwork.programs.slots import Input
from cloakwork.runtime.arguments import integer, shown
from cloakwork.runtime.arrays import require_precision
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.roles import Client, Evaluator, Flooding, require_role

_Array: TypeAlias = NDArray[np.float64]
MAX_BYTES = 2**63 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Encrypted:
    """Encrypted inputs or results of a network.

    Args:
        side: Whether they go into the network or come out of it.
        values: The ciphertexts.
        count: How many inputs of a batch there are.
        single: Whether they came without an axis for the batch.
        network: The fingerprint of the network.
    """

    side: Literal["inputs", "results"]
    values: tuple[Any, ...]
    count: int
    single: bool
    network: str

    @property
    def nbytes(self) -> int:
        """Bytes of the ciphertexts."""
        return sum(value.nbytes for value in self.values)

    def __repr__(self) -> str:
        return f"Encrypted({self.side}, {self.count} of a batch, {len(self.values)} ciphertext(s))"


class NetworkClient:
    """Encrypts the inputs of a network and decrypts its results.

    Args:
        network: The network.
        party: Who holds the secret key.

    Raises:
        ParametersMismatchError: The key is for other parameters.
        InvalidArgumentError: It is no client.
    """

    def __init__(self, network: NetworkProgram, party: Client) -> None:
        require_role(network, party, Client, "client")
        self._network = network
        self.party = party

    def encrypt(self, inputs: ArrayLike) -> Encrypted:
        """Encrypt an input, or a batch of them along a first axis.

        Before, the very program runs on them in the clear, so that no input is encrypted whose
        result would be a wrong number.

        Raises:
            ShapeMismatchError: The inputs have another shape than was compiled for, or are more
                than the batch.
            ValueOutOfRangeError: A number lies outside the range of the calibration data, or one
                that comes of it at a layer on the way; the message names the layer.
            NotFiniteError: There is a NaN or an infinity.
            NotRealError: They are complex, text or objects.
        """
        network = self._network
        batch, single = network.read(inputs, "encrypt", most=network.batch)
        network.require_fit(batch, "encrypt")
        levels = [each.level for each in network.program.operations if isinstance(each, Input)]
        values = [
            self.party.key.encrypt(vector, bound=network.input.bound, level=level)
            for vector, level in zip(network.pack(batch), levels, strict=True)
        ]
        return Encrypted("inputs", tuple(values), len(batch), single, network.fingerprint)

    def decrypt(
        self,
        result: Encrypted,
        *,
        statistical_bits: int | None = None,
        decryptions: int = 1,
    ) -> _Array:
        """Decrypt results: with an axis for the batch if the inputs had one.

        Args:
            result: What the evaluator's run gave.
            statistical_bits: See `Client.decrypt`.
            decryptions: See `Client.decrypt`.

        Raises:
            InvalidArgumentError: It is no result.
            ProgramMismatchError: It is of another network.
            ValueOutOfRangeError: A result is larger than the calibration data leave room for, so
                that numbers on the way may have been outside what layers are meant for.
            DecryptionOverflowError: A result has overflowed.
            PrecisionLostError: Flooding leaves fewer than 8 bits of the largest result, or of 1.
        """
        network = self._network
        _require_encrypted(network, result, "results", f"decrypt {network.title}")
        flooding = Flooding.of(statistical_bits, decryptions)
        key = self.party.key
        vectors = [key.decrypt(each, flooding=flooding) for each in result.values]
        rows = network.output.packing.unpack(vectors, network.width)[: result.count]
        error = network.error
        if flooding is not None:
            precision = min(key.precision(each, flooding=flooding) for each in result.values)
            require_precision(rows, precision, f"decrypt {network.title}")
            error += 2.0**-precision
        # Of results that are next to nothing the error is the larger part.
        if not np.abs(rows).max() <= network.output.bound + error:
            raise ValueOutOfRangeError(
                f"cannot decrypt {network.title}: a result of {np.abs(rows).max():g} exceeds "
                f"{network.output.bound:g}, the most that the calibration data leave room for; "
                "calibrate with inputs like these, and see simulate for the layer that they exceed"
            )
        outputs = rows.reshape(result.count, *network.output.shape)
        return np.asarray(outputs[0] if result.single else outputs)

    def __repr__(self) -> str:
        return f"NetworkClient({self._network.title}, {self.party})"


class NetworkEvaluator:
    """Runs a network on encrypted inputs; holds no secret.

    Args:
        network: The network.
        party: Who holds the evaluation keys.
        memory: Bytes for layers kept encoded, None for a quarter of the machine's.

    Raises:
        ParametersMismatchError: The keys are for other parameters.
        InvalidArgumentError: It is no evaluator, or memory no number of bytes.
    """

    def __init__(
        self, network: NetworkProgram, party: Evaluator, memory: int | None = None
    ) -> None:
        require_role(network, party, Evaluator, "evaluator")
        self._network = network
        kept = default_budget()
        if memory is not None:
            kept = integer(memory, "memory", "make an evaluator", least=0, most=MAX_BYTES)
        backend = party.backend
        if isinstance(backend, CkksBackend):
            backend = CkksBackend(network.parameters, backend.keys, kept=kept)
        self.party = Evaluator(party.parameters, backend, hidden=party.hidden, memory=party.memory)

    def run(
        self,
        inputs: Encrypted,
        *,
        threads: int | None = None,
        profile: Profile | None = None,
        cancel: threading.Event | None = None,
    ) -> Encrypted:
        """Run the network; see `Evaluator.run`, whose errors it raises.

        Raises:
            InvalidArgumentError: They are no encrypted inputs.
            ProgramMismatchError: They were encrypted for another network.
        """
        network = self._network
        _require_encrypted(network, inputs, "inputs", f"run {network.title}")
        values = self.party.run(
            network.program,
            inputs.values,
            threads=threads,
            profile=profile,
            cancel=cancel,
            bounds=network.bounds,
        )
        return Encrypted("results", tuple(values), inputs.count, inputs.single, network.fingerprint)

    def __repr__(self) -> str:
        return f"NetworkEvaluator({self._network.title}, {self.party})"


def _require_encrypted(
    network: NetworkProgram, given: object, side: Literal["inputs", "results"], action: str
) -> None:
    if not isinstance(given, Encrypted):
        raise InvalidArgumentError(
            f"cannot {action}: expected what encrypt or run of this network gave, got "
            f"{shown(given)}"
        )
    if given.side != side:
        raise InvalidArgumentError(
            f"cannot {action}: expected encrypted {side}, got {given.side}; encrypt gives inputs, "
            "and run makes results of them"
        )
    if given.network != network.fingerprint:
        raise ProgramMismatchError(
            f"cannot {action}: the {side} are of another network, or of one compiled otherwise; "
            "encrypt, run and decrypt with one network"
        )
