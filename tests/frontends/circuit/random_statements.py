"""Random functions of statements: Python's text, run as it is and as a circuit."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from random import Random
from typing import Any

LENGTH = 4
_NAMES = ("a", "b", "c")
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def random_statements(random: Random) -> tuple[str, Callable[[Any], Any]]:
    """The text of a function of a vector v, and the function."""
    text = "\n".join(["def drawn(v):", "    a, b, c = 0, v[0], v[1]", *_Writer(random).lines()])
    name = f"<drawn {abs(hash(text))}>"
    linecache.cache[name] = (len(text), None, [f"{line}\n" for line in text.split("\n")], name)
    made: dict[str, Any] = {}
    exec(compile(text, name, "exec"), made)
    return text, made["drawn"]


class _Writer:
    def __init__(self, random: Random) -> None:
        self._random = random
        self._left = random.randint(3, 8)

    def lines(self) -> list[str]:
        return [*self._block(1, 0), "    return [a, b, c]"]

    def _block(self, depth: int, loops: int) -> list[str]:
        made: list[str] = []
        for _ in range(self._random.randint(1, 3)):
            made += self._statement(depth, loops)
        return made

    def _statement(self, depth: int, loops: int) -> list[str]:
        self._left -= 1
        margin = "    " * depth
        kinds = ["assign", "augment", "pair"]
        if self._left > 0 and depth < 4:
            kinds += ["if", "if", "else", "elif"]
            if loops < 2:
                kinds += ["for", "for else"]
        if depth > 1:
            kinds += ["return"] + ["break", "continue"] * (loops > 0)
        match self._random.choice(kinds):
            case "assign":
                return [f"{margin}{self._name()} = {self._value(loops)}"]
            case "augment":
                sign = self._random.choice("+-")
                return [f"{margin}{self._name()} {sign}= {self._value(loops)}"]
            case "pair":
                return [f"{margin}a, b = b, {self._value(loops)}"]
            case "if":
                return [f"{margin}if {self._test(loops)}:", *self._block(depth + 1, loops)]
            case "else":
                return [
                    f"{margin}if {self._test(loops)}:",
                    *self._block(depth + 1, loops),
                    f"{margin}else:",
                    *self._block(depth + 1, loops),
                ]
            case "elif":
                return [
                    f"{margin}if {self._test(loops)}:",
                    *self._block(depth + 1, loops),
                    f"{margin}elif {self._test(loops)}:",
                    *self._block(depth + 1, loops),
                ]
            case "for":
                return self._for(depth, loops)
            case "for else":
                return [*self._for(depth, loops), f"{margin}else:", f"{margin}    c = c - 1"]
            case "return":
                return [f"{margin}return [{self._value(loops)}, b, {self._value(loops)}]"]
            case other:
                return [f"{margin}{other}"]

    def _for(self, depth: int, loops: int) -> list[str]:
        index = f"i{loops}"
        head = f"{'    ' * depth}for {index} in range({self._random.randint(2, 3)}):"
        return [head, *self._block(depth + 1, loops + 1)]

    def _name(self) -> str:
        return self._random.choice(_NAMES)

    def _value(self, loops: int) -> str:
        choices = [
            *_NAMES,
            f"v[{self._random.randrange(LENGTH)}]",
            str(self._random.randint(-3, 3)),
        ]
        if loops:
            choices += [f"v[i{loops - 1}]", f"i{loops - 1}"]
        return self._random.choice(choices)

    def _test(self, loops: int) -> str:
        comparison = self._random.choice(_COMPARISONS)
        return f"{self._value(loops)} {comparison} {self._value(loops)}"
