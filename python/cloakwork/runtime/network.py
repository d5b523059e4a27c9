"""A compiled network: makes keys for it, runs it in the clear, tells what it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._native import Parameters, SecretKey
from cloakwork.base.arguments import integer, optional
from cloakwork.explain.networks import summary
from cloakwork.plan.analysis.memory import ProcessMemory, process_memory
from cloakwork.plan.cost.measure import measured
from cloakwork.plan.cost.table import Costs
from cloakwork.programs.keys import demand_of
from cloakwork.programs.slots import Linear
from cloakwork.runtime.network_program import NetworkProgram
from cloakwork.runtime.network_roles import MAX_BYTES, NetworkClient, NetworkEvaluator
from cloakwork.runtime.roles import Client, Evaluator
from cloakwork.runtime.simulate import Watch, outside, results
from cloakwork.schemes.ckks import CkksBackend, CkksKey
from cloakwork.schemes.transform_cache import default_budget, transform_bytes

_Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Simulation:
    """What a network computes in the clear.

    Args:
        outputs: The results, with the errors of encryption as modelled.
        error: The largest error to expect, of encryption and of polynomials for activations.
        outside: For each layer that numbers came to which it is not meant for, what these were
            and what it is meant for. A client refuses to encrypt such inputs.
    """

    outputs: _Array
    error: float
    outside: tuple[str, ...]


class Network(NetworkProgram):
    """A compiled network; what it is made of is `NetworkProgram`'s."""

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
            NotFiniteError: There is a NaN or an infinity.
            NotRealError: They are complex, text or objects.
            InvalidArgumentError: The seed is no integer from 0 up.
        """
        seed = integer(seed, "seed", "simulate", least=0, most=(1 << 63) - 1)
        array, single = self.read(inputs, "simulate", most=None)
        outputs = self._results(array, self.parameters, seed)
        bound = self.input.bound
        given = Watch("input", (), self.input.packing, -bound, bound)
        reports = outside([given], np.array([[array.min(), array.max()]]))
        reports += self.unfit(array)
        return Simulation(outputs[0] if single else outputs, self.error, tuple(reports))

    def run_clear(self, inputs: ArrayLike) -> _Array:
        """Run the very program on float64 vectors, slot for slot, without errors.

        Like a client it refuses inputs whose results would be wrong numbers; `simulate` runs them.

        Raises:
            ShapeMismatchError: The inputs have another shape than was compiled for.
            ValueOutOfRangeError: A number lies outside the range of the calibration data, or one
                that comes of it at a layer on the way; the message names the layer.
            NotFiniteError: There is a NaN or an infinity.
            NotRealError: They are complex, text or objects.
        """
        array, single = self.read(inputs, "run", most=None)
        self.require_fit(array, "run")
        outputs = self._results(array)
        return outputs[0] if single else outputs

    def _results(
        self, batch: _Array, parameters: Parameters | None = None, seed: int = 0
    ) -> _Array:
        """Those of flat inputs, with modelled errors where there are parameters."""
        found: list[_Array] = []
        for part in self.parts(batch):
            vectors = results(self.program, self.pack(part), parameters, seed)
            found.append(self.output.packing.unpack(vectors, self.width)[: len(part)])
        return np.concatenate(found).reshape(len(batch), *self.output.shape)

    def process_memory(self, memory: int | None = None) -> ProcessMemory:
        """What a process takes at the most that loads an evaluator from files and runs it.

        Args:
            memory: Bytes that it may keep encoded layers in; see `evaluator`.

        Raises:
            InvalidArgumentError: The memory is no integer from 0 up.
        """
        kept = default_budget()
        if memory is not None:
            kept = integer(memory, "memory", "tell the memory", least=0, most=MAX_BYTES)
        return process_memory(self.program, self.parameters, kept)

    def summary(self, costs: Costs | None = None, *, memory: int | None = None) -> str:
        """Per layer its packing, rotations, levels, keys and time; totals.

        Args:
            costs: What operations cost, in CPU seconds; by default as measured on this machine,
                which takes some seconds once.
            memory: Bytes that the evaluator may keep encoded layers in; see `evaluator`.
        """
        given = optional(costs, Costs, "costs", "summarise a network")
        costs = (measured(self.parameters) if given is None else given).kept()
        return summary(
            self.title,
            self.program,
            self.parameters,
            costs,
            self.batch,
            self.process_memory(memory),
            self.error,
        )

    def __repr__(self) -> str:
        return (
            f"Network({self.title}: {self.input.shape} to {self.output.shape}, batch {self.batch}; "
            f"{len(self.program.operations)} operations, {self.parameters})"
        )
