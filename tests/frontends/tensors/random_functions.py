"""Random functions of one tensor as people write them: values dropped, expressions used again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import cloakwork as cw

_SMOOTH = ("np.tanh", "np.sin", "np.cos", "np.arctan", "np.exp", "cw.sigmoid", "cw.softmax")
_CORNERS = ("np.abs", "cw.relu")
_PAIRS = ("np.maximum", "np.minimum")
# How often something with a corner is taken: two in one another are rarely near enough.
_CORNERED = 0.2


@dataclass
class FunctionWriter:
    """Writes the lines of a function of `x`, a vector.

    Args:
        random: What chooses.
    """

    random: np.random.Generator
    lines: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=lambda: ["x"])

    def written(self) -> str:
        """The source of a function `f`."""
        for number in range(self.random.integers(1, 4)):
            self.lines.append(f"t{number} = {self.expression(1)}")
            self.names.append(f"t{number}")
        body = [*self.lines, f"return {self.expression(2)} + {self.names[-1]}"]
        return "def f(x):\n" + "".join(f"    {line}\n" for line in body)

    def expression(self, depth: int) -> str:
        """An expression, parts of which may stand in it twice."""
        if depth == 0 or self.random.random() < 0.15:
            return self.leaf()
        one, other = self.expression(depth - 1), self.expression(depth - 1)
        number = round(float(self.random.uniform(0.1, 0.9)), 2)
        if self.random.random() < _CORNERED:
            corners = (
                f"{self.of(_CORNERS)}({one} - {number})",
                f"{self.of(_PAIRS)}({one}, {number} * {other})",
                f"np.where({one} - {number} > 0, {one} - {number}, {other})",
                f"np.where({one} > {number}, {number}, {one})",
                f"np.clip({one}, -{number}, {number})",
            )
            return self.of(corners)
        smooth = (
            f"({one} + {other})",
            f"({one} - {number} * {other})",
            f"({one} + {one} - {other})",
            f"({one}) * ({one} + {number})",
            f"{self.of(_SMOOTH)}({number} * ({one}))",
            f"{self.of(_SMOOTH)}({one} - {number})",
            f"({one} + {other})[::-1]",
            f"{number} * x * ({one}).mean()",
            f"({one} - x) * np.var({other})",
        )
        return self.of(smooth)

    def leaf(self) -> str:
        """A value that there is."""
        return self.of(self.names)

    def of(self, names: Any) -> str:
        """One of some names."""
        return str(names[self.random.integers(len(names))])


def random_function(seed: int) -> tuple[str, Callable[..., Any]]:
    """A function's source, and the function."""
    source = FunctionWriter(np.random.default_rng(seed)).written()
    made: dict[str, Any] = {"np": np, "cw": cw}
    exec(compile(source, f"<function {seed}>", "exec"), made)
    return source, made["f"]
