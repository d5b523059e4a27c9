"""The compiled way: a whole function of tensors planned together, run as often as wanted."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cloakwork._native import Parameters, SecretKey
from cloakwork.backends.ckks import CkksBackend, CkksKey
from cloakwork.backends.clear import ClearBackend, ClearKey
from cloakwork.errors import (
    InsecureParametersError,
    InvalidArgumentError,
    InvalidParametersError,
    InvalidProgramError,
    LevelExhaustedError,
    ParametersMismatchError,
    ShapeMismatchError,
)
from cloakwork.plan.bounds import value_bounds
from cloakwork.plan.cost import total_seconds
from cloakwork.plan.key_budget import within_key_budget
from cloakwork.plan.keys import demand_of
from cloakwork.plan.layout import Layout
from cloakwork.plan.level import depth_of, lowest_levels
from cloakwork.plan.lower import Lowered, in_order, lower
from cloakwork.plan.measured_cost import modelled_for
from cloakwork.plan.parameter_choice import SCALE_BITS, parameters_for
from cloakwork.programs.simplify import simplified
from cloakwork.programs.slots import Input, Output, Program, Vector
from cloakwork.programs.tensors import Contract, Node, Source
from cloakwork.runtime.arguments import integer, positive, shown
from cloakwork.runtime.arrays import real_array
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.roles import Client, Evaluator
from cloakwork.runtime.tensor import Tensor
from cloakwork.runtime.tensor_methods import TensorMethods

_ACTION = "compile"
# Above every level that a program can end up with; the true ones follow from its depth.
_TOP = 200
# Ways of one contraction that are tried, and plans in all for one ring.
_WAYS = 3
_PLANS = 24
# A level is worth what larger parameters cost, which is known once a plan is whole.
_LEVEL_PRICES = (0.0, 12.0, 1e6)
_SMALLEST_LOG_N = 12
_LARGEST_LOG_N = 16

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
        if not isinstance(self.shape, tuple) or not all(
            isinstance(size, int) and not isinstance(size, bool) and size >= 1
            for size in self.shape
        ):
            raise ShapeMismatchError(
                "cannot describe a tensor: expected a tuple of whole numbers from 1 on, "
                f"got {shown(self.shape)}"
            )
        object.__setattr__(self, "bound", positive(self.bound, "bound", "describe a tensor"))


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


class _Trace:
    """Records what a function does with its arguments."""

    def compute(self, node: Node, _title: str) -> TracedTensor:
        return TracedTensor(node, self)


class TracedTensor(TensorMethods):
    """Stands for an encrypted tensor while a function is compiled."""

    __slots__ = ("_node", "runner")

    def __init__(self, node: Node, runner: _Trace) -> None:
        self._node = node
        self.runner = runner

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self._node.shape

    def node(self) -> Node:
        """What stands for the tensor in a graph of operations."""
        return self._node

    def __repr__(self) -> str:
        return f"TracedTensor(shape={self.shape})"


def compile(
    function: Callable[..., Any],
    *specs: Spec | tuple[int, ...],
    precision: int = 20,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
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

    Raises:
        InvalidParametersError: No parameters have the depth and precision that are needed.
        KeyBudgetError: The fewest keys that will do take more than the budget.
        InvalidArgumentError: The function does not take or return tensors as it should.
        ShapeMismatchError: Shapes do not fit.

    Example:
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda a, b: (a @ b).sum(axis=0), (4, 8), (8, 2))
        >>> a, b = np.ones((4, 8)), np.ones((8, 2))
        >>> bool(np.allclose(p.run(a, b), 32, atol=1e-4))
        True
    """
    precision = integer(precision, "precision", _ACTION, least=0, most=SCALE_BITS[-1])
    if log_n is not None:
        log_n = integer(log_n, "log_n", _ACTION, least=5, most=17)
    described = tuple(each if isinstance(each, Spec) else Spec(each) for each in specs)
    sources, results, single = _traced(function, described)
    title = getattr(function, "__name__", "function")
    rings = [log_n] if log_n is not None else list(range(_SMALLEST_LOG_N, _LARGEST_LOG_N + 1))
    plans: list[_Plan] = []
    refusals: list[Exception] = []
    for each in rings:
        try:
            plans.append(_planned(title, sources, results, described, precision, each, insecure))
        except (InvalidParametersError, LevelExhaustedError) as error:
            refusals.append(error)
            continue
        # A ring twice as large costs more than twice as much for each operation.
        if len(plans) > 1 and plans[-1].cost > 2 * plans[-2].cost:
            break
    if not plans:
        raise InvalidParametersError(
            f"cannot compile {title} at a precision of {precision} bits: {refusals[-1]}"
        )
    best = min(plans, key=lambda plan: plan.cost)
    program = within_key_budget(best.program, best.parameters.evaluation_key_bytes, key_budget)
    return Compiled(
        title,
        program,
        best.parameters,
        described,
        best.packings,
        best.lowered.outputs,
        single,
    )


