"""What numpy has and tensors do not, refused by name with what to do instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

import numpy as np

from cloakwork.errors import InvalidArgumentError, UnsupportedOperationError

_POSSIBLE = (
    "what can be computed is + - * / ** @, comparisons and & | ^ ~ of them, sums, shapes, and "
    "the functions that docs/numpy.md lists, such as numpy.exp and cloakwork.softmax"
)
_DECRYPT = "its numbers are encrypted, as float64; decrypt first"
_NEVER_CHANGES = "a tensor never changes; write `numpy.where(mask, value, x)` with a clear mask"
# Why functions are refused, and what to do instead, each with the names of those.
REFUSED: Mapping[str, str] = {
    "the order of encrypted numbers is not known; decrypt first, or decide on their bits by "
    "`cloakwork.exactly`": """
        argmax argmin nanargmax nanargmin sort sort_complex argsort lexsort partition
        argpartition median nanmedian percentile nanpercentile quantile nanquantile
    """,
    "no polynomial is near to steps; decrypt first, or decide on bits by `cloakwork.exactly`": """
        round around rint fix floor ceil trunc modf mod remainder fmod divmod floor_divide
    """,
    "encrypted numbers are equal up to an error at best; compare by <, or decrypt first": """
        equal not_equal isclose allclose array_equal array_equiv isin unique unique_all
        unique_counts unique_inverse unique_values intersect1d setdiff1d setxor1d union1d
    """,
    "the shape of the result depends on the numbers, which nobody knows here; decrypt first": """
        nonzero flatnonzero argwhere trim_zeros histogram_bin_edges
    """,
    "it is found by iterations, and how many depends on the numbers; decrypt first, or write out "
    "as many steps as are enough, such as products with the matrix": """
        linalg.eig linalg.eigh linalg.eigvals linalg.eigvalsh linalg.svd linalg.svdvals linalg.cond
        linalg.matrix_rank linalg.qr roots
    """,
    "reshape to matrices and call `numpy.linalg.solve` or `inv`": """
        linalg.tensorsolve linalg.tensorinv
    """,
    "`numpy.abs` gives the magnitude of complex numbers; decrypt first for their angle": "angle",
    "write `numpy.arctan(y / x)`, where x is above 0": "arctan2",
    "write `numpy.exp` of `numpy.linspace` between the logarithms": "logspace geomspace",
    "divide by the leading coefficient step by step, where it is known": "polydiv",
    "count along one axis by `numpy.histogram`, or multiply comparisons": "histogram2d histogramdd",
    "call the function for one axis after another": "apply_over_axes",
    "index by `x[...]` with known numbers": """
        ix_ diag_indices_from tril_indices_from triu_indices_from
    """,
    "no way to compute it is known here; decrypt first": "cbrt i0 sinc unwrap",
    _NEVER_CHANGES: "copyto fill_diagonal put put_along_axis place putmask",
    "it is about the bits of integers; compute on these by `cloakwork.circuit` or "
    "`cloakwork.boolean`": """
        bitwise_count left_shift right_shift gcd lcm packbits unpackbits
    """,
    "it is about how floating numbers are written, and no result has these exactly": """
        nextafter spacing frexp ldexp
    """,
    _DECRYPT: """
        array array_repr array_str array2string asarray asanyarray asarray_chkfinite
        ascontiguousarray asfortranarray asmatrix bmat datetime_as_string require save savetxt savez
        savez_compressed
    """,
    "it is for whole numbers, dates, types or memory, which encrypted tensors have not": """
        busday_count busday_offset is_busday isnat ravel_multi_index unravel_index
        common_type min_scalar_type may_share_memory shares_memory einsum_path
    """,
}
# Methods of arrays, as far as they have names of their own.
REFUSED_METHODS: Mapping[str, str] = {
    _NEVER_CHANGES: "fill itemset setfield setflags",
    _DECRYPT: """
        byteswap dump dumps getfield item newbyteorder tobytes tofile tolist tostring view
    """,
}
# What takes no tensors, and does with arrays what it always does.
WITHOUT_TENSORS = """
    arange bartlett base_repr binary_repr blackman broadcast_shapes datetime_data diag_indices empty
    eye format_float_positional format_float_scientific from_dlpack frombuffer fromfile fromfunction
    fromiter frompyfunc fromregex fromstring full genfromtxt get_include get_printoptions getbufsize
    geterr geterrcall hamming hanning identity indices info isdtype isfortran isscalar issubdtype
    iterable kaiser load loadtxt mask_indices mintypecode nested_iters ones printoptions
    promote_types set_printoptions setbufsize seterr seterrcall show_config show_runtime test tri
    tril_indices triu_indices typename zeros fft.fftfreq fft.rfftfreq
"""
_WHY: Mapping[str, str] = {
    name: why.replace("`", "")
    for table in (REFUSED_METHODS, REFUSED)
    for why, names in table.items()
    for name in names.split()
}
_OF_ARRAYS = frozenset(name for name in dir(np.ndarray) if not name.startswith("_"))


def refuse_attribute(kind: str, name: str) -> NoReturn:
    """Refuse what arrays have and tensors do not.

    Raises:
        UnsupportedOperationError: Numpy's arrays have it.
        AttributeError: They have it neither.
    """
    if name in _OF_ARRAYS or name in _WHY:
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
    instead = _WHY.get(name, _POSSIBLE)
    return UnsupportedOperationError(f"cannot compute {what} of an encrypted tensor: {instead}")
