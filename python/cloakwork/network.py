"""A compiled network: its program, who runs it, and what it computes in the clear."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._native import Parameters, SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey
from cloakwork.backends.kept_transforms import transform_bytes
from cloakwork.errors import (
    InvalidArgumentError,
    ParametersMismatchError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.explain.networks import summary
from cloakwork.plan.cost import Costs
from cloakwork.plan.keys import demand_of
from cloakwork.plan.measured_cost import measured
from cloakwork.plan.observed import Watch, outside, results
from cloakwork.plan.packing import Packing
from cloakwork.programs.slots import Input, Linear, Output, Program
from cloakwork.runtime.arguments import shown
from cloakwork.runtime.arrays import real_array, require_bound
from cloakwork.runtime.memory import physical_bytes
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.roles import Client, Evaluator

_Array: TypeAlias = NDArray[np.float64]
# Of the machine's memory, what encoded layers may take by default.
_KEPT_SHARE = 4


@dataclass(frozen=True, slots=True, eq=False)
class Port:
    """An input or result of a network.

    Args:
        shape: Its shape, without the batch.
        packing: Where its elements lie.
        bound: The largest absolute value that it may have.
    """

    shape: tuple[int, ...]
    packing: Packing
    bound: float


@dataclass(frozen=True, slots=True, eq=False)
class Encrypted:
    """Encrypted inputs or results of a network.

    Args:
        values: The ciphertexts.
        count: How many inputs of a batch there are.
        single: Whether they came without an axis for the batch.
        parameters: What they were made under.
    """

    values: tuple[Any, ...]
    count: int
    single: bool
    parameters: Parameters

    @property
    def nbytes(self) -> int:
        """Bytes of the ciphertexts."""
        return sum(value.nbytes for value in self.values)

    def __repr__(self) -> str:
        return f"Encrypted({self.count} of a batch, {len(self.values)} ciphertext(s))"


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What a network computes in the clear.

    Args:
        outputs: The results, with the errors of encryption as modelled.
        error: The largest error to expect.
        outside: For each layer that numbers came to which it is not meant for, what these were
            and what it is meant for.
    """

    outputs: _Array
    error: float
    outside: tuple[str, ...]


