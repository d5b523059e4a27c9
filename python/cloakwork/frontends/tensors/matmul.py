"""The product of two matrices, at least one of them encrypted."""

from __future__ import annotations

from typing import cast

from numpy.typing import ArrayLike

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.methods import TensorMethods
from cloakwork.frontends.tensors.tensor import Tensor


def matmul(left: Tensor | ArrayLike, right: Tensor | ArrayLike) -> Tensor:
    """The matrix product of two tensors, as `numpy.matmul` gives it; leading axes are a batch.

    It is `left @ right`: of tensors of a session it is computed at once, and in a function that
    `cloakwork.compile` takes it is planned with everything else.

    Args:
        left: An encrypted tensor, or a clear array.
        right: Likewise; one of the two is encrypted.

    Raises:
        ShapeMismatchError: The shapes do not fit.
        LevelExhaustedError: The operands have too few levels left.
        ParametersMismatchError: The operands are of different sessions.
        InvalidArgumentError: Neither is encrypted.

    Example:
        >>> import cloakwork as cw
        >>> session = cw.Session(depth=1, backend="clear")
        >>> x = session.encrypt([[1.0, 2.0], [3.0, 4.0]])
        >>> session.decrypt(cw.matmul(x, [[1.0], [10.0]])).tolist()
        [[21.0], [43.0]]

    Source: for products of two encrypted matrices, see `programs.operations.products`.
    """
    if isinstance(left, TensorMethods):
        return cast(Tensor, left @ right)
    if isinstance(right, TensorMethods):
        return cast(Tensor, right.__rmatmul__(left))
    raise InvalidArgumentError(
        "cannot matmul: expected one encrypted operand at least; numpy.matmul does this"
    )
