"""Functions of encrypted tensors compiled: all steps planned together, run any number of times."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any

from numpy.typing import ArrayLike

from cloakwork._native import Parameters
from cloakwork.base.arguments import positive, shown
from cloakwork.base.progress import announced_steps
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidArgumentError, ShapeMismatchError
from cloakwork.frontends.tensors.in_a_row import program_in_a_row, require_encrypted
from cloakwork.frontends.tensors.labels import labelled
from cloakwork.frontends.tensors.missing import REFUSE, Missing, with_missing
from cloakwork.frontends.tensors.repeating import repeating
from cloakwork.frontends.tensors.result import (
    RepeatedSpec,
    ResultSpec,
    following,
    require_ring,
    ring_of_results,
)
from cloakwork.frontends.tensors.returning import BitsSpec, bits_spec, in_first_ring
from cloakwork.frontends.tensors.samples import SampledSpec, are_samples, spec_of_samples
from cloakwork.frontends.tensors.self_check import require_function
from cloakwork.frontends.tensors.state import StateSpec, keeping
from cloakwork.frontends.tensors.tracing import traced_across
from cloakwork.plan.circuits.following import (
    following_integers,
    range_of_exact,
    ring_of_integers,
)
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.plan.matmul.integers import IntegerProductOptions
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.magnitudes import program_in_units
from cloakwork.programs.ir.tensors import TensorFunction
from cloakwork.programs.spec import Spec
from cloakwork.runtime.after import Result, require_told_apart
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.runtime.program import Program
from cloakwork.schemes.device.devices import CPU, device_name, open_device


@names_memory("compile")
def compile(
    function: Callable[..., Any],
    *specs: Spec | tuple[int, ...] | ArrayLike,
    precision: int = 20,
    relative: int | None = None,
    margin: float = MARGIN,
    key_budget: int | None = None,
    memory_limit: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    public_inputs: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
    bootstrap: bool | None = None,
    device: str = CPU,
    modulus: int | None = None,
    failure_bits: int | None = None,
    missing: Missing = REFUSE,
) -> Program:
    """Plan a function of encrypted tensors as one program.

    The function is run once on stand-ins, and then on a few arrays in their ranges, with which the
    plan is compared as long as that takes no more than a second or so. A function that raises an
    exception for arrays, such as one with methods that arrays lack, is not run in this comparison:
    its plan is compared with the operations that it asked of the stand-ins.

    Inputs are packed as the plan needs them, layouts are chosen across all steps, levels are as low
    as they can be, and the parameters are the cheapest that are secure. Products of matrices are
    planned in blocks where that costs less.

    A product of two matrices of integers, or of batches of them, is exact: specs of kind `integer`
    ask for it. It is computed modulo as many primes as the ranges need, or modulo a given one.

    Args:
        function: A function of tensors that returns a tensor or a tuple of tensors. It may
            use einsum, the methods of tensors, and clear arrays.
        specs: Shape, or `Spec` of shape, bound or range, and kind, of each argument; or an array
            that is a sample of it, or a list of samples: the function is run on them, and numbers
            are taken to lie in ranges as there; clients refuse to encrypt inputs that leave them.
            Or what `cloakwork.result` says of a result of another program, or `cloakwork.state` of
            what stays with the evaluator.
        precision: Bits after the binary point that results should have, of reals.
        relative: Instead, bits that are to be right of the largest number that a result may be by
            the ranges of the arguments: errors are at most 2^-relative times as large. For numbers
            of any magnitude.
        margin: By how much numbers may exceed those of samples, as a part of half the width of
            their range.
        key_budget: Bytes for all evaluation keys; the fewer, the more rotations or ciphertexts.
        memory_limit: Bytes that the ciphertexts of a run may take; by default any.
        log_n: Base-2 logarithm of the ring degree; by default the cheapest.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        public_inputs: Whether inputs may be encrypted by a public key, which has more noise and so
            may take larger parameters; see `Client.public_key`.
        costs: What operations cost under given parameters. By default a model, so that every
            machine makes the same plan; `cloakwork.measured_costs` measures this machine,
            which takes some seconds for each ring tried and is then cached.
        bootstrap: Whether values may be refreshed on the way, where that costs least. By default
            they are where no chain is as long as the function is deep; True takes parameters with
            levels for it even so, False refuses a function that is deeper.
        device: Where evaluators run it: "cpu", "cuda", or "cuda:1" for the second GPU. It is
            planned without operations that devices lack; see `Evaluator.device`.
        modulus: Of integers, a prime that results are modulo, as the representatives nearest to 0;
            by default results are integers.
        missing: What stands for numbers that are missing in arguments of reals: NaN, None, masked
            or null. By default they are refused. A number stands for all of them, "mean" is the
            mean of the samples' column, along the last axis of arrays, which becomes public.
        failure_bits: Of integers, each bound on noise, of an encryption or a key switch, fails with
            a probability of at most 2^-failure_bits, from 40 to 128; by default 128. More take
            larger moduli; `Program.log2_failure` says what a run comes to.

    Raises:
        InvalidParametersError: No parameters have the depth and precision that are needed, or the
            modulus is no prime that is 1 modulo 2N for a ring degree N.
        InsecureParametersError: Those of the ring asked for fall short of 128-bit security.
        KeyBudgetError: The fewest keys that will do take more than the budget.
        MemoryBudgetError: The fewest ciphertexts take more than the memory limit.
        ProgramTooLargeError: A product takes more ciphertexts than a program can have.
        ResultOverflowError: By the ranges of integers results have too many bits.
        InvalidArgumentError: The function does not take or return tensors as it should, or has a
            `compile` of its own, `costs` is not a function, inputs are integers and reals, a
            function of integers is not a product, or an option is of the other kind of numbers;
            or some arguments have samples, and others have not.
        NotFiniteError: Samples, or the function's numbers on them, are NaN or infinite.
        ShapeMismatchError: Shapes do not fit.
        DeviceUnavailableError: The device, or what it takes, is missing.
        DeviceOperationError: The function cannot be planned without operations that devices lack.
        InvalidProgramError: A step leaves its state otherwise than the next one takes it.
        NoiseBudgetError: The errors of a state grow, and no number of steps was said.
        PlanMismatchError: The plan computes something else than the function, or results of
            another number or shape.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda a, b: (a @ b).sum(axis=0), (4, 8), (8, 2))
        >>> a, b = np.ones((4, 8)), np.ones((8, 2))
        >>> bool(np.allclose(p.run(a, b), 32, atol=1e-4))
        True
        >>> data = np.random.default_rng(0).uniform(0, 100, (20, 3))
        >>> spread = cw.compile(lambda x: x.std(axis=0), data, precision=8)
        >>> bool(np.allclose(spread.run_clear(data), data.std(axis=0), atol=2**-8))
        True
        >>> integers = cw.Spec((2, 3), bound=9, kind="integer")
        >>> p = cw.compile(lambda a: a @ a.T, integers)
        >>> p.run_clear(np.arange(6).reshape(2, 3)).tolist()
        [[5, 14], [14, 50]]
    """
    if type(function).__module__.startswith("cloakwork.") and hasattr(function, "compile"):
        raise InvalidArgumentError(
            f"cannot compile: expected a function of tensors, got {shown(function)}; circuits "
            "have a method of their own, compile(bits=) over integers and compile() over bits"
        )
    of_any: dict[str, Any] = {
        "key_budget": key_budget,
        "memory_limit": memory_limit,
        "insecure": insecure,
        "public_inputs": public_inputs,
    }
    of_reals: dict[str, Any] = {
        "precision": precision,
        "relative": relative,
        "costs": costs,
        "bootstrap": bootstrap,
        "missing": missing,
    }
    of_integers: dict[str, Any] = {"modulus": modulus, "failure_bits": failure_bits}
    asked_for = {**of_any, **of_reals, **of_integers, "device": device}

    def planned(
        step: Callable[..., Any], specs: Sequence[Any], ring: int | None, spare: int | None
    ) -> Program:
        return compile(step, *specs, log_n=ring, **_beside_loops(asked_for, spare))

    given: Sequence[Any] = specs
    require_told_apart(given, "compile")
    asked_log_n = log_n
    bits = [each for each in given if isinstance(each, Result) and each.port.is_bits]
    if bits and log_n is None:
        return in_first_ring(
            [each for each in specs if isinstance(each, ResultSpec)],
            bits,
            lambda ring: compile(function, *specs, margin=margin, log_n=ring, **asked_for),
        )
    if relative is not None and precision != signature(compile).parameters["precision"].default:
        raise InvalidArgumentError(
            f"cannot compile: expected precision= or relative=, got both, {precision} and "
            f"{relative}; leave one out"
        )
    widening = positive(margin, "margin", "compile")
    described = [_described(each, log_n, widening, missing) for each in specs]
    if margin != MARGIN and not any(isinstance(each, SampledSpec) for each in described):
        raise InvalidArgumentError(
            "cannot compile: expected samples of the arguments beside a margin, got none; give "
            "arrays, or leave the margin out"
        )
    integers = {
        n: each for n, each in enumerate(given) if isinstance(each, Result) and each not in bits
    }
    if integers:
        log_n = ring_of_integers([*integers.values()], log_n, "compile")
    if log_n is None:
        log_n = ring_of_results(described)
    title = getattr(function, "__name__", "function")
    asked: dict[str, Any] = {**of_any, "title": title, "log_n": log_n}
    options: RealOptions | IntegerProductOptions
    if _are_integers(described):
        _refuse_options(
            {**of_reals, "device": device}, "reals", "inputs are integers; leave it out"
        )
        options = IntegerProductOptions(
            **asked, **{name: each for name, each in of_integers.items() if each is not None}
        )
    else:
        _refuse_options(
            of_integers,
            "integers",
            'inputs are reals; leave it out, or declare them by cw.Spec(shape, kind="integer")',
        )
        del of_reals["missing"]
        options = RealOptions(**asked, **of_reals)
    if device_name(device, "compile") != CPU:
        # A device that is not there is refused before anything is planned.
        open_device(device)
    require_ring(described, log_n)
    of_steps = {type(each) for each in described} & {StateSpec, RepeatedSpec}
    if isinstance(options, RealOptions) and of_steps:
        of_all = repeating if RepeatedSpec in of_steps else keeping
        program, graph = of_all(function, described, options, device)
    else:
        # The ranges of steps' results count it once, as what is stated does.
        error = 2 * 2.0**-options.precision if isinstance(options, RealOptions) else 0.0
        graph, cuts = traced_across(function, described, error)
        if cuts:
            require_encrypted(given)
            row = program_in_a_row(
                graph, cuts, options.title, asked_log_n, planned, insecure=insecure
            )
            return labelled(row, graph)
        program = _planned_as_one(graph, options, device, integers)
    require_function(program, function, graph, options)
    return labelled(program, graph)


def _planned_as_one(
    graph: TensorFunction,
    options: RealOptions | IntegerProductOptions,
    device: str,
    integers: Mapping[int, Any],
) -> Program:
    """The program of a function that stays in slots, which a bar on a terminal waits for.

    Args:
        graph: What the function does.
        options: What is asked of it.
        device: Where evaluators run it.
        integers: The arguments that are results of programs over integers, by their numbers.
    """
    with announced_steps(f"planning {options.title}", total=1):
        program = following(program_in_units(graph, options, device), graph)
        if not integers:
            return program
        named = {graph.sources[number].name: each for number, each in integers.items()}
        return following_integers(program, named, options.key_budget, insecure=options.insecure)


def _beside_loops(asked_for: Mapping[str, Any], spare: int | None) -> dict[str, Any]:
    """What is asked of what stands beside loops: more precision, and no bootstraps for their own.

    Args:
        asked_for: What the user asks.
        spare: By how many bits it is to be more precise; None where there are no loops.
    """
    if spare is None:
        return {**asked_for}
    more = 0 if asked_for["relative"] is not None else spare
    refreshed = None if asked_for["bootstrap"] else asked_for["bootstrap"]
    return {**asked_for, "precision": asked_for["precision"] + more, "bootstrap": refreshed}


def _are_integers(specs: Sequence[Spec]) -> bool:
    """Whether all arguments are integers; refused where some are."""
    kinds = {each.kind for each in specs}
    if len(kinds) > 1 and any(isinstance(each, BitsSpec) for each in specs):
        raise InvalidArgumentError(
            "cannot compile: expected reals beside bits, which come back into slots of reals, got "
            "integers; declare their specs without kind=, or compute on bits what has to be exact"
        )
    if len(kinds) > 1:
        raise InvalidArgumentError(
            "cannot compile: expected inputs that all are integers or all are reals, got both; "
            "declare the same kind= for each cw.Spec"
        )
    return "integer" in kinds


def _refuse_options(given: Mapping[str, object], numbers: str, instead: str) -> None:
    """Refuse options that only other numbers have."""
    parameters = signature(compile).parameters
    for name, value in given.items():
        if value != parameters[name].default:
            raise InvalidArgumentError(
                f"cannot compile: {name} is an option of {numbers}, and the {instead}"
            )


def _described(spec: Any, log_n: int | None, margin: float, missing: Missing) -> Spec:
    """What is known of an argument."""
    if are_samples(spec):
        return spec_of_samples(spec, margin, missing)
    if isinstance(spec, Result) and spec.port.is_bits and log_n is not None:
        return bits_spec(spec, log_n)
    if isinstance(spec, Result):
        low, high = range_of_exact(spec, "compile")
        return Spec(spec.port.shape, low=low, high=high, kind="integer")
    if isinstance(spec, Spec):
        return with_missing(spec, missing)
    try:
        return with_missing(Spec(spec), missing)
    except ShapeMismatchError as error:
        raise ShapeMismatchError(
            "cannot compile: expected of each argument its shape, which is a tuple of whole "
            f"numbers from 1 on, a cloakwork.Spec, or an array as a sample, got {shown(spec)}; "
            "make an array of numbers, as by numpy.asarray(numbers), sparse.toarray() or "
            "lazy.collect()"
        ) from error