def _traced(
    function: Callable[..., Any], specs: Sequence[Spec]
) -> tuple[list[Source], list[Node], bool]:
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        names = []
    names += [f"argument{number}" for number in range(len(names), len(specs))]
    trace = _Trace()
    sources = [Source(name, spec.shape) for name, spec in zip(names, specs, strict=False)]
    arguments = [TracedTensor(source, trace) for source in sources]
    try:
        inspect.signature(function).bind(*arguments)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            f"cannot compile: the function does not take {len(specs)} argument(s): {error}"
        ) from error
    returned = function(*arguments)
    several = returned if isinstance(returned, tuple | list) else (returned,)
    if not several or not all(isinstance(each, TracedTensor) for each in several):
        raise InvalidArgumentError(
            "cannot compile: expected the function to return tensors made of its arguments, "
            f"got {shown(returned)}"
        )
    return sources, [each.node() for each in several], not isinstance(returned, tuple | list)


@dataclass(frozen=True, slots=True)
class _Plan:
    lowered: Lowered
    program: Program
    parameters: Parameters
    packings: tuple[Packing, ...]
    cost: float


def _planned(
    title: str,
    sources: Sequence[Source],
    results: Sequence[Node],
    specs: Sequence[Spec],
    precision: int,
    log_n: int,
    insecure: bool,
) -> _Plan:
    """The cheapest plan found for one ring: ways of each contraction are varied in turn."""

    def plan(choices: Mapping[int, int], level_price: float) -> _Plan:
        slots = 1 << (log_n - 1)
        lowered = lower(title, results, slots, top=_TOP, choices=choices, level_price=level_price)
        program = lowest_levels(simplified(lowered.program))
        largest = _largest_value(program, lowered, sources, specs)
        parameters = parameters_for(
            depth_of(program), precision, bound=largest, log_n=log_n, insecure=insecure
        )
        packings = _packings(lowered, program, sources)
        cost = total_seconds(program, modelled_for(parameters)) * parameters.n * log_n
        return _Plan(lowered, program, parameters, packings, cost)

    best, level_price = _at_best_level_price(plan)
    contractions = sum(isinstance(node, Contract) for node in in_order(results))
    choices: dict[int, int] = {}
    left = _PLANS
    for number in range(contractions if contractions > 1 else 0):
        for way in range(1, _WAYS):
            if not left:
                return best
            left -= 1
            try:
                tried = plan({**choices, number: way}, level_price)
            except (InsecureParametersError, InvalidParametersError):
                continue
            if tried.cost < best.cost:
                best = tried
                choices[number] = way
    return best


def _at_best_level_price(
    plan: Callable[[Mapping[int, int], float], _Plan],
) -> tuple[_Plan, float]:
    plans: list[tuple[_Plan, float]] = []
    refusals: list[InvalidParametersError] = []
    for price in _LEVEL_PRICES:
        try:
            plans.append((plan({}, price), price))
        except InvalidParametersError as error:
            refusals.append(error)
    if not plans:
        raise refusals[-1]
    return min(plans, key=lambda each: each[0].cost)


