"""What noise does to results, by the program alone."""

from __future__ import annotations

from cloakwork._native import Parameters
from cloakwork.programs.slots import Add, Input, Output, SlotProgram
from cloakwork.runtime.executor import estimated_results
from cloakwork.schemes.ckks import Ckks


def test_results_are_bounded_by_the_bounds_of_inputs() -> None:
    program = SlotProgram("x+x", 512, (Input("x", 0), Add(0, 0), Output(1)), (None,) * 3)
    scheme = Ckks(Parameters(levels=0, log_n=10, insecure=True))
    assert estimated_results(scheme, program, [1.0])[0][0].bound == 2.0
