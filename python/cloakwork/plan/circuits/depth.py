"""Products in a row of a circuit, and how many of them no secure ring takes."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cloakwork._native import BgvNoiseModel, max_log_qp
from cloakwork.errors import CircuitTooDeepError, InsecureParametersError
from cloakwork.plan.circuits.forms import written_forms
from cloakwork.plan.parameters.bgv import plaintext_moduli
from cloakwork.programs.ir.circuits import Integer, ScalarCircuit, ScalarProduct, operands_of


def require_depth(circuit: ScalarCircuit, bits: int, rings: Sequence[int]) -> None:
    """Refuse a circuit too deep for every ring before it is searched for a program.

    What is let through may still be too deep; nothing that fits is refused. A product adds at
    least the noise of an encryption to the noise of its other factor, and what a switch of
    moduli takes from noise it takes from the modulus as well.

    Example:
        >>> from cloakwork.programs.ir.circuits import CircuitBuilder, CircuitInput, ScalarProduct
        >>> builder = CircuitBuilder("a power of two")
        >>> (x,) = builder.input(CircuitInput("x"))
        >>> for _ in range(120):
        ...     x = builder.append(ScalarProduct(x, x))
        >>> builder.output("y", (), (x,))
        >>> require_depth(builder.finish(), 16, range(12, 17))
        Traceback (most recent call last):
        cloakwork.errors.CircuitTooDeepError: cannot compile a power of two: ...
    """
    most = max(_most_products(bits, log_n) for log_n in rings)
    depth = written_depth(circuit)
    if depth <= most:
        return
    depth = min(depth, *(forms.depth() for forms in written_forms(circuit)))
    # Where it is linear in an input, a cut may halve the depth (`plan.circuits.adjoint`).
    if depth <= 2 * most:
        return
    told = f"cannot compile {circuit.title}: it multiplies more often in a row, {depth} times,"
    if len(rings) == 1:
        raise InsecureParametersError(
            f"{told} than a modulus that is secure for log_n = {rings[0]} allows at {bits} bits, "
            f"at most {most} times; ask for a larger ring"
        )
    raise CircuitTooDeepError(
        f"{told} than the noise of any secure ring of degree 2^{rings[0]} to 2^{rings[-1]} allows "
        f"at {bits} bits, at most {most} times; multiply in a tree rather than in a row, or ask "
        "for fewer bits"
    )


def _most_products(bits: int, log_n: int) -> int:
    model = BgvNoiseModel(log_n, plaintext_moduli(bits, log_n)[-1])
    return math.floor((max_log_qp(log_n) or 0.0) / model.fresh.norm)


def written_depth(circuit: ScalarCircuit) -> int:
    """The most products of encrypted values in a row, in the circuit's own order."""
    depths: list[int | None] = []
    for operation in circuit.operations:
        below = [depths[operand] for operand in operands_of(operation)]
        encrypted = [depth for depth in below if depth is not None]
        if isinstance(operation, Integer) or (below and not encrypted):
            depths.append(None)
            continue
        is_product = isinstance(operation, ScalarProduct) and len(encrypted) == len(below)
        depths.append(max(encrypted, default=0) + is_product)
    values = [value for output in circuit.outputs for value in output.values]
    return max((depths[value] or 0 for value in values), default=0)
