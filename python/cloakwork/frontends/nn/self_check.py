"""What a compiled network should give: the module itself, on a few inputs of the sample."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork.frontends.nn.module_ports import module_inputs
from cloakwork.frontends.nn.same_results import results_of
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import require_agreement

if TYPE_CHECKING:
    import torch

_INPUTS = 2


def require_module(program: Program, module: torch.nn.Module, sample: Any) -> None:
    """Refuse the program of a network that in the clear gives other numbers than its module.

    Raises:
        PlanMismatchError: Results are off by more than is stated, and than the module's own type
            of numbers rounds.
    """
    import torch  # noqa: PLC0415

    inputs = module_inputs(module, sample)
    # Of the whole sample: a module may take batches of one size alone.
    made = [each[:_INPUTS].double().numpy() for each in results_of(module, inputs)]
    largest = max((float(np.abs(each).max(initial=0.0)) for each in made), default=0.0)
    rounding = torch.finfo(inputs.dtype).eps ** 0.5 * largest
    given = {
        port.name: batch[:_INPUTS].double().numpy()
        for port, batch in zip(program.inputs, inputs.batches, strict=True)
    }

    def meaning(_given: Mapping[str, Any]) -> Any:
        return made

    require_agreement(program, meaning, (program.error or 0.0) + rounding, [given])
