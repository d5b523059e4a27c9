"""Random programs of every family, any of which follows another, and what rows of them compute."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import cloakwork as cw
from cloakwork.frontends.boolean.circuit import Circuit
from cloakwork.programs.gates import ARITIES, GateBuilder, GateKind
from cloakwork.programs.port import Port
from cloakwork.runtime.leaving import Leaving, border, range_of
from tests.frontends.circuit.random_functions import RandomFunction
from tests.frontends.nn.random_networks import POLYNOMIALS
from tests.frontends.tensors.random_functions import FunctionWriter

SAMPLES = 32
Given = dict[str, Any]


@dataclass(frozen=True)
class Before:
    """The result that a program follows.

    Args:
        program: What makes it.
        result: Its name.
        values: What it may be, for each of the samples.
    """

    program: cw.Program
    result: str
    values: list[Any]

    @property
    def taken(self) -> Any:
        """The result as the next compile takes it."""
        return cw.result(self.program, self.result)

    @property
    def numbers(self) -> str:
        """What it is over."""
        port = next(each for each in self.program.outputs if each.name == self.result)
        return {"real": "reals", "integer": "integers"}.get(port.kind, "bits")


@dataclass(frozen=True)
class Step:
    """A program of a row.

    Args:
        program: It, as compiled.
        result: The name of the result that goes on.
        meaning: What that is, of a result before, where there is one, and of the inputs.
        given: Its inputs that are encrypted, for each of the samples.
    """

    program: cw.Program
    result: str
    meaning: Callable[..., Any]
    given: list[Given]


Maker = Callable[[np.random.Generator, Before | None, Mapping[str, Any]], Step]


def repeated(draw: Callable[[], Given]) -> list[Given]:
    return [draw() for _ in range(SAMPLES)]


def tensors(rng: np.random.Generator, before: Before | None, options: Mapping[str, Any]) -> Step:
    """A function of one tensor, as the tests of functions write them."""
    writer = FunctionWriter(rng)
    source = f"def f(x): return {writer.expression(1)} + {writer.expression(1)}"
    made: dict[str, Any] = {"np": np, "cw": cw}
    exec(compile(source, "<function of a row>", "exec"), made)
    function = made["f"]
    shape = ((4,), (2, 3), (3, 4))[rng.integers(3)]
    argument = cw.Spec(shape) if before is None else before.taken
    program = cw.compile(function, argument, precision=10, bootstrap=False, **options)
    given = repeated(lambda: {"x": rng.uniform(-1, 1, shape)} if before is None else {})
    return Step(program, "result", function, given)


def products(rng: np.random.Generator, before: Before | None, options: Mapping[str, Any]) -> Step:
    """A product of two matrices, in blocks where it is the first."""
    rows, inner, columns = (int(each) for each in rng.integers(1, 7, 3))
    forms: tuple[Callable[[Any, Any], Any], ...] = (
        lambda a, b: a @ b,
        lambda a, b: (a @ b) ** 2,
        lambda a, b: (a @ b / 4).reshape(-1),
        lambda a, b: (a @ b).T[::-1],
    )
    form = forms[rng.integers(4)]
    if before is None:
        shapes = {"a": (rows, inner), "b": (inner, columns)}
        function, arguments = form, []
    else:
        shape = np.shape(before.values[0])
        shapes = {"b": (shape[-1] if shape else 1, columns)}

        def function(a: Any, b: Any) -> Any:
            return form(a if len(shape) == 2 else a.reshape(1, -1), b)

        arguments = [before.taken]
    specs = [cw.Spec(each, bound=0.5) for each in shapes.values()]
    program = cw.compile(function, *arguments, *specs, precision=10, bootstrap=False, **options)

    def draw() -> Given:
        return {name: rng.uniform(-0.5, 0.5, each) for name, each in shapes.items()}

    return Step(program, "result", function, repeated(draw))


def networks(rng: np.random.Generator, before: Before | None, options: Mapping[str, Any]) -> Step:
    """Two dense layers and an activation."""
    activations = (*POLYNOMIALS, torch.nn.SiLU, torch.nn.Tanh, torch.nn.Sigmoid)
    torch.manual_seed(int(rng.integers(1 << 30)))
    given = repeated(lambda: {"input": rng.uniform(-1, 1, 6)} if before is None else {})
    samples = np.array([each["input"] for each in given] if before is None else before.values)
    size = samples[0].size
    between, last = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    layers = (
        *([torch.nn.Flatten()] if samples.ndim != 2 else []),
        torch.nn.Linear(size, between),
        activations[rng.integers(len(activations))](),
        torch.nn.Linear(between, last),
    )
    module = torch.nn.Sequential(*layers).double().eval()
    after = {} if before is None else {"input": before.taken}
    program = cw.nn.compile(module, samples, precision=10, after=after, bootstrap=False, **options)

    def meaning(*given: Any, **own: Any) -> Any:
        (x,) = (*given, *own.values())
        with torch.no_grad():
            return module(torch.tensor(np.array(x, dtype=np.float64))[None])[0].numpy()

    return Step(program, "result", meaning, given)


def circuits(rng: np.random.Generator, before: Before | None, options: Mapping[str, Any]) -> Step:
    """Sums and products of integers, as a matrix."""
    rows, columns = np.shape(before.values[0]) if before else (int(rng.integers(1, 4)), 2)
    length, steps = rows * columns, []
    for number in range(max(int(rng.integers(2, 8)), 4 - length)):
        # Products of what was given alone: their numbers stay short.
        kind, count = int(rng.integers(3)), length + number
        most = length if kind == 2 else count
        left, right = (int(each) for each in rng.integers(most, size=2))
        steps.append((kind, left, right if rng.random() < 0.8 else None, int(rng.integers(-3, 4))))
    shape = int(rng.integers(1, 3)), int(rng.integers(1, 3))
    # A number stands in a result once.
    last = length + len(steps) - 1
    results = rng.choice(last, size=shape[0] * shape[1] - 1, replace=False)
    computed = RandomFunction(length, tuple(steps), (*results.tolist(), last))

    def function(m: Any) -> Any:
        flat = [m[row, column] for row in range(rows) for column in range(columns)]
        found = computed(flat)
        return [found[row * shape[1] : (row + 1) * shape[1]] for row in range(shape[0])]

    declared = cw.matrix(rows, columns) if before else cw.matrix(rows, columns, bits=4)
    after = {"m": before.taken} if before else {}
    bits = 40 if before else 16
    made = cw.circuit(m=declared)(function)
    program = made.compile(bits=bits, effort=0.1, after=after, **options)
    given = repeated(lambda: {} if before else {"m": rng.integers(-8, 8, (rows, columns))})

    def meaning(m: Any) -> Any:
        # Of Python's integers, which are as long as need be.
        return np.array(function(np.asarray(m, dtype=object)), dtype=object)

    return Step(program, "result", meaning, given)


def whole_products(
    rng: np.random.Generator, before: Before | None, options: Mapping[str, Any]
) -> Step:
    """A product of two matrices of integers."""
    rows, inner, columns = (int(each) for each in rng.integers(1, 5, 3))
    if before is None:
        shapes = {"a": (rows, inner), "b": (inner, columns)}
    else:
        shapes = {"b": (np.shape(before.values[0])[1], columns)}

    def function(a: Any, b: Any) -> Any:
        return a @ b

    specs = [cw.Spec(each, bound=5, kind="integer") for each in shapes.values()]
    program = cw.compile(function, *([before.taken] if before else []), *specs, **options)

    def draw() -> Given:
        return {name: rng.integers(-5, 6, each) for name, each in shapes.items()}

    return Step(program, "result", function, repeated(draw))


def random_circuit(
    rng: random.Random, inputs: tuple[Port, ...], made: Port, most: int = 25
) -> Circuit:
    """Gates of all kinds."""
    builder = GateBuilder("random", inputs)
    for _ in range(rng.randint(1, most)):
        kind = rng.choice(list(GateKind))
        operands = [rng.randrange(len(builder)) for _ in range(int(ARITIES[kind]))]
        table = rng.getrandbits(1 << len(operands)) if kind >= GateKind.LUT1 else 0
        builder.append(kind, *operands, table=table)
    builder.output(made, [rng.randrange(len(builder)) for _ in range(made.bits)])
    return Circuit(builder.finish())


def made_port(rng: np.random.Generator) -> Port:
    """What random gates make: bits, or numbers up to 4."""
    count = int(rng.integers(1, 5))
    return (
        Port("y", "bits", count),
        Port("y", "unsigned", 2, shape=(count,)),
        Port("y", "signed", 3, shape=(count,), fraction=1),
    )[rng.integers(3)]


def gates(rng: np.random.Generator, before: Before | None, _: Mapping[str, Any]) -> Step:
    """Random gates on bits, or what `cloakwork.boolean` decides on numbers."""
    own = random.Random(int(rng.integers(1 << 30)))
    if before is None:
        circuit = random_circuit(own, (Port("a", "bits", 4),), made_port(rng))
        return of_bits(circuit, {}, repeated(lambda: {"a": rng.integers(0, 2, 4)}))
    port = taken_port(before)
    # Decisions are on vectors.
    is_vector = port.kind != "bits" and len(port.shape) == 1
    circuit = (
        (
            lambda: cw.boolean.above(port, float(np.ldexp(rng.integers(4), -port.fraction))),
            lambda: cw.boolean.argmax(port),
            lambda: random_circuit(own, (port, Port("b", "bits", 2)), made_port(rng)),
        )[rng.integers(0 if is_vector and port.shape[0] > 1 else 2, 3)]
    )()
    further = repeated(
        lambda: {"b": rng.integers(0, 2, 2)} if len(circuit.gates.inputs) > 1 else {}
    )
    return of_bits(circuit, {"v": before.taken}, further)


def taken_port(before: Before) -> Port:
    """The input over bits that a result is."""
    given = next(each for each in before.program.outputs if each.name == before.result)
    if before.numbers == "bits":
        return Port("v", given.kind, given.width, given.shape, fraction=given.fraction)
    low, high = range_of(before.program, given)
    reach = max(abs(low), abs(high), 2.0**-3)
    whole = int(np.ceil(np.log2(reach + 0.5))) + 1
    if before.numbers == "integers":
        return Port("v", "signed", max(1, whole), given.shape)
    return Port("v", "signed", whole + 4, given.shape, fraction=4)


def of_bits(circuit: Circuit, after: Mapping[str, Any], given: list[Given]) -> Step:
    program = circuit.compile(threads=1, after=after)
    result = program.outputs[-1].name

    def meaning(*before: Any, **inputs: Any) -> Any:
        return circuit.run_clear(**dict(zip(after, before, strict=True)), **inputs)[result]

    return Step(program, result, meaning, given)


FAMILIES: dict[str, Maker] = {
    "tensors": tensors,
    "products": products,
    "networks": networks,
    "circuits": circuits,
    "whole products": whole_products,
    "gates": gates,
}


@dataclass(frozen=True)
class Row:
    """Programs in a row.

    Args:
        steps: They.
        programs: They as `cloakwork.together` gives them.
    """

    steps: list[Step]
    programs: list[cw.Program]

    def possible(self, sample: int) -> list[Any]:
        """The results that the last program may have: several where numbers may round either way.

        Args:
            sample: Of which of the samples.
        """
        found: list[list[Any]] = [[]]
        for number, step in enumerate(self.steps):
            links = self.programs[number].after
            of_link = [_rounded(self.programs[number], each) for each in links]
            ways = of_link[0] if of_link else (lambda value: [value])
            found = [
                [step.meaning(*one, **step.given[sample])]
                for before in found
                for one in ([[each] for each in ways(before[0])] if before else [[]])
            ]
        return [value for (value,) in found]


def _rounded(program: cw.Program, link: Any) -> Callable[[Any], list[Any]]:
    """What a result may be where it is an input: numbers near a border round either way."""
    if not isinstance(link, Leaving):
        return lambda value: [value]
    port = link.port(program)
    if link.result_port.kind == "integer":
        return lambda value: [np.asarray(value).astype(np.int64)]
    off, scale = border(program, link), 2.0**port.fraction

    def ways(value: Any) -> list[Any]:
        flat = np.ravel(value)
        choices = [
            sorted({round((each - off) * scale), round((each + off) * scale)}) for each in flat
        ]
        return [
            np.array(chosen).reshape(np.shape(value)) / scale
            for chosen in itertools.product(*choices)
        ]

    return ways


def random_row(seed: int, families: tuple[str, ...]) -> Row:
    """A row of random programs of these families, in small rings where there are any."""
    rng = np.random.default_rng([29, seed])
    # A secret key of bits takes 2^11 slots.
    options = {"log_n": 12 if "gates" in families[:-1] else 11, "insecure": True}
    steps: list[Step] = []
    before: Before | None = None
    for family in families:
        # What follows integers is in their ring.
        own = dict(options)
        if before is not None and before.numbers == "integers":
            del own["log_n"]
        step = FAMILIES[family](rng, before, own)
        values = [
            step.meaning(*([] if before is None else [before.values[sample]]), **given)
            for sample, given in enumerate(step.given)
        ]
        before = Before(step.program, step.result, values)
        steps.append(step)
    programs = cw.together(*(step.program for step in steps))
    return Row(steps, list(programs))
