"""The compiled way: a whole function of tensors planned together, run as often as wanted."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._native import Parameters, SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey
from cloakwork.backends.clear import ClearBackend, ClearKey
from cloakwork.errors import (
    InvalidArgumentError,
    InvalidProgramError,
    ShapeMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.plan.bounds import value_bounds
from cloakwork.plan.cost import Costs
from cloakwork.plan.key_budget import within_key_budget
from cloakwork.plan.keys import demand_of
from cloakwork.plan.layout import Layout
from cloakwork.plan.lower import Lowered
from cloakwork.plan.measured_cost import comparable
from cloakwork.plan.parameter_choice import SCALE_BITS
from cloakwork.plan.precision import predicted_precision
from cloakwork.plan.search import Plan, Task, cheapest_plan, slot_bounds
from cloakwork.programs.slots import Input, Output, Program, Vector
from cloakwork.programs.tensors import Source
from cloakwork.runtime.arguments import integer, optional, positive, shown
from cloakwork.runtime.arrays import real_array, require_bound
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.roles import Client, Evaluator, require_role
from cloakwork.runtime.tensor import Tensor
from cloakwork.runtime.traced import traced

_ACTION = "compile"
# Base-2 logarithms of the degrees of those that are tried.
_RINGS = range(12, 17)

Result: TypeAlias = NDArray[np.float64] | tuple[NDArray[np.float64], ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of an encrypted argument before there is any: its shape and its bound.

    Args:
        shape: The shape.
        bound: The largest absolute value of any element. It is public.

    Raises:
        ShapeMismatchError: A dimension is no whole number from 1 on.
        InvalidArgumentError: The bound is no positive number.

    Example:
        >>> Spec((2, 3))
        Spec(shape=(2, 3), bound=1.0)
    """

    shape: tuple[int, ...]
    bound: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", _shape(self.shape))
        object.__setattr__(self, "bound", positive(self.bound, "bound", "describe a tensor"))


def _shape(shape: Any) -> tuple[int, ...]:
    whole = isinstance(shape, tuple | list) and all(
        isinstance(size, int | np.integer) and not isinstance(size, bool) and size >= 1
        for size in shape
    )
    if not whole:
        raise ShapeMismatchError(
            f"cannot describe a tensor: expected a tuple of whole numbers from 1 on, got "
            f"{shown(shape)}"
        )
    return tuple(int(size) for size in shape)


@dataclass(frozen=True, slots=True)
class Packing:
    """One tensor that goes into a program.

    Args:
        argument: Which argument it is, from 0 on; one may go in twice, in two layouts.
        layout: Where its elements lie.
        level: The level to encrypt it at.
    """

    argument: int
    layout: Layout
    level: int


def compile(
    function: Callable[..., Any],
    *specs: Spec | tuple[int, ...],
    precision: int = 20,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
) -> Compiled:
    """Plan a function of encrypted tensors as one program.

    The function is run once on stand-ins. Inputs are packed as the plan wants them, layouts
    are chosen across all steps, levels are as low as they can be, and the parameters are the
    cheapest that are secure.

    Args:
        function: A function of tensors that returns a tensor or a tuple of tensors. It may
            use einsum, the methods of tensors, and clear arrays.
        specs: Shape, or shape and bound, of each argument.
        precision: Bits after the binary point that results should have.
        key_budget: Bytes for all evaluation keys; the fewer, the more rotations.
        log_n: Base-2 logarithm of the ring degree; by default the cheapest.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        costs: What operations cost under given parameters. By default a model, so that every
            machine makes the same plan; `cloakwork.measured_costs` measures this machine,
            which takes some seconds for each ring tried and is then kept in the user's cache.

    Raises:
        InvalidParametersError: No parameters have the depth and precision that are needed.
        InsecureParametersError: Those of the ring asked for fall short of 128-bit security.
        KeyBudgetError: The fewest keys that will do take more than the budget.
        InvalidArgumentError: The function does not take or return tensors as it should, or
            `costs` is no function.
        ShapeMismatchError: Shapes do not fit.

    Example:
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda a, b: (a @ b).sum(axis=0), (4, 8), (8, 2))
        >>> a, b = np.ones((4, 8)), np.ones((8, 2))
        >>> bool(np.allclose(p.run(a, b), 32, atol=1e-4))
        True
    """
    if not callable(costs):
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected costs to be a function of parameters such as "
            f"cloakwork.measured_costs, got {shown(costs)}"
        )
    precision = integer(precision, "precision", _ACTION, least=0, most=SCALE_BITS[-1])
    rings = list(_RINGS)
    if log_n is not None:
        rings = [integer(log_n, "log_n", _ACTION, least=5, most=17)]
    described = tuple(each if isinstance(each, Spec) else Spec(each) for each in specs)
    graph = traced(function, [spec.shape for spec in described])
    title = getattr(function, "__name__", "function")
    bounds = {source: spec.bound for source, spec in zip(graph.sources, described, strict=True)}
    task = Task(title, graph.results, bounds, precision, insecure, costs)
    plan, program = _within_key_budget(task, rings, key_budget)
    return Compiled(
        title,
        program,
        plan.parameters,
        described,
        _packings(plan.lowered, graph.sources),
        plan.lowered.outputs,
        graph.single,
    )


