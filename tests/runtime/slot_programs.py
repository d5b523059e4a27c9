"""Random legal slot programs."""

import numpy as np
from hypothesis import strategies as st

from cloakwork.errors import InvalidProgramError
from cloakwork.programs.slots import (
    Add,
    Builder,
    Constant,
    DropLevel,
    Input,
    Linear,
    Mul,
    Neg,
    Operation,
    Output,
    Rescale,
    Rotate,
    SlotProgram,
    Sub,
)


@st.composite
def programs(draw: st.DrawFn, *, slots: int, level: int, longest: int = 40) -> SlotProgram:
    """A program with two inputs at a level, shapes of its graph and its outputs at random."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    builder = Builder("a random program", slots)
    values = [builder.append(Input(name, level)) for name in "xy"]
    constant = builder.append(Constant(rng.uniform(-1, 1, slots)))
    diagonals = {d: rng.uniform(-1, 1, slots) for d in (0, 1, 3)}
    for _ in range(draw(st.integers(1, longest))):
        # Late values are likelier, which makes programs deep as well as wide.
        a, b = (values[int(len(values) * rng.uniform() ** 0.5)] for _ in range(2))
        choices: list[Operation] = [
            Add(a, b),
            Sub(a, b),
            Mul(a, b),
            Add(a, constant),
            Sub(constant, a),
            Mul(a, constant),
            Neg(a),
            Rotate(a, int(rng.integers(1, 4))),
            Rotate(a, int(rng.integers(1, 4))),
            Linear(a, diagonals, 2),
            Rescale(a),
            DropLevel(a, int(rng.integers(level))),
            Output(a),
        ]
        try:
            values.append(builder.append(choices[rng.integers(len(choices))]))
        except InvalidProgramError:
            continue
    for value in values[-3:]:
        try:
            builder.append(Output(value))
        except InvalidProgramError:
            builder.append(Output(builder.append(Rescale(value))))
    return builder.finish()
