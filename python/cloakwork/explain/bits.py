"""A program over bits as text: ports, gates or bootstraps, depth, time, failure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from cloakwork.errors import ActivationFitError, InvalidParametersError, LevelExhaustedError
from cloakwork.explain.estimate import estimate
from cloakwork.explain.quantities import counted, duration, size
from cloakwork.frontends.tensors.compile import compile as compile_tensors
from cloakwork.plan.cost.tfhe import data_flow_seconds, known_set
from cloakwork.plan.functions.recipes import GAP
from cloakwork.programs.bootstraps import BootstrapProgram, bootstrap_statistics_of
from cloakwork.programs.gates import GateProgram, statistics_of
from cloakwork.programs.port import Port
from cloakwork.programs.spec import Spec
from cloakwork.runtime.leaving import Leaving, border, range_of
from cloakwork.runtime.profile import Profile
from cloakwork.runtime.program import Program
from cloakwork.schemes.tfhe import Tfhe

_SHOWN_PORTS = 12
_BARS = 12
_BAR_WIDTH = 40
# Of 0 or 1, which say whether a number is greater.
_COMPARED_BITS = 8
# Besides one and those that a program was made for.
_MANY_THREADS = 16


def explain_gates(program: GateProgram) -> str:
    """What a gate program takes in and makes, and of how many gates."""
    found = statistics_of(program)
    by_kind = sorted(found.gates.items(), key=lambda each: -each[1])
    gates = _with_parts(program.gate_count, [f"{count} {kind}" for kind, count in by_kind])
    lines = [program.title, *_ports("input", program.inputs), *_ports("output", program.outputs)]
    lines += ["", "gates on bits in the clear: hides nothing"]
    lines += [f"  gates   {gates}", f"  depth   {found.depth}"]
    return "\n".join([*lines, *_levels("gates", found.widths)])


def explain_bootstraps(program: BootstrapProgram, of: Program, profile: Profile | None) -> str:
    """What a program over bits takes in and makes, and what it does on ciphertexts."""
    scheme, warning = of.scheme, of.warning
    found = bootstrap_statistics_of(program)
    by_outputs = [
        f"{count} of {counted(outputs, 'output')}" for outputs, count in found.by_outputs.items()
    ]
    facts = {"way": of.way} if of.way else {}
    facts |= {
        "bootstraps": _with_parts(found.bootstraps, by_outputs),
        "depth": f"{found.depth}",
        "additions": f"{found.terms}",
    }
    for link in of.after:
        if isinstance(link, Leaving):
            facts["rounding"] = _rounding(of, link)
            if cheaper := _by_polynomials(of, link):
                facts["cheaper"] = cheaper
    if isinstance(scheme, Tfhe):
        facts |= _encrypted_facts(program, of.whole_body, scheme, of.threads or 1)
    if profile is not None:
        facts["measured"] = _measured(profile)
    lines = [program.title, *_ports("input", program.inputs), *_ports("output", program.outputs)]
    lines += ["", str(scheme)]
    lines += [f"  {warning}"] if warning and warning not in str(scheme) else []
    lines += [f"  {name:<10}  {text}" for name, text in facts.items()]
    return "\n".join([*lines, *_levels("bootstraps", found.widths)])


def _rounding(program: Program, link: Leaving) -> str:
    """How numbers that leave slots become those of an input."""
    port = link.port(program)
    last = f"multiples of 2^-{port.fraction}" if port.fraction else "integers"
    shown = f"{port.name} from {link.result} of {link.program.name}, to the nearest {last}"
    if link.program.scheme.exact:
        return f"{shown}, exactly"
    return f"{shown}; to either side within {border(program, link):.2g} of the middle of two"


def _by_polynomials(program: Program, link: Leaving) -> str:
    """What a comparison of the numbers without leaving slots takes; empty where it is not less."""
    first = link.program
    least, greatest = range_of(first, link.result_port)
    if first.scheme.exact or not first.scheme.encrypts or not math.isfinite(greatest - least):
        return ""
    shape, middle = link.port(program).shape, (least + greatest) / 2
    spec = Spec(shape, low=least, high=greatest)
    with suppress(InvalidParametersError, LevelExhaustedError, ActivationFitError):
        seconds = estimate(
            compile_tensors(lambda x: x > middle, spec, precision=_COMPARED_BITS)
        ).seconds
        here = estimate(program).seconds
        if seconds < here:
            gap = GAP * (greatest - least) / 2
            return (
                f"where numbers are only compared, and differ by {gap:.2g} or more: polynomials "
                f"of cloakwork.compile do that for all at once in {duration(seconds)}, this takes "
                f"{duration(here)}, both modelled"
            )
    return ""


def _with_parts(count: int, parts: Sequence[str]) -> str:
    return f"{count}{': ' if parts else ''}{', '.join(parts)}"


def _encrypted_facts(
    program: BootstrapProgram, whole: BootstrapProgram, scheme: Tfhe, made_for: int
) -> dict[str, str]:
    """What a program takes on ciphertexts: time where it is known, bytes, failure."""
    parameters = scheme.parameters
    costs = known_set(parameters.name, scheme.failure_bits)
    facts: dict[str, str] = {}
    if costs is not None:
        times = ", ".join(
            f"{duration(data_flow_seconds(program, costs, count))} on {counted(count, 'thread')}"
            for count in sorted({1, made_for, _MANY_THREADS})
        )
        facts["time"] = f"{times}, modelled; made for {counted(made_for, 'thread')}"
    failure = scheme.failure(whole)
    outputs = len(program.output_signals)
    return facts | {
        "key": f"{size(parameters.evaluation_key_bytes)} for the evaluator",
        "bits": (
            f"{size(program.input_count * parameters.lwe_bytes)} in "
            f"{counted(program.input_count, 'ciphertext')} go in, "
            f"{size(outputs * parameters.lwe_bytes)} in {outputs} come out"
        ),
        "failure": (
            f"{_probability(failure.worst)} for one bootstrap or output, "
            f"{_probability(failure.total)} for the program, at most"
        ),
    }


def _measured(profile: Profile) -> str:
    """What a run took, and what of it its bootstraps."""
    shown = f"{duration(profile.seconds)} from start to end"
    if not profile.operations:
        return shown
    total = sum(each.seconds for each in profile.operations)
    threads = 1 + max(each.thread for each in profile.operations)
    made = counted(len(profile.operations), "bootstrap")
    return f"{shown}; {made} of {duration(total)} in all on {counted(threads, 'thread')}"


def _probability(log2: float) -> str:
    return "0" if log2 == -math.inf else f"2^{math.ceil(log2)}"


def _ports(role: str, ports: Sequence[Port]) -> list[str]:
    lines = [f"  {role:<7} {port}" for port in ports[:_SHOWN_PORTS]]
    more = len(ports) - _SHOWN_PORTS
    return lines + [f"          and {counted(more, f'more {role}')}"] * (more > 0)


def _levels(name: str, widths: Sequence[int]) -> list[str]:
    """A bar per level, or per run of levels where there are many, as long as its mean width."""
    step = -(-len(widths) // _BARS)
    means: dict[str, float] = {}
    for first in range(0, len(widths), step or 1):
        run = widths[first : first + step]
        levels = f"{first + 1}" if len(run) == 1 else f"{first + 1}-{first + len(run)}"
        means[levels] = sum(run) / len(run)
    lines = ["", f"  {name} per level"] if means else []
    width = max(map(len, means), default=0)
    for levels, mean in means.items():
        bar = "#" * max(1, round(_BAR_WIDTH * mean / max(means.values())))
        shown = f"{mean:.0f}" if step == 1 else f"{mean:.3g} each"
        lines.append(f"    {levels:>{width}}  {bar:<{_BAR_WIDTH}}  {shown}")
    return lines