def _within_key_budget(
    task: Task, rings: Sequence[int], key_budget: int | None
) -> tuple[Plan, Program]:
    """The cheapest plan and its program with few enough keys."""
    extra = 0
    while True:
        plan = cheapest_plan(replace(task, precision=task.precision + extra), rings)
        planned, parameters = plan.lowered.program, plan.parameters
        program = within_key_budget(planned, parameters.evaluation_key_bytes, key_budget)
        if program is planned:
            return plan, program
        # Rotations made of others, and transforms made of rotations, have larger errors.
        inputs = slot_bounds(plan.lowered, task.bounds)
        precise = predicted_precision(program, value_bounds(program, inputs), parameters)
        if precise >= task.precision:
            return plan, program
        extra += math.ceil(task.precision - precise)


def _packings(lowered: Lowered, sources: Sequence[Source]) -> tuple[Packing, ...]:
    levels = iter([each.level for each in lowered.program.operations if isinstance(each, Input)])
    packings: list[Packing] = []
    for source, layout in lowered.inputs:
        level, *_ = islice(levels, layout.ciphertexts)
        packings.append(Packing(sources.index(source), layout, level))
    return tuple(packings)


class Compiled:
    """A compiled function: a public program, its parameters, and how its inputs are packed.

    Args:
        title: The function's name.
        program: The slot program.
        parameters: The parameter set.
        specs: Shape and bound of each argument.
        packings: The tensors that go in, in order.
        outputs: Layouts of the results, in order.
        single: Whether the function returned one tensor rather than several.

    Raises:
        InvalidProgramError: The program, the inputs and the results do not fit one another.

    Example:
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda x: (x * x).sum(), cw.Spec((100,), bound=2.0))
        >>> client, evaluator = p.keygen()
        >>> result = evaluator.run(client.encrypt(np.full(100, 1.5)))
        >>> round(float(client.decrypt(result)), 4)
        225.0
    """

    def __init__(
        self,
        title: str,
        program: Program,
        parameters: Parameters,
        specs: tuple[Spec, ...],
        packings: tuple[Packing, ...],
        outputs: tuple[Layout, ...],
        single: bool,
    ) -> None:
        _require_consistent(program, parameters, specs, packings, outputs)
        if single and len(outputs) != 1:
            raise InvalidProgramError(f"cannot use {title}: its one result is {len(outputs)}")
        self.title = title
        self.program = program
        self.parameters = parameters
        self.specs = specs
        self.packings = packings
        self.outputs = outputs
        self.single = single
        self._own: tuple[CompiledClient, CompiledEvaluator] | None = None

    def keygen(self) -> tuple[CompiledClient, CompiledEvaluator]:
        """A client with a new secret key, and an evaluator with exactly the keys needed."""
        secret = CkksKey(self.parameters, SecretKey.generate(self.parameters))
        demand = demand_of(self.program)
        keys = secret.evaluation_keys(demand.relinearisation_level, demand.rotations)
        client = Client(self.parameters, secret, bound=self._largest)
        evaluator = Evaluator(self.parameters, CkksBackend(self.parameters, keys))
        return self.client(client), self.evaluator(evaluator)

    def client(self, client: Client) -> CompiledClient:
        """The program in the hands of a client, such as `load_client` gives."""
        return CompiledClient(self, client)

    def evaluator(self, evaluator: Evaluator) -> CompiledEvaluator:
        """The program in the hands of an evaluator, such as `load_evaluator` gives."""
        return CompiledEvaluator(self, evaluator)

    def run(self, *arrays: ArrayLike) -> Result:
        """Encrypt, run and decrypt in this process, with keys made at the first call."""
        if self._own is None:
            self._own = self.keygen()
        client, evaluator = self._own
        return client.decrypt(evaluator.run(client.encrypt(*arrays)))

    def run_clear(self, *arrays: ArrayLike) -> Result:
        """Run the very program on float64 vectors, slot for slot, without encryption."""
        key = ClearKey()
        client = Client(self.parameters, key, bound=self._largest, hidden=False)
        evaluator = Evaluator(self.parameters, ClearBackend(), hidden=False)
        own, other = self.client(client), self.evaluator(evaluator)
        return own.decrypt(other.run(own.encrypt(*arrays)))

    @property
    def key_bytes(self) -> int:
        """Bytes of the evaluation keys that the program needs."""
        return demand_of(self.program).nbytes(self.parameters.evaluation_key_bytes)

    @property
    def input_bounds(self) -> list[Vector]:
        """For each input ciphertext, the largest absolute value of each slot."""
        bounds: list[Vector] = []
        for packing in self.packings:
            occupied = packing.layout.occupied()
            bounds += [self.specs[packing.argument].bound * each for each in occupied]
        return bounds

    @cached_property
    def value_bounds(self) -> list[float | None]:
        """For each operation of the program, the largest absolute value that it may come to."""
        return value_bounds(self.program, self.input_bounds)

    @property
    def _largest(self) -> float:
        return max(each for each in self.value_bounds if each is not None)

    def __repr__(self) -> str:
        shapes = ", ".join(str(spec.shape) for spec in self.specs)
        return (
            f"Compiled({self.title}: {shapes}; {len(self.program.operations)} operations, "
            f"{self.parameters})"
        )


