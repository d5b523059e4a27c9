"""How far the results of a step that is repeated are off after its last time.

Two ways to follow errors are taken. Bounds of what a step does to the errors of its state hold for
all inputs, and say nothing where they grow with every step though errors do not: a step of gradient
descent shrinks them, and no bound of single numbers shows that. So errors are drawn as well: those
of a step as its operations are simulated, those of the steps together as the step itself carries
them on, of numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from cloakwork.frontends.tensors.result import RepeatedSpec
from cloakwork.frontends.tensors.self_check import is_meant
from cloakwork.plan.functions.approximate import EXACT_BITS
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.intervals import intervals_of, of_spec
from cloakwork.plan.reals.expected import ROUGH
from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.layers import Array
from cloakwork.programs.ir.tensors import Apply, Source, TensorFunction
from cloakwork.programs.packing.results import arrays_in
from cloakwork.programs.slots import SlotProgram
from cloakwork.programs.spec import PlacedSpec
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import drawn
from cloakwork.runtime.simulate import results
from cloakwork.schemes.ckks_noise import NoiseModel

# Inputs that errors are drawn for, and that are tried for them.
_INPUTS, _TRIED = 2, 6
# Draws of the errors of one step, and of all steps together.
_OF_A_STEP, _OF_ALL = 2, 4
# How likely any result of a run may have a larger error than is stated.
_EXCESS = 2.0**-20


def has_functions(graph: TensorFunction) -> bool:
    """Whether results are off by more than noise: by functions, or as earlier results are."""
    is_off = any(isinstance(each, PlacedSpec) and each.error for each in graph.specs)
    return is_off or any(isinstance(each, Apply) for each in in_order(graph.results))


def samples_of_steps(graph: TensorFunction) -> tuple[Mapping[Source, Array], ...]:
    """Arguments of the first step and of the last, where there are samples of these."""
    spec = next(each for each in graph.specs if isinstance(each, RepeatedSpec))
    found: list[Mapping[Source, Array]] = []
    for sample in spec.samples[:_INPUTS]:
        first = {
            each: np.asarray(sample[each.name], np.float64)
            for each in graph.sources
            if each.name in sample
        }
        if len(first) < len(graph.sources):
            return ()
        taken = first
        for _ in range(spec.times - 1):
            exact = values_of(graph.results, taken)
            taken = _following(graph, taken, [exact[each] for each in graph.results])
        found += [first, taken]
    return tuple(found)


def largest_error(program: Program, graph: TensorFunction, noise: float) -> float:
    """How far results may be off after the last step, whatever the inputs are.

    Of sums and products as the noise of ciphertexts is followed through all steps. With functions a
    step adds what it is off by, and takes what came to it as intervals do.

    Args:
        program: The program.
        graph: What a step computes.
        noise: How far the results of a step may be off by noise as it was planned.
    """
    # What earlier results are off by is in the intervals.
    alone = replace(program, after=())
    if not has_functions(graph):
        return _noise(alone)
    own = (program.error or 0.0) + max(0.0, _noise(replace(alone, repeated=None)) - noise)
    errors = [each.error for each in graph.specs if isinstance(each, RepeatedSpec)]
    for _ in range(_times(program)):
        errors = [own + each for each in _carried(graph, errors)]
    return max(errors)


def _times(program: Program) -> int:
    return 1 if program.repeated is None else program.repeated.times


def _noise(program: Program) -> float:
    """How far results are off by noise."""
    found = program.estimated_results
    assert found is not None
    return float(2.0 ** -min(each.precision for each in found))


def _carried(graph: TensorFunction, errors: Sequence[float]) -> list[float]:
    """How far next states are off by what states, and arguments, are off by."""
    left = iter(errors)
    intervals = {
        source: of_spec(replace(spec, error=next(left)) if isinstance(spec, RepeatedSpec) else spec)
        for source, spec in graph.spec_of.items()
    }
    found = intervals_of(in_order(graph.results), intervals.__getitem__, EXACT_BITS)
    return [found[each].largest_error for each in graph.results]


def error_to_expect(
    program: Program,
    graph: TensorFunction,
    noise: NoiseModel,
    samples: Sequence[Mapping[str, Array]],
    precision: int,
) -> float:
    """How far results are off after the last step, of inputs such as samples or random ones.

    Infinite where no inputs are found that stay in their ranges.

    Args:
        program: The program.
        graph: What a step computes.
        noise: The noise of its operations.
        samples: Inputs by name; none for random ones.
        precision: Bits after the binary point that a step was planned for.
    """
    several = samples or [*islice(drawn(program.packing.inputs), _TRIED)]
    found = [
        each for arguments in several if (each := _Steps.of(program, graph, arguments)) is not None
    ]
    # Half of what a program states is noise as it was planned for.
    fit = max(0.0, (program.error or 0.0) - 2.0 ** -(precision + 1)) * has_functions(graph)
    return max((each.error(noise, fit) for each in found[:_INPUTS]), default=math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class _Steps:
    """All steps on some inputs, in the clear.

    Args:
        program: The program.
        graph: What a step computes.
        first: The inputs of the first step.
        last: Those of the last.
        made: What the last step makes.
    """

    program: Program
    graph: TensorFunction
    first: Mapping[Source, Array]
    last: Mapping[Source, Array]
    made: Sequence[Array]

    @classmethod
    def of(
        cls, program: Program, graph: TensorFunction, arguments: Mapping[str, Any]
    ) -> _Steps | None:
        """All steps on inputs; None where numbers leave their ranges."""
        first = {each: np.asarray(arguments[each.name], np.float64) for each in graph.sources}
        taken, made = first, list[Array]()
        for step in range(_times(program)):
            taken = _following(graph, taken, made) if step else first
            with np.errstate(all="ignore"):
                exact = values_of(graph.results, taken)
            if not is_meant(graph, exact):
                return None
            made = [exact[each] for each in graph.results]
        return cls(program, graph, first, taken, made)

    def error(self, noise: NoiseModel, fit: float) -> float:
        """How far results are off, but for one of many that are further.

        Args:
            noise: The noise of operations.
            fit: How far the results of a step may be off by its functions.
        """
        deviations = [
            max(each)
            for each in zip(*map(self._deviations(noise), (self.first, self.last)), strict=True)
        ]
        still = [0.0] * len(deviations)
        noisy = [self._drawn(deviations, 0.0, n) for n in range(_OF_ALL)]
        unfit = [self._drawn(still, fit, n) for n in range(_OF_ALL if fit else 0)]
        spread = np.max(
            [
                np.sqrt(np.mean(np.square(of_one), axis=0).max())
                for of_one in zip(*noisy, strict=True)
            ]
        )
        # Functions are off by no more than is stated, whatever the chance.
        off = np.max([np.abs(each).max() for draw in unfit for each in draw], initial=0.0)
        count = sum(each.size for each in self.made)
        # The tail of a product of two Gaussians; see `plan.reals.expected`.
        tail = math.log(count / _EXCESS) / math.sqrt(2)
        return float(ROUGH * (spread * tail + off))

    def _deviations(self, noise: NoiseModel) -> Callable[[Mapping[Source, Array]], list[float]]:
        """By how much the results of one step are off by noise, of its inputs."""
        body, packing = self.program.body, self.program.packing
        assert isinstance(body, SlotProgram)

        def of(taken: Mapping[Source, Array]) -> list[float]:
            named = {source.name: array for source, array in taken.items()}
            run = packing.pack(named, "simulate a step").runs[0]
            inputs = [run[number] for number in sorted(run)]

            def unpacked(model: NoiseModel | None) -> list[Array]:
                return [*arrays_in(packing.unpack([results(body, inputs, model)], None))]

            exact = unpacked(None)
            off = [
                [
                    one - other
                    for one, other in zip(unpacked(replace(noise, seed=seed)), exact, strict=True)
                ]
                for seed in range(_OF_A_STEP)
            ]
            return [float(np.sqrt(np.mean(np.square(each)))) for each in zip(*off, strict=True)]

        return of

    def _drawn(self, deviations: Sequence[float], fit: float, seed: int) -> list[Array]:
        """Errors of the last results, where each step adds some of its own."""
        draw = np.random.default_rng(seed)
        signs = [draw.choice((-1.0, 1.0), each.shape) for each in self.made]
        taken, made = self.first, list[Array]()
        for step in range(_times(self.program)):
            taken = _following(self.graph, taken, made) if step else self.first
            with np.errstate(all="ignore"):
                exact = values_of(self.graph.results, taken)
            made = [
                exact[node] + deviation * draw.standard_normal(node.shape) + fit * sign
                for node, deviation, sign in zip(self.graph.results, deviations, signs, strict=True)
            ]
        return [one - other for one, other in zip(made, self.made, strict=True)]


def _following(
    graph: TensorFunction, taken: Mapping[Source, Array], made: Sequence[Array]
) -> dict[Source, Array]:
    """The inputs of the next step."""
    left = iter(made)
    return {
        source: next(left) if isinstance(spec, RepeatedSpec) else taken[source]
        for source, spec in graph.spec_of.items()
    }
