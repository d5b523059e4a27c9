"""PyTorch networks on encrypted inputs: `compile` makes a program of a trained module."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from cloakwork._native import Parameters
from cloakwork.base.frames import columns_of
from cloakwork.base.progress import announced_steps
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import MissingDependencyError
from cloakwork.frontends.nn.capture import captured
from cloakwork.frontends.nn.embedded import embedded_samples
from cloakwork.frontends.nn.given_module import module_given, title_of
from cloakwork.frontends.nn.kept import kept
from cloakwork.frontends.nn.known_inputs import with_known_inputs
from cloakwork.frontends.nn.module_ports import module_inputs
from cloakwork.frontends.nn.required_module import results_of_module
from cloakwork.frontends.nn.results import following_results
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.runtime.lookup import Lookup
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import require_agreement

if TYPE_CHECKING:
    import torch
    from torch.export import ExportedProgram

_PACKAGES = "scipy", "threadpoolctl"
_INPUTS = 2


@names_memory("compile")
def compile(
    module: torch.nn.Module | str | os.PathLike[str] | ExportedProgram,
    sample: Any,
    calibration: Any = None,
    *,
    precision: int = 16,
    batch: int | Literal["throughput"] = 1,
    margin: float = MARGIN,
    degrees: Mapping[str, int] | None = None,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    public_inputs: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
    bootstrap: bool | None = None,
    cache: str | os.PathLike[str] | None = None,
    after: Mapping[str, Any] = MappingProxyType({}),
    known: Mapping[str, Any] = MappingProxyType({}),
) -> Program:
    """Make a program of a trained network that runs on encrypted inputs.

    Between two nonlinear layers there is one product with a sparse clear matrix. The packings of
    all layers are chosen together by cost (Orion: Ebel, Garimella, Reagen, ASPLOS 2025). The ring
    is the cheapest that is secure, the scale the least that keeps the precision on the calibration
    data.

    Inputs have the names of the parameters of `forward`. Words, whole numbers that choose rows of
    an Embedding, are looked up by whoever encrypts, by `cloakwork.nn.lookup`; what that makes is
    the input `embedded`. A single result is named `result`, the
    results of a tuple `result 1`, `result 2` and so on, those of a dict or a namedtuple by its
    keys or fields.

    Args:
        module: The network, in eval mode; or the path of an ONNX model or of an archive of
            torch.export, which end in .onnx and .pt2, or what these hold.
        sample: A batch of inputs, the batch along the first axis; for several inputs a tuple of
            batches, or a dict by the names of the parameters of `forward`.
        calibration: Inputs such as the network is to be run on, which the ranges of inputs and
            activations follow from; by default the sample. An array, a tensor or nested lists; for
            several inputs a tuple of these or a dict by name; or an iterable of such batches, read
            to its end, such as a DataLoader: labels after the inputs are left out.
        precision: Bits after the binary point that results should have on the calibration data:
            noise stays below, and so do the errors of polynomials, where there are any as close to
            activations.
        batch: How many inputs go in at once, packed into the same ciphertexts: one in each slot
            where they are so many. With `throughput`, as many as cost least each, which is
            `program.batch`.
        margin: By how much inputs and activations may exceed the calibration data, as a part of
            half the width of their range; above 0.
        degrees: Degrees of activations, by the name of a layer or a function, instead of those
            that the precision asks for.
        key_budget: Bytes for all evaluation keys; the fewer, the more rotations.
        log_n: Base-2 logarithm of the ring degree; by default the cheapest.
        insecure: Whether parameters below 128-bit security are allowed, for tests.
        public_inputs: Whether inputs may be encrypted by a public key, which has more noise and so
            may take larger parameters; see `Client.public_key`.
        costs: What operations cost under given parameters, by default a model.
        bootstrap: Whether values may be refreshed on the way, where that costs least. By default
            they are where no chain is as long as the network is deep; True takes parameters with
            levels for it even so, False refuses a network that is deeper.
        cache: A folder where programs are kept: the same network, samples and options are not
            planned again. It is yours: whoever writes there decides on what is loaded.
        after: Results of other programs over reals, by the names of the inputs that they are; see
            `cloakwork.result`. Samples of such an input are what `run_clear` of the other program
            gives. That ranges of layers hold for all results is then yours to know: no client sees
            the inputs of both programs.
        known: Further arguments of `forward` by name, which everybody knows: an attention mask of
            a padding, position ids, `use_cache=False`. A tensor has the batch as its first axis,
            and the same for every input.

    Raises:
        PlanMismatchError: The plan computes something else than the module.
        MissingDependencyError: PyTorch, SciPy, threadpoolctl, or onnx for its models, is not
            installed.
        FileMissingError: There is no file of the module's path.
        MalformedBytesError: The file is not an ONNX model.
        UnsupportedLayerError: A layer cannot be computed on encrypted numbers.
        TrainingModeError: A layer is in training mode.
        CaptureError: The module does not take the sample, torch.export cannot follow the module,
            or a result does not depend on the inputs alone.
        NotFiniteError: Weights, samples or the numbers of a layer are NaN or infinite.
        NotRealError: Weights or samples are not real numbers.
        InputNameError: Samples lack an input.
        ShapeMismatchError: The calibration data are not inputs of the network's shapes.
        ActivationFitError: No polynomial of an activation is as precise.
        LevelExhaustedError: The network is too deep and may not bootstrap, or a layer takes more
            levels than a bootstrap leaves; the message names the layer.
        InvalidParametersError: No parameters have the precision, or the headroom for numbers as
            large as a layer makes; the message names the layer.
        InsecureParametersError: Those of the ring asked for fall short of 128-bit security.
        BoundOverflowError: Powers of a layer's numbers outgrow the moduli.
        KeyBudgetError: The fewest keys that will do take more than the budget.
        InvalidArgumentError: An option has a value that it does not take, or the batch does not
            fit a ciphertext; or programs are to be kept in what is no path, or with other costs.
        StorageFullError: There is no space left in the cache.
        FileAccessError: The cache cannot be made or written.

    Example:
        >>> import pytest
        >>> torch = pytest.importorskip("torch")
        >>> class Distance(torch.nn.Module):
        ...     def forward(self, left, right):
        ...         return ((left - right) ** 2).sum(1, keepdim=True)
        >>> ends = torch.tensor([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
        >>> program = compile(Distance().eval(), (ends, ends.flip(0)))
        >>> [port.name for port in program.inputs + program.outputs]
        ['left', 'right', 'result']
        >>> found = program.run(left=[0.5, 0.25, 0.0], right=[0.0, 0.25, 1.0])
        >>> found.round(3).tolist()
        [1.25]
    """
    require_packages()
    # Only compiling a network takes them; running one does not.
    from cloakwork.plan.networks.compile_graph import STEPS, compile_graph  # noqa: PLC0415

    options = NetworkOptions(
        title=title_of(module),
        precision=precision,
        batch=batch,
        margin=margin,
        degrees=degrees,
        key_budget=key_budget,
        log_n=log_n,
        insecure=insecure,
        public_inputs=public_inputs,
        costs=costs,
        bootstrap=bootstrap,
    )
    samples = sample if calibration is None else calibration
    steps = 1 + STEPS + len(options.rings)
    with announced_steps(f"compiling {options.title}", total=steps) as announce:
        announce("reading the module")
        module = module_given(module)
        module = with_known_inputs(module, known)
        graph, look_up = captured(module, sample)
        if look_up is not None:
            samples = embedded_samples(look_up, samples)
        names = [each.name for each in graph.inputs]
        results, options = following_results(after, names, options)

        def make(given: Any) -> Program:
            program = compile_graph(graph, given, options, announce, results)
            require_module(program, module, sample, look_up)
            return program

        # What is kept says nothing of the programs that a network follows.
        if cache is None or results:
            return _with_columns(make(samples), sample)
        return _with_columns(kept(cache, graph, samples, options, make), sample)


def _with_columns(program: Program, sample: Any) -> Program:
    """A program that knows the names of the columns of frames that it was compiled with."""
    given = [sample]
    if isinstance(sample, Mapping):
        given = [sample.get(port.name) for port in program.inputs]
    elif isinstance(sample, tuple | list):
        given = [*sample]
    columns = [*map(columns_of, given)]
    if not any(columns) or len(given) != len(program.inputs):
        return program
    inputs = zip(program.inputs, columns, strict=True)
    ports = tuple(replace(port, columns=each) for port, each in inputs)
    packing = replace(program.packing, inputs=ports)  # type: ignore[type-var]
    return replace(program, packing=packing)


def require_packages() -> None:
    """Refuse to compile a network without the packages that it takes."""
    for package in _PACKAGES:
        if find_spec(package) is None:
            raise MissingDependencyError(
                f"cannot compile a network: it takes {package}, which is not installed; install "
                "it by pip install 'cloakwork[torch]'"
            )


def require_module(
    program: Program, module: torch.nn.Module, sample: Any, look_up: Lookup | None = None
) -> None:
    """Refuse the program of a network that in the clear gives other numbers than its module.

    Raises:
        PlanMismatchError: Results are off by more than is stated, and than the module's own type
            of numbers rounds.
    """
    import torch  # noqa: PLC0415

    inputs = module_inputs(module, sample)
    # Of the whole sample: a module may take batches of one size alone.
    made = [each[:_INPUTS].double().numpy() for each in results_of_module(module, inputs)]
    largest = max((float(np.abs(each).max(initial=0.0)) for each in made), default=0.0)
    rounding = torch.finfo(inputs.dtype).eps ** 0.5 * largest
    first = [batch[:_INPUTS] for batch in inputs.batches]
    taken = [each.double().numpy() for each in first] if look_up is None else [look_up(*first)]
    given = {port.name: batch for port, batch in zip(program.inputs, taken, strict=True)}

    def meaning(_given: Mapping[str, Any]) -> Any:
        return made

    require_agreement(program, meaning, (program.error or 0.0) + rounding, [given])