def _require_consistent(
    program: Program,
    parameters: Parameters,
    specs: Sequence[Spec],
    packings: Sequence[Packing],
    outputs: Sequence[Layout],
) -> None:
    def require(condition: bool, reason: str) -> None:
        if not condition:
            raise InvalidProgramError(f"cannot use {program.title}: {reason}")

    require(program.slots == parameters.slots, "its slots are not those of the parameters")
    levels = [state.level for state in program.states if state.level is not None]
    require(max(levels, default=0) <= parameters.levels, "it has more levels than the parameters")
    for layout in (*(packing.layout for packing in packings), *outputs):
        require(layout.slots == program.slots, "a layout has other slots")
    # Counted first, for a layout may claim more ciphertexts than fit a list.
    inputs = [each.level for each in program.operations if isinstance(each, Input)]
    wanted = sum(packing.layout.ciphertexts for packing in packings)
    require(len(inputs) == wanted > 0, "its inputs are not those of the packings")
    levels_of = iter(inputs)
    for packing in packings:
        own = set(islice(levels_of, packing.layout.ciphertexts))
        require(own == {packing.level}, "an input is not at the level of its packing")
        require(0 <= packing.argument < len(specs), "an input is of no argument")
        require(
            packing.layout.shape == specs[packing.argument].shape,
            "an input has not the shape of its argument",
        )
    results = sum(isinstance(each, Output) for each in program.operations)
    require(
        results == sum(layout.ciphertexts for layout in outputs) > 0,
        "its outputs are not those of the layouts",
    )


class CompiledClient:
    """Encrypts the arguments of a compiled function and decrypts its results.

    Args:
        compiled: The compiled function.
        client: Who holds the secret key.

    Raises:
        ParametersMismatchError: The client's key is for other parameters.
        InvalidArgumentError: It is no client.

    Example:
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda x, y: x - y, (3,), (3,))
        >>> client, evaluator = p.keygen()
        >>> inputs = client.encrypt([0.5, 0.5, 0.5], [0.25, 0.0, -0.25])
        >>> [x.shape for x in inputs]
        [(3,), (3,)]
        >>> client.decrypt(evaluator.run(inputs)).round(5).tolist()
        [0.25, 0.5, 0.75]
    """

    def __init__(self, compiled: Compiled, client: Client) -> None:
        require_role(compiled, client, Client, "client")
        self._compiled = compiled
        self.party = client

    def encrypt(self, *arrays: ArrayLike) -> list[Tensor]:
        """Encrypt the arguments, packed as the program wants them.

        Raises:
            ShapeMismatchError: An array has another shape than was compiled for.
            ValueOutOfRangeError: A number exceeds the bound that was compiled for.
            NotFiniteError: An array has a NaN or an infinity.
            NotRealError: An array is complex, text or objects.
            InvalidArgumentError: There are too few or too many arrays.
        """
        compiled = self._compiled
        if len(arrays) != len(compiled.specs):
            raise InvalidArgumentError(
                f"cannot encrypt for {compiled.title}: expected {len(compiled.specs)} array(s), "
                f"got {len(arrays)}"
            )
        read = [real_array(array, "encrypt") for array in arrays]
        for number, (array, spec) in enumerate(zip(read, compiled.specs, strict=True)):
            if array.shape != spec.shape:
                raise ShapeMismatchError(
                    f"cannot encrypt for {compiled.title}: expected argument {number} of shape "
                    f"{spec.shape}, got {array.shape}"
                )
            require_bound(array, spec.bound, f"encrypt argument {number} for {compiled.title}")
        return [
            self.party.encrypt(
                read[packing.argument],
                bound=compiled.specs[packing.argument].bound,
                layout=packing.layout,
                level=packing.level,
            )
            for packing in compiled.packings
        ]

    def decrypt(
        self,
        results: Sequence[Tensor],
        *,
        statistical_bits: int | None = None,
        decryptions: int = 1,
    ) -> Result:
        """Decrypt the results: one array, or a tuple where the function returned several.

        See `Client.decrypt`, whose errors it raises.

        Raises:
            InvalidArgumentError: They are not the results of this program.
        """
        _require_tensors(results, self._compiled.outputs, f"decrypt {self._compiled.title}")
        arrays = tuple(
            self.party.decrypt(each, statistical_bits=statistical_bits, decryptions=decryptions)
            for each in results
        )
        return arrays[0] if self._compiled.single else arrays

    def __repr__(self) -> str:
        return f"CompiledClient({self._compiled.title}, {self.party})"


