"""Finds tensors that are 0 whatever is encrypted."""

from __future__ import annotations

import numpy as np

from cloakwork.plan.tensors.lower import in_order
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Sum, Within


def is_zero(node: Node) -> bool:
    """Whether all numbers of a tensor are 0, whatever its sources hold.

    Example:
        >>> from cloakwork.programs.ir.tensors import Source
        >>> x = Source("x", (2,))
        >>> is_zero(Contract((x, np.zeros(2)), ("a", "a"), "a", (2,))), is_zero(x)
        (True, False)
    """
    found: dict[Node, bool] = {}
    for each in in_order([node]):
        match each:
            case Contract(operands=operands):
                found[each] = any(
                    not operand.any() if isinstance(operand, np.ndarray) else found[operand]
                    for operand in operands
                )
            case Sum(terms=terms, constant=constant):
                clear = constant is None or not constant.any()
                found[each] = clear and all(found[term] for term in terms)
            case Rearrange(operand=operand) | Within(operand=operand):
                found[each] = found[operand]
            case _:
                found[each] = False
    return found[node]