def _largest_value(
    program: Program, lowered: Lowered, sources: Sequence[Source], specs: Sequence[Spec]
) -> float:
    known = value_bounds(program, _slot_bounds(lowered, sources, specs))
    return max([1.0, *(each for each in known if each is not None)])


def _slot_bounds(
    lowered: Lowered, sources: Sequence[Source], specs: Sequence[Spec]
) -> list[Vector]:
    bounds: list[Vector] = []
    for source, layout in lowered.inputs:
        bound = specs[sources.index(source)].bound
        bounds += [bound * each for each in layout.pack(np.ones(layout.shape))]
    return bounds


def _packings(lowered: Lowered, program: Program, sources: Sequence[Source]) -> tuple[Packing, ...]:
    levels = iter([each.level for each in program.operations if isinstance(each, Input)])
    packings: list[Packing] = []
    for source, layout in lowered.inputs:
        own = [next(levels) for _ in range(layout.ciphertexts)]
        packings.append(Packing(sources.index(source), layout, max(own)))
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
            occupied = packing.layout.pack(np.ones(packing.layout.shape))
            bounds += [self.specs[packing.argument].bound * each for each in occupied]
        return bounds

    @property
    def _largest(self) -> float:
        known = value_bounds(self.program, self.input_bounds)
        return max(each for each in known if each is not None)

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
    wanted = [packing.level for packing in packings for _ in range(packing.layout.ciphertexts)]
    inputs = [each.level for each in program.operations if isinstance(each, Input)]
    require(inputs == wanted, "its inputs are not those of the packings")
    results = sum(isinstance(each, Output) for each in program.operations)
    require(
        results == sum(layout.ciphertexts for layout in outputs) > 0,
        "its outputs are not those of the layouts",
    )
    for packing in packings:
        require(0 <= packing.argument < len(specs), "an input is of no argument")
        require(
            packing.layout.shape == specs[packing.argument].shape,
            "an input has not the shape of its argument",
        )


class CompiledClient:
    """Encrypts the arguments of a compiled function and decrypts its results."""

    def __init__(self, compiled: Compiled, client: Client) -> None:
        _require_same(compiled, client.parameters)
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
        return [
            self.party.encrypt(
                read[packing.argument],
                bound=compiled.specs[packing.argument].bound,
                layout=packing.layout,
                level=packing.level,
            )
            for packing in compiled.packings
        ]

    def decrypt(self, results: Sequence[Tensor], *, flood_bits: int | None = None) -> Result:
        """Decrypt the results: one array, or a tuple where the function returned several.

        See `Client.decrypt`, whose errors it raises.
        """
        arrays = tuple(self.party.decrypt(each, flood_bits=flood_bits) for each in results)
        return arrays[0] if self._compiled.single else arrays

    def __repr__(self) -> str:
        return f"CompiledClient({self._compiled.title}, {self.party})"


class CompiledEvaluator:
    """Runs a compiled function on encrypted arguments; holds no secret."""

    def __init__(self, compiled: Compiled, evaluator: Evaluator) -> None:
        _require_same(compiled, evaluator.parameters)
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
        """
        compiled = self._compiled
        layouts = [packing.layout for packing in compiled.packings]
        if [each.layout for each in inputs] != layouts:
            raise InvalidArgumentError(
                f"cannot run {compiled.title}: expected {len(layouts)} tensor(s) that a client of "
                f"this program encrypted, got {len(inputs)} packed otherwise"
            )
        profile = Profile() if profile is None else profile
        values = iter(
            self.party.run(
                compiled.program,
                [value for each in inputs for value in each.values],
                threads=threads,
                profile=profile,
                cancel=cancel,
                bounds=compiled.input_bounds if self.party.hidden else None,
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


def _require_same(compiled: Compiled, parameters: Parameters) -> None:
    if compiled.parameters.fingerprint != parameters.fingerprint:
        raise ParametersMismatchError(
            f"cannot use {compiled.title}: it was compiled for {compiled.parameters}, "
            f"the keys are for {parameters}"
        )