class CompiledEvaluator:
    """Runs a compiled function on encrypted arguments; holds no secret.

    Args:
        compiled: The compiled function.
        evaluator: Who holds the evaluation keys.

    Raises:
        ParametersMismatchError: The evaluator's keys are for other parameters.
        InvalidArgumentError: It is no evaluator.

    Example:
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda x: (x * x, x.sum()), (3,))
        >>> client, evaluator = p.keygen()
        >>> evaluator.run(client.encrypt([0.5, 0.25, 0.0]))
        [Tensor(shape=(3,), level=0, slots=4096), Tensor(shape=(), level=0, slots=4096)]
    """

    def __init__(self, compiled: Compiled, evaluator: Evaluator) -> None:
        require_role(compiled, evaluator, Evaluator, "evaluator")
        self._compiled = compiled
        self.party = evaluator

    def run(
        self,
        inputs: Sequence[Tensor],
        *,
        threads: int | None = None,
        profile: Profile | None = None,
        cancel: threading.Event | None = None,
    ) -> list[Tensor]:
        """Run the program on what a client of it has encrypted.

        See `Evaluator.run`, whose errors it raises.

        Raises:
            InvalidArgumentError: The tensors are not packed as the program wants them.
            ValueOutOfRangeError: A tensor may hold larger numbers than the program was compiled
                for.
        """
        compiled = self._compiled
        layouts = [packing.layout for packing in compiled.packings]
        _require_tensors(inputs, layouts, f"run {compiled.title}")
        if self.party.hidden:
            _require_bounds(compiled, inputs)
        action = f"run {compiled.title}"
        profile = optional(profile, Profile, "profile", action) or Profile()
        values = iter(
            self.party.run(
                compiled.program,
                [value for each in inputs for value in each.values],
                threads=threads,
                profile=profile,
                cancel=cancel,
                bounds=compiled.value_bounds if self.party.hidden else None,
            )
        )
        return [
            Tensor(
                [next(values) for _ in range(layout.ciphertexts)],
                layout,
                compiled.parameters,
                None,
                compiled.program,
                profile,
            )
            for layout in compiled.outputs
        ]

    def __repr__(self) -> str:
        return f"CompiledEvaluator({self._compiled.title}, {self.party})"


def _require_bounds(compiled: Compiled, inputs: Sequence[Tensor]) -> None:
    """Refuse what may be larger than the bounds that the whole program was planned by."""
    for packing, tensor in zip(compiled.packings, inputs, strict=True):
        promised = compiled.specs[packing.argument].bound
        largest = max(value.bound for value in tensor.values)
        if largest > promised:
            raise ValueOutOfRangeError(
                f"cannot run {compiled.title}: expected argument {packing.argument} to hold "
                f"numbers of absolute value up to {promised:g}, as its Spec says, and the tensor "
                f"was encrypted with a bound of {largest:g}; encrypt it with the client of this "
                "program, or compile with a larger bound"
            )


def _require_tensors(tensors: Any, layouts: Sequence[Layout], action: str) -> None:
    """Refuse what are not tensors that lie as this program wants or leaves them."""
    expected = f"cannot {action}: expected a list of {len(layouts)} tensor(s) of this program"
    if not isinstance(tensors, list | tuple) or not all(
        isinstance(each, Tensor) for each in tensors
    ):
        raise InvalidArgumentError(f"{expected}, got {shown(tensors)}")
    if [each.layout for each in tensors] != list(layouts):
        raise InvalidArgumentError(f"{expected}, got {len(tensors)} packed otherwise")
