"""Functions of encrypted tensors compiled: all steps planned together, run any number of times."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cloakwork._native import Parameters
from cloakwork.base.arguments import shown
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.self_check import require_function
from cloakwork.frontends.tensors.tracing import traced
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.pipeline import tensor_program
from cloakwork.programs.spec import Spec
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.runtime.program import Program
from cloakwork.schemes.device.devices import CPU, device_name, open_device


@names_memory("compile")
def compile(
    function: Callable[..., Any],
    *specs: Spec | tuple[int, ...],
    precision: int = 20,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    public_inputs: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
    bootstrap: bool | None = None,
    device: str = CPU,
) -> Program:
    """Plan a function of encrypted tensors as one program.

    The function is run once on stand-ins, and then on a few arrays in their ranges, with which the
    plan is compared as long as that takes no more than a second or so. A function that raises an
    exception for arrays, such as one with methods that arrays lack, is not run in this comparison:
    its plan is compared with the operations that it asked of the stand-ins.

    Inputs are packed as the plan needs them, layouts are chosen across all steps, levels are as low
    as they can be, and the parameters are the cheapest that are secure.

    Args:
        function: A function of tensors that returns a tensor or a tuple of tensors. It may
            use einsum, the methods of tensors, and clear arrays.
        specs: Shape, or shape and bound, of each argument.
        precision: Bits after the binary point that results should have.
        key_budget: Bytes for all evaluation keys; the fewer, the more rotations.
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

    Raises:
        InvalidParametersError: No parameters have the depth and precision that are needed.
        InsecureParametersError: Those of the ring asked for fall short of 128-bit security.
        KeyBudgetError: The fewest keys that will do take more than the budget.
        InvalidArgumentError: The function does not take or return tensors as it should, or has a
            `compile` of its own, or `costs` is not a function.
        ShapeMismatchError: Shapes do not fit.
        DeviceUnavailableError: The device, or what it takes, is missing.
        DeviceOperationError: The function cannot be planned without operations that devices lack.
        PlanMismatchError: The plan computes something else than the function, or results of
            another number or shape.

    Example:
        >>> import numpy as np
        >>> import cloakwork as cw
        >>> p = cw.compile(lambda a, b: (a @ b).sum(axis=0), (4, 8), (8, 2))
        >>> a, b = np.ones((4, 8)), np.ones((8, 2))
        >>> bool(np.allclose(p.run(a, b), 32, atol=1e-4))
        True
    """
    if type(function).__module__.startswith("cloakwork.") and hasattr(function, "compile"):
        raise InvalidArgumentError(
            f"cannot compile: expected a function of tensors, got {shown(function)}; circuits "
            "have a method of their own, compile(bits=) over integers and compile() over bits"
        )
    options = RealOptions(
        title=getattr(function, "__name__", "function"),
        precision=precision,
        key_budget=key_budget,
        log_n=log_n,
        insecure=insecure,
        public_inputs=public_inputs,
        costs=costs,
        bootstrap=bootstrap,
    )
    if device_name(device, "compile") != CPU:
        # A device that is not there is refused before anything is planned.
        open_device(device)
    graph = traced(function, [each if isinstance(each, Spec) else Spec(each) for each in specs])
    program = tensor_program(graph, options, device)
    require_function(program, function, graph, options.precision)
    return program
