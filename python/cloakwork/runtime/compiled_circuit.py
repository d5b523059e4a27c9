"""A circuit that was compiled: its program, its parameters, and the keys made for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from cloakwork._native import BgvParameters
from cloakwork.base.arguments import shown
from cloakwork.base.unpicklable import Unpicklable
from cloakwork.errors import InvalidArgumentError, ResultOverflowError, SlotMismatchError
from cloakwork.explain.plot.integers import plot_integers
from cloakwork.plan.circuits.ranges import Range, result_ranges
from cloakwork.plan.parameters.bgv import RINGS, cheapest_integer_plan, require_fitting
from cloakwork.programs.integers import IntegerPort, IntegerProgram
from cloakwork.programs.ir.circuits import Circuit
from cloakwork.programs.ir.vectors import Clear, LaneProgram
from cloakwork.programs.keys import demand_of
from cloakwork.programs.packing.results import Form, Known, integers_of
from cloakwork.programs.packing.scalar import ROWS, Packing, room
from cloakwork.programs.slots import Program
from cloakwork.runtime.integer_roles import IntegerClient, IntegerEvaluator
from cloakwork.schemes.bgv import BgvBackend, BgvKey
from cloakwork.schemes.clear_integer import ClearIntegersBackend, ClearIntegersKey

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def compile_lanes(
    candidates: Sequence[LaneProgram],
    circuit: Circuit,
    form: Form,
    bounds: Mapping[str, Range],
    bits: int,
    *,
    batch: int = 1,
    rings: Sequence[int] = RINGS,
    insecure: bool = False,
) -> CompiledCircuit:
    """Give a lane program of a circuit levels and parameters.

    Args:
        candidates: What may run; of these the one that costs least with its levels does.
        circuit: What it computes.
        form: How its results stand in lists, tuples and dicts.
        bounds: The least and the greatest value of the scalars of each input.
        bits: Results are signed numbers of so many bits.
        batch: Evaluations of one run, at most.
        rings: Base-2 logarithms of the ring degrees to try, in order.
        insecure: Whether parameters below 128-bit security are allowed.

    Raises:
        CircuitTooDeepError: No parameters take as many products in a row.
        SlotMismatchError: The batch takes more slots than the largest ring has.
        ResultOverflowError: A result that is clear has more bits.
        InsecureParametersError: The ring asked for falls short of 128-bit security.
    """
    _require_room(candidates, batch, 1 << max(rings) - 1)
    plan = cheapest_integer_plan(
        candidates, bits, evaluations=batch, rings=rings, insecure=insecure
    )
    ports = tuple(IntegerPort(each.name, each.shape, *bounds[each.name]) for each in circuit.inputs)
    ranges = result_ranges(circuit, bounds)
    _require_clear_results(circuit.title, form, plan.slots.packing, bits)
    program = IntegerProgram(plan.program, plan.slots.packing, ports, form, bits, batch, ranges)
    return CompiledCircuit(program, plan.parameter_sets)


def _require_room(candidates: Sequence[LaneProgram], batch: int, row: int) -> None:
    width = min(lanes.width for lanes in candidates)
    most = room(width, row)
    if batch > most:
        raise SlotMismatchError(
            f"cannot compile {candidates[0].title}: expected a batch of up to {most}, which the "
            f"{ROWS} rows of {row} slots of the largest ring hold at {width} slots for each "
            f"evaluation, got {batch}; compile with a smaller batch and run several"
        )


def _require_clear_results(title: str, form: Form, packing: Packing, bits: int) -> None:
    """Refuse results that overflow in every run, for nothing encrypted is in them."""
    clear = [place.value for place in packing.results if isinstance(place, Clear)]
    clear += [each.value for each in integers_of(form) if isinstance(each, Known)]
    limit = 1 << bits - 1
    for value in clear:
        if not -limit <= value < limit:
            raise ResultOverflowError(
                f"cannot compile {title}: expected results that are signed numbers of {bits} bits, "
                f"got {shown(value)}, which is clear"
            )


class CompiledCircuit(Unpicklable):
    """A circuit as a public program, with the parameters that it runs under.

    Args:
        integers: The program, its inputs and results.
        parameter_sets: One for every prime that results are computed modulo.

    Example:
        >>> import cloakwork as cw
        >>> @cw.circuit(a=cw.scalar(), b=cw.scalar())
        ... def product(a, b):
        ...     return a * b
        >>> client, evaluator = product.compile(bits=16).keygen()
        >>> client.decrypt(evaluator.run(client.encrypt(a=-12, b=11)))
        -132
    """

    saved_by = "cw.integers.save_program"

    def __init__(self, integers: IntegerProgram, parameter_sets: tuple[BgvParameters, ...]) -> None:
        require_fitting(integers, parameter_sets)
        self.integers = integers
        self.parameter_sets = parameter_sets

    @property
    def title(self) -> str:
        """What it computes."""
        return self.integers.title

    @property
    def program(self) -> Program:
        """The slot program."""
        return self.integers.program

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys that the program needs."""
        demand = demand_of(self.program)
        return sum(demand.nbytes(each.evaluation_key_bytes) for each in self.parameter_sets)

    def keygen(
        self, backend: Literal["bgv", "clear"] = "bgv"
    ) -> tuple[IntegerClient, IntegerEvaluator]:
        """A client with a new secret key, and an evaluator with exactly the keys needed.

        Args:
            backend: `bgv` for ciphertexts; `clear` for the same program on exact integers, which
                hides nothing.

        Raises:
            InvalidArgumentError: There is no such backend.
        """
        if backend == "clear":
            client = IntegerClient(ClearIntegersKey(), self.integers)
            return client, IntegerEvaluator(ClearIntegersBackend(), self.integers, hidden=False)
        if backend != "bgv":
            raise InvalidArgumentError(
                f"cannot make keys: expected a backend of bgv, clear, got {shown(backend)}"
            )
        key = BgvKey.generate(self.parameter_sets)
        demand = demand_of(self.program)
        keys = key.evaluation_keys(demand.relinearisation_level, demand.rotations)
        evaluator = IntegerEvaluator(
            BgvBackend(self.parameter_sets, keys), self.integers, hidden=True
        )
        return IntegerClient(key, self.integers), evaluator

    def run_clear(self, /, **inputs: Any) -> Any:
        """Run the very program on exact integers, slot for slot; nothing is encrypted or wraps.

        Args:
            inputs: As `IntegerClient.encrypt` takes them.

        Raises:
            ResultOverflowError: A result has more bits than the program was compiled for.
            InputNameError, ShapeMismatchError, NotIntegerError, ValueOutOfRangeError: As
                `IntegerClient.encrypt` raises them.
        """
        client, evaluator = self.keygen("clear")
        return client.decrypt(evaluator.run(client.encrypt(**inputs), threads=1))

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the plan: the slots of inputs and results, the graph by level, modelled times.

        Args:
            path: Where to write the figure; the ending says as what, such as `.png` or `.svg`.

        Raises:
            InvalidArgumentError: The path is none, or of no kind that can be written.
            MissingDependencyError: Matplotlib is not installed.
        """
        return plot_integers(self, path)

    def __repr__(self) -> str:
        moduli = ", ".join(str(each.plaintext_modulus) for each in self.parameter_sets)
        return (
            f"CompiledCircuit({self.title}: {len(self.program.operations)} operations, "
            f"results of {self.integers.bits} bits modulo {moduli}, {self.parameter_sets[0]})"
        )
