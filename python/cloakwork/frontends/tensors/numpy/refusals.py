"""What numpy has and tensors do not, refused by name with what to do instead."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from cloakwork.errors import InvalidArgumentError, UnsupportedOperationError

_POSSIBLE = (
    "what can be computed is + - * / ** @, comparisons and & | ^ ~ of them, sums, shapes, and "
    "the functions that docs/functions.md lists, such as numpy.exp and cloakwork.softmax"
)
_OF_FOURIER = (
    "its results are complex; multiply by the real and by the imaginary part, as in "
    "numpy.fft.fft(numpy.eye(n), axis=0).real @ x"
)
# What to do instead of some that are asked for often.
_INSTEAD = {
    "max": "take numpy.maximum of its parts, which is expensive, or decrypt first",
    "min": "take numpy.minimum of its parts, which is expensive, or decrypt first",
    "argmax": "an index is not computed on encrypted numbers; decrypt first",
    "argmin": "an index is not computed on encrypted numbers; decrypt first",
    "copy": "a tensor never changes; use it as it is",
    "tolist": "decrypt first",
    "astype": "the numbers are encrypted as they are; decrypt first",
    "prod": "multiply the parts, x[0] * x[1]",
    "round": "no polynomial is near to steps; decrypt first",
    "rint": "no polynomial is near to steps; decrypt first",
    "floor": "no polynomial is near to steps; decrypt first",
    "ceil": "no polynomial is near to steps; decrypt first",
    "tan": "write numpy.sin(x) / numpy.cos(x), over a range without its poles",
    "ptp": "its least and its greatest number are not computed; decrypt first",
    "corrcoef": "divide numpy.cov by roots of its diagonal, which samples or within keep from 0",
    "fft.fft": _OF_FOURIER,
    "fft.ifft": _OF_FOURIER.replace("fft.fft", "fft.ifft"),
    "fft.rfft": _OF_FOURIER.replace("fft.fft", "fft.rfft"),
    "cbrt": "no way to compute it is known here; decrypt first",
}
_OF_ARRAYS = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))


def refuse_attribute(kind: str, name: str) -> NoReturn:
    """Refuse what arrays have and tensors do not.

    Raises:
        UnsupportedOperationError: Numpy's arrays have it.
        AttributeError: They have it neither.
    """
    if name in _OF_ARRAYS or name in _INSTEAD:
        raise refusal(f"x.{name}", name)
    raise AttributeError(f"{kind!r} object has no attribute {name!r}")


def refuse_comparison() -> NoReturn:
    """Refuse to say whether numbers are equal.

    Raises:
        InvalidArgumentError: Always.
    """
    raise InvalidArgumentError(
        "cannot compare an encrypted tensor: its numbers are not known here, and equal up to an "
        "error at best; use arithmetic that serves every case, or x < y, which gives an encrypted "
        "tensor of 0 and 1"
    )


def refusal(what: str, name: str) -> UnsupportedOperationError:
    """The refusal of a function by its name."""
    instead = _INSTEAD.get(name, _POSSIBLE)
    return UnsupportedOperationError(f"cannot compute {what} of an encrypted tensor: {instead}")
