"""Programs on ciphertexts of bits, made of gates."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from cloakwork._native import threads as engine_threads
from cloakwork.base.arguments import integer, shown, truth
from cloakwork.errors import InvalidArgumentError, NoiseBudgetError
from cloakwork.plan.boolean.cache import cached_mapping
from cloakwork.plan.boolean.following import following_bits, links_of_inputs, sets_of
from cloakwork.plan.cost.tfhe import stated_sets
from cloakwork.programs.gates import GateProgram
from cloakwork.programs.kept_bits import with_kept_bits
from cloakwork.programs.packing.bits import BitPacking
from cloakwork.runtime.after import After, ResultOf
from cloakwork.runtime.program import Program
from cloakwork.runtime.state import Kept
from cloakwork.schemes.tfhe import MAX_FAILURE_BITS, Tfhe
from cloakwork.schemes.tfhe_noise import FAILURE_BITS, LEAST_FAILURE_BITS

# That the engine starts for a run.
_MOST_THREADS = 1024
# Failure bits beyond those asked for that a mapping has whose inputs will be noisier.
_SPARE_BITS = 0, 16, 48


def program_of_gates(
    gates: GateProgram,
    *,
    threads: int | None = None,
    failure_bits: int = FAILURE_BITS,
    insecure: bool = False,
    after: Mapping[str, ResultOf] | None = None,
    state: Mapping[str, str] | None = None,
) -> Program:
    """The program on ciphertexts that takes the least time; see `Circuit.compile`.

    Example:
        >>> from cloakwork.programs.gates import GateBuilder, GateKind
        >>> from cloakwork.programs.port import Port
        >>> builder = GateBuilder("both", (Port("a", "bits", 2),))
        >>> builder.output(Port("y", "bits", 1), (builder.append(GateKind.AND, 0, 1),))
        >>> program_of_gates(builder.finish(), threads=1).body.bootstrap_count
        1
    """
    action = "compile the circuit"
    if threads is not None:
        threads = integer(threads, "threads", action, least=1, most=_MOST_THREADS)
    count = engine_threads() if threads is None else threads
    least = 1 if truth(insecure, "insecure", action) else LEAST_FAILURE_BITS
    bits = integer(failure_bits, "failure_bits", action, least=least, most=MAX_FAILURE_BITS)
    links = links_of_inputs(gates, {} if after is None else after, action)
    if state is not None:
        if links or not isinstance(state, Mapping):
            raise InvalidArgumentError(
                f"cannot {action}: expected state as outputs by the names of inputs, and no "
                f"results of other programs beside it, got {shown(state)}"
            )
        return _keeping(gates, state, bits, count)
    *spare, most = _SPARE_BITS if links else (0,)
    for more in spare:
        with suppress(NoiseBudgetError):
            return _following(gates, links, bits, bits + more, count)
    return _following(gates, links, bits, bits + most, count)


def _following(
    gates: GateProgram, links: tuple[After, ...], bits: int, planned: int, count: int
) -> Program:
    """The program that takes results of others, mapped so that these may be noisier."""
    mapped = cached_mapping(
        gates, sets_of(links, stated_sets(planned), "compile the circuit"), count
    )
    body = mapped.program
    scheme = Tfhe(mapped.costs.name, bits)
    packing = BitPacking(body.inputs, body.outputs)
    program = Program(scheme, body, packing, threads=count)
    return following_bits(program, links) if links else program


def _keeping(gates: GateProgram, state: Mapping[str, str], bits: int, count: int) -> Program:
    """The program whose state is renewed at each step, mapped so that it may be noisier."""
    kept = tuple(Kept(*each, 0) for each in state.items())
    *spare, most = _SPARE_BITS
    for more in spare:
        with suppress(NoiseBudgetError):
            return _mapped_for(gates, kept, bits, bits + more, count)
    return _mapped_for(gates, kept, bits, bits + most, count)


def _mapped_for(
    gates: GateProgram, kept: tuple[Kept, ...], bits: int, planned: int, count: int
) -> Program:
    mapped = cached_mapping(gates, stated_sets(planned), count)
    body = with_kept_bits(mapped.program, {each.input: each.result for each in kept})
    packing = BitPacking(body.inputs, body.outputs)
    scheme = Tfhe(mapped.costs.name, bits)
    return Program(scheme, body, packing, threads=count, kept=kept)