class Network:
    """A compiled network: a public program, its parameters, how inputs and results are packed.

    Args:
        title: What it is called.
        program: The slot program.
        parameters: The parameter set.
        input: The input.
        output: The result.
        batch: How many inputs go in at once.
        bounds: For each operation the largest absolute value of its result, None for constants.
        error: The largest error of a result to expect.
        watches: What layers expect of the numbers that come to them.

    Raises:
        InvalidArgumentError: Program, parameters, input and output do not fit one another.
    """

    def __init__(
        self,
        title: str,
        program: Program,
        parameters: Parameters,
        input: Port,
        output: Port,
        batch: int,
        bounds: Sequence[float | None],
        error: float,
        watches: Sequence[Watch],
    ) -> None:
        inputs = sum(isinstance(each, Input) for each in program.operations)
        outputs = sum(isinstance(each, Output) for each in program.operations)
        fits = (
            program.slots == parameters.slots
            and len(bounds) == len(program.operations)
            and (inputs, outputs) == (input.packing.ciphertexts, output.packing.ciphertexts)
            and 1 <= batch <= program.slots // input.packing.slots
            and all(
                port.packing.slots * (program.slots // input.packing.slots) == program.slots
                for port in (input, output)
            )
        )
        if not fits:
            raise InvalidArgumentError(
                f"cannot use {title}: its program, parameters and packings are not of one network"
            )
        self.title = title
        self.program = program
        self.parameters = parameters
        self.input = input
        self.output = output
        self.batch = batch
        self.bounds = tuple(bounds)
        self.error = error
        self.watches = tuple(watches)

    @property
    def width(self) -> int:
        """Inputs that a ciphertext has room for."""
        return self.program.slots // self.input.packing.slots

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys that the network needs."""
        return demand_of(self.program).nbytes(self.parameters.evaluation_key_bytes)

    @property
    def encoded_bytes(self) -> int:
        """Bytes of all layers encoded, as an evaluator keeps them between runs."""
        return sum(
            transform_bytes(self.parameters, len(operation.diagonals), state.level or 0)
            for operation, state in zip(self.program.operations, self.program.states, strict=True)
            if isinstance(operation, Linear)
        )

    def keygen(self, *, memory: int | None = None) -> tuple[NetworkClient, NetworkEvaluator]:
        """A client with a new secret key, and an evaluator with exactly the keys needed.

        Args:
            memory: Bytes that the evaluator may keep encoded layers in; see `evaluator`.
        """
        secret = CkksKey(self.parameters, SecretKey.generate(self.parameters))
        demand = demand_of(self.program)
        keys = secret.evaluation_keys(demand.relinearisation_level, demand.rotations)
        client = Client(self.parameters, secret, bound=max(self.input.bound, self.output.bound))
        evaluator = Evaluator(self.parameters, CkksBackend(self.parameters, keys))
        return self.client(client), self.evaluator(evaluator, memory=memory)

    def client(self, client: Client) -> NetworkClient:
        """The network in the hands of a client, such as `cloakwork.load_client` gives."""
        return NetworkClient(self, client)

    def evaluator(self, evaluator: Evaluator, *, memory: int | None = None) -> NetworkEvaluator:
        """The network in the hands of an evaluator, such as `cloakwork.load_evaluator` gives.

        Args:
            evaluator: Who holds the keys.
            memory: Bytes for layers kept encoded between runs, by default a quarter of the
                machine's. Layers that do not fit are encoded again in every run.
        """
        return NetworkEvaluator(self, evaluator, memory)

    def simulate(self, inputs: ArrayLike, *, seed: int = 0) -> Simulation:
        """Run the very program on float64 vectors, slot for slot, with modelled errors.

        Args:
            inputs: One input, or a batch of any size along a first axis.
            seed: What the errors are drawn from.

        Raises:
            ShapeMismatchError: The inputs have another shape than was compiled for.
        """
        array, single = self.read(inputs, "simulate", most=None)
        found: list[_Array] = []
        reports: dict[str, None] = {}
        for start in range(0, len(array), self.width):
            part = array[start : start + self.width]
            vectors = self.pack(part)
            noisy = results(self.program, vectors, self.parameters, seed)
            found.append(self.output.packing.unpack(noisy, self.width)[: len(part)])
            reports |= dict.fromkeys(outside(self.program, vectors, self.watches, self.width))
        outputs = np.concatenate(found).reshape(len(array), *self.output.shape)
        return Simulation(outputs[0] if single else outputs, self.error, tuple(reports))

    def run_clear(self, inputs: ArrayLike) -> _Array:
        """Run the very program on float64 vectors, slot for slot, without errors.

        Raises:
            ShapeMismatchError: The inputs have another shape than was compiled for.
        """
        array, single = self.read(inputs, "run", most=None)
        found = [
            self.output.packing.unpack(results(self.program, self.pack(part)), self.width)[
                : len(part)
            ]
            for part in (
                array[start : start + self.width] for start in range(0, len(array), self.width)
            )
        ]
        outputs = np.concatenate(found).reshape(len(array), *self.output.shape)
        return outputs[0] if single else outputs

    def summary(self, costs: Costs | None = None) -> str:
        """Per layer its packing, rotations, levels, keys and time; totals.

        Args:
            costs: What operations cost, in CPU seconds; by default as measured on this machine,
                which takes some seconds once.
        """
        costs = (measured(self.parameters) if costs is None else costs).kept()
        return summary(
            self.title,
            self.program,
            self.parameters,
            costs,
            self.batch,
            self.encoded_bytes,
            self.error,
        )

    def read(self, inputs: ArrayLike, action: str, *, most: int | None) -> tuple[_Array, bool]:
        """Inputs as a batch of flat rows, and whether there was no axis for the batch."""
        array = real_array(inputs, action)
        shape = self.input.shape
        single = array.shape == shape
        if not single and (array.shape[1:] != shape or not len(array)):
            raise ShapeMismatchError(
                f"cannot {action} for {self.title}: expected an input of shape {shape}, or a batch "
                f"of them along a first axis, got {array.shape}"
            )
        batch = array.reshape(-1, int(np.prod(shape)))
        if most is not None and len(batch) > most:
            raise ShapeMismatchError(
                f"cannot {action} for {self.title}: expected up to {most} inputs at once, got "
                f"{len(batch)}; encrypt them in parts, or compile with batch={len(batch)}"
            )
        return batch, single

    def pack(self, batch: _Array) -> list[_Array]:
        """The vectors of a batch of flat inputs."""
        padded = np.zeros((self.width, batch.shape[1]))
        padded[: len(batch)] = batch
        return self.input.packing.pack(padded)

    def __repr__(self) -> str:
        return (
            f"Network({self.title}: {self.input.shape} to {self.output.shape}, batch {self.batch}; "
            f"{len(self.program.operations)} operations, {self.parameters})"
        )


class NetworkClient:
    """Encrypts the inputs of a network and decrypts its results.

    Args:
        network: The network.
        party: Who holds the secret key.

    Raises:
        ParametersMismatchError: The key is for other parameters.
        InvalidArgumentError: It is no client.
    """

    def __init__(self, network: Network, party: Client) -> None:
        _require_role(network, party, Client, "client")
        self._network = network
        self.party = party

    def encrypt(self, inputs: ArrayLike) -> Encrypted:
        """Encrypt an input, or a batch of them along a first axis.

        Raises:
            ShapeMismatchError: The inputs have another shape than was compiled for, or are more
                than the batch.
            ValueOutOfRangeError: A number lies outside the range of the calibration data.
            NotFiniteError: There is a NaN or an infinity.
            NotRealError: They are complex, text or objects.
        """
        network = self._network
        batch, single = network.read(inputs, "encrypt", most=network.batch)
        require_bound(batch, network.input.bound, f"encrypt for layer 'input' of {network.title}")
        levels = [each.level for each in network.program.operations if isinstance(each, Input)]
        values = [
            self.party.key.encrypt(vector, bound=network.input.bound, level=level)
            for vector, level in zip(network.pack(batch), levels, strict=True)
        ]
        return Encrypted(tuple(values), len(batch), single, network.parameters)

    def decrypt(self, result: Encrypted, *, flood_bits: int | None = None) -> _Array:
        """Decrypt results: with an axis for the batch if the inputs had one.

        Args:
            result: What the evaluator's run gave.
            flood_bits: See `Client.decrypt`.

        Raises:
            InvalidArgumentError: It is no result of this network.
            ValueOutOfRangeError: A result is larger than the calibration data leave room for, so
                that numbers on the way may have been outside what layers are meant for.
            DecryptionOverflowError: A result has overflowed.
        """
        network = self._network
        _require_encrypted(network, result, network.output, f"decrypt {network.title}")
        vectors = [self.party.key.decrypt(each, flood_bits=flood_bits) for each in result.values]
        rows = network.output.packing.unpack(vectors, network.width)[: result.count]
        if not np.abs(rows).max() <= network.output.bound:
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
        InvalidArgumentError: It is no evaluator.
    """

    def __init__(self, network: Network, party: Evaluator, memory: int | None = None) -> None:
        _require_role(network, party, Evaluator, "evaluator")
        self._network = network
        kept = physical_bytes() // _KEPT_SHARE if memory is None else memory
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
            InvalidArgumentError: They are no inputs of this network.
        """
        network = self._network
        _require_encrypted(network, inputs, network.input, f"run {network.title}")
        values = self.party.run(
            network.program,
            inputs.values,
            threads=threads,
            profile=profile,
            cancel=cancel,
            bounds=network.bounds,
        )
        return Encrypted(tuple(values), inputs.count, inputs.single, network.parameters)

    def __repr__(self) -> str:
        return f"NetworkEvaluator({self._network.title}, {self.party})"


def _require_role(
    network: Network, holder: object, role: type[Client | Evaluator], name: str
) -> None:
    if not isinstance(holder, role):
        raise InvalidArgumentError(
            f"cannot use {network.title}: expected its {name}, got {shown(holder)}"
        )
    if network.parameters.fingerprint != holder.parameters.fingerprint:
        raise ParametersMismatchError(
            f"cannot use {network.title}: it was compiled for {network.parameters}, "
            f"the keys are for {holder.parameters}"
        )


def _require_encrypted(network: Network, given: object, port: Port, action: str) -> None:
    if not isinstance(given, Encrypted):
        raise InvalidArgumentError(
            f"cannot {action}: expected what encrypt or run of this network gave, got "
            f"{shown(given)}"
        )
    same = given.parameters.fingerprint == network.parameters.fingerprint
    if not same or len(given.values) != port.packing.ciphertexts or given.count > network.batch:
        raise InvalidArgumentError(
            f"cannot {action}: expected {port.packing.ciphertexts} ciphertext(s) of this network, "
            f"got {given} of another"
        )
