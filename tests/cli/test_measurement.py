"""What a program takes, measured by `cloakwork bench`."""

from __future__ import annotations

import cloakwork as cw
from cloakwork.cli.measurement import measured_runs


def test_programs_that_keep_state_are_measured_at_their_first_step() -> None:
    program = cw.compile(
        lambda total, x: total + x,
        cw.state((4,), 0.5, bound=9, steps=2),
        (4,),
        log_n=10,
        insecure=True,
    )
    lines = measured_runs(program, 4, None).splitlines()
    assert lines[0].startswith("Program(<lambda>: total, x -> result;")
    assert float(lines[-1].split(" by up to ")[1].split()[0]) < 2.0**-20
