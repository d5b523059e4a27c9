"""numpy's functions that take encrypted tensors, by what they do with these. One table."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cloakwork.errors import InvalidArgumentError
from cloakwork.frontends.tensors.einsum import einsum
from cloakwork.frontends.tensors.methods import TensorMethods, axes_of
from cloakwork.frontends.tensors.numpy import (
    counting,
    folding,
    fourier,
    joining,
    linear_maps,
    matrices,
    polynomials,
    products,
    rearranging,
    statistics,
)
from cloakwork.frontends.tensors.numpy.assembling import (
    clipped,
    concatenated,
    padded,
    stacked,
    where,
)
from cloakwork.frontends.tensors.numpy.rearranging import as_numpy


def _clipped(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    if any(each is not None for each in (a_min, a_max)):
        if any(each is not None for each in (min, max)):
            raise InvalidArgumentError(
                "cannot clip: expected two ends at most, got min or max beside others; leave out "
                "those by position, or these"
            )
        min, max = a_min, a_max
    return clipped(a, min, max)


def _size(a: Any, axis: Any = None) -> int:
    return math.prod(a.shape[number] for number in axes_of(axis, a.ndim, "count"))


# Functions by their names in numpy, in groups. Parameters have numpy's names; those of numpy that
# are missing here are refused unless they are numpy's defaults.
GROUPS: Mapping[str, Mapping[str, Callable[..., Any]]] = {
    "Sums and statistics": {
        "sum": lambda a, axis=None, keepdims=False: a.sum(axis, keepdims=keepdims),
        "mean": lambda a, axis=None, keepdims=False: a.mean(axis, keepdims=keepdims),
        "var": statistics.variance,
        "std": statistics.deviation,
        # No encrypted number is NaN.
        "nansum": lambda a, axis=None, keepdims=False: a.sum(axis, keepdims=keepdims),
        "nanmean": lambda a, axis=None, keepdims=False: a.mean(axis, keepdims=keepdims),
        "nanvar": statistics.variance,
        "nanstd": statistics.deviation,
        "average": linear_maps.weighted_mean,
        "cov": statistics.covariances,
        "linalg.norm": statistics.norm,
        "linalg.vector_norm": statistics.vector_norm,
        "trace": lambda a, offset=0, axis1=0, axis2=1: a.trace(offset, axis1, axis2),
        "corrcoef": statistics.correlations,
        "linalg.matrix_norm": statistics.matrix_norm,
        "linalg.trace": lambda x, offset=0: x.trace(offset, -2, -1),
    },
    "Along an axis": {
        "cumsum": lambda a, axis=None: linear_maps.running_sums(a, axis),
        "cumulative_sum": linear_maps.running_sums_of_vector,
        "diff": linear_maps.differences,
        "ediff1d": linear_maps.differences_between,
        "gradient": linear_maps.slopes,
        "trapezoid": linear_maps.trapezoids,
        "convolve": linear_maps.convolved,
        "correlate": linear_maps.correlated,
        "interp": linear_maps.between_places,
        "nancumsum": lambda a, axis=None: linear_maps.running_sums(a, axis),
        "linspace": linear_maps.spaced,
        "apply_along_axis": joining.of_each_vector,
    },
    "Comparisons and extremes": {
        "max": folding.largest,
        "amax": folding.largest,
        "nanmax": folding.largest,
        "min": folding.smallest,
        "amin": folding.smallest,
        "nanmin": folding.smallest,
        "ptp": folding.spread,
        "clip": _clipped,
        "any": folding.any_of,
        "all": folding.all_of,
        "count_nonzero": folding.count_of_truths,
        "histogram": counting.histogram,
        "bincount": counting.sums_by_number,
        "digitize": counting.places_between,
        "searchsorted": counting.places_among,
        "where": where,
        "select": joining.chosen_first,
        "piecewise": joining.in_pieces,
    },
    "Products": {
        "dot": products.dot,
        "inner": products.inner,
        "outer": products.outer,
        "vdot": products.vdot,
        "tensordot": products.tensordot,
        "kron": products.kronecker,
        "cross": products.cross,
        "einsum": einsum,
        "prod": folding.product,
        "nanprod": folding.product,
        "cumprod": folding.running_products,
        "nancumprod": folding.running_products,
        "cumulative_prod": folding.running_products_of_vector,
        "linalg.cross": lambda x1, x2, axis=-1: products.cross(x1, x2, axis=axis),
        "linalg.matmul": operator.matmul,
        "linalg.outer": products.outer_of_vectors,
        "linalg.tensordot": lambda x1, x2, axes=2: products.tensordot(x1, x2, axes),
        "linalg.vecdot": products.vecdot_along,
    },
    "Matrices": {
        "linalg.det": matrices.determinant,
        "linalg.slogdet": matrices.sign_and_logarithm,
        "linalg.inv": matrices.inverse,
        "linalg.solve": matrices.solved,
        "linalg.lstsq": matrices.least_squares,
        "linalg.pinv": matrices.pseudo_inverse,
        "linalg.cholesky": matrices.lower_root,
        "linalg.matrix_power": products.matrix_power,
        "linalg.multi_dot": products.multiplied_in_a_row,
    },
    "Polynomials": {
        "polyfit": linear_maps.fitted,
        "polyval": polynomials.polynomial,
        "vander": polynomials.powers,
        "poly": polynomials.from_roots,
        "polyadd": polynomials.polyadd,
        "polysub": polynomials.polysub,
        "polymul": polynomials.polymul,
        "polyder": polynomials.derivative,
        "polyint": polynomials.integral,
    },
    "Fourier transforms": {
        **{f"fft.{name}": function for name, function in fourier.TRANSFORMS.items()},
        "fft.fftshift": lambda x, axes=None: as_numpy(np.fft.fftshift, x, axes),
        "fft.ifftshift": lambda x, axes=None: as_numpy(np.fft.ifftshift, x, axes),
    },
    "Shapes": {
        "shape": lambda a: a.shape,
        "ndim": lambda a: a.ndim,
        "size": _size,
        "transpose": lambda a, axes=None: a.transpose(axes),
        "reshape": lambda a, shape, order="C": a.reshape(shape, order=order),
        "ravel": lambda a, order="C": a.reshape(-1, order=order),
        "squeeze": lambda a, axis=None: as_numpy(np.squeeze, a, axis),
        "expand_dims": lambda a, axis: as_numpy(np.expand_dims, a, axis),
        "moveaxis": lambda a, source, destination: as_numpy(np.moveaxis, a, source, destination),
        "rollaxis": lambda a, axis, start=0: as_numpy(np.rollaxis, a, axis, start),
        "swapaxes": lambda a, axis1, axis2: as_numpy(np.swapaxes, a, axis1, axis2),
        "matrix_transpose": lambda x: x.swapaxes(-1, -2),
        "atleast_1d": lambda *arys: rearranging.each_as_numpy(np.atleast_1d, *arys),
        "atleast_2d": lambda *arys: rearranging.each_as_numpy(np.atleast_2d, *arys),
        "atleast_3d": lambda *arys: rearranging.each_as_numpy(np.atleast_3d, *arys),
        "broadcast_to": lambda array, shape: as_numpy(np.broadcast_to, array, shape),
        "broadcast_arrays": lambda *args: rearranging.each_as_numpy(np.broadcast_arrays, *args),
        "meshgrid": lambda *xi, sparse=False, indexing="xy": rearranging.each_as_numpy(
            np.meshgrid, *xi, sparse=sparse, indexing=indexing
        ),
        "linalg.matrix_transpose": lambda x: x.swapaxes(-1, -2),
    },
    "Elements in other places": {
        "flip": lambda m, axis=None: as_numpy(np.flip, m, axis),
        "fliplr": lambda m: as_numpy(np.fliplr, m),
        "flipud": lambda m: as_numpy(np.flipud, m),
        "roll": lambda a, shift, axis=None: as_numpy(np.roll, a, shift, axis),
        "rot90": lambda m, k=1, axes=(0, 1): as_numpy(np.rot90, m, k, axes),
        "repeat": lambda a, repeats, axis=None: as_numpy(np.repeat, a, repeats, axis),
        "tile": lambda A, reps: as_numpy(np.tile, A, reps),  # noqa: N803  (numpy's name)
        "resize": lambda a, new_shape: as_numpy(np.resize, a, new_shape),
    },
    "Some of the elements": {
        "take": lambda a, indices, axis=None, mode="raise": as_numpy(
            np.take, a, indices, axis, mode=mode
        ),
        "take_along_axis": lambda arr, indices, axis=-1: as_numpy(
            np.take_along_axis, arr, indices, axis
        ),
        "compress": lambda condition, a, axis=None: _by_mask(np.compress, a, condition, axis),
        "extract": lambda condition, arr: _by_mask(np.extract, arr, condition),
        "delete": lambda arr, obj, axis=None: as_numpy(np.delete, arr, obj, axis),
        "diagonal": lambda a, offset=0, axis1=0, axis2=1: as_numpy(
            np.diagonal, a, offset, axis1, axis2
        ),
        "diag": lambda v, k=0: rearranging.on_diagonal(v, k),
        "diagflat": lambda v, k=0: rearranging.on_diagonal(v.reshape(-1), k),
        "tril": lambda m, k=0: rearranging.kept_triangle(m, np.tril, k),
        "triu": lambda m, k=0: rearranging.kept_triangle(m, np.triu, k),
        "split": lambda ary, indices_or_sections, axis=0: as_numpy(
            np.split, ary, indices_or_sections, axis
        ),
        "array_split": lambda ary, indices_or_sections, axis=0: as_numpy(
            np.array_split, ary, indices_or_sections, axis
        ),
        "hsplit": lambda ary, indices_or_sections: as_numpy(np.hsplit, ary, indices_or_sections),
        "vsplit": lambda ary, indices_or_sections: as_numpy(np.vsplit, ary, indices_or_sections),
        "dsplit": lambda ary, indices_or_sections: as_numpy(np.dsplit, ary, indices_or_sections),
        "unstack": lambda x, axis=0: as_numpy(np.unstack, x, axis=axis),
        "choose": joining.chosen_by_number,
        "linalg.diagonal": lambda x, offset=0: as_numpy(np.diagonal, x, offset, -2, -1),
    },
    "Put together": {
        "concatenate": concatenated,
        "stack": stacked,
        "vstack": joining.joined_rows,
        "hstack": joining.joined_columns,
        "dstack": joining.joined_depths,
        "column_stack": joining.stacked_columns,
        "append": lambda arr, values, axis=None: concatenated([arr, values], axis),
        "insert": joining.inserted,
        "block": joining.joined_blocks,
        "pad": padded,
    },
    "Real numbers": {
        "copy": lambda a, order="K": a,  # noqa: ARG005
        "astype": rearranging.as_floats,
        "real": lambda val: val,
        "imag": lambda val: np.zeros(val.shape),
        "real_if_close": lambda a: a,
        "nan_to_num": lambda x, copy=True, nan=0.0, posinf=None, neginf=None: x,  # noqa: ARG005
        "isreal": lambda x: np.ones(x.shape, dtype=bool),
        "iscomplex": lambda x: np.zeros(x.shape, dtype=bool),
        "isrealobj": lambda x: True,  # noqa: ARG005
        "iscomplexobj": lambda x: False,  # noqa: ARG005
        "isneginf": lambda x: np.zeros(x.shape, dtype=bool),
        "isposinf": lambda x: np.zeros(x.shape, dtype=bool),
    },
    "Known results": {
        "zeros_like": lambda a, dtype=None: np.zeros(a.shape, dtype or a.dtype),
        "ones_like": lambda a, dtype=None: np.ones(a.shape, dtype or a.dtype),
        "full_like": lambda a, fill_value, dtype=None: np.full(
            a.shape, fill_value, dtype or a.dtype
        ),
        "result_type": lambda *arrays_and_dtypes: np.result_type(
            *(each.dtype if isinstance(each, TensorMethods) else each for each in arrays_and_dtypes)
        ),
        "can_cast": lambda from_, to, casting="safe": np.can_cast(from_.dtype, to, casting),
        "empty_like": lambda prototype, dtype=None: np.zeros(
            prototype.shape, dtype or prototype.dtype
        ),
    },
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    name: function for group in GROUPS.values() for name, function in group.items()
}
# Methods of arrays that tensors have by the function of the name, which takes the tensor first.
METHODS: Mapping[str, Callable[..., Any]] = {
    "all": np.all,
    "any": np.any,
    "astype": rearranging.method_as_floats,
    "clip": np.clip,
    "choose": np.choose,
    "conj": np.conjugate,
    "conjugate": np.conjugate,
    "copy": np.copy,
    "cumprod": np.cumprod,
    "cumsum": np.cumsum,
    "diagonal": np.diagonal,
    "dot": np.dot,
    "flatten": np.ravel,
    "max": np.max,
    "min": np.min,
    "prod": np.prod,
    "ravel": np.ravel,
    "repeat": np.repeat,
    "searchsorted": np.searchsorted,
    "squeeze": np.squeeze,
    "swapaxes": np.swapaxes,
    "take": np.take,
}


def _by_mask(function: Callable[..., Any], x: Any, condition: Any, *axis: Any) -> Any:
    """Elements where a known mask holds, which these functions take first."""
    rearranging.require_clear(function.__name__, condition)

    def masked(numbers: Any) -> Any:
        return function(condition, numbers, *axis)

    masked.__name__ = function.__name__
    return as_numpy(masked, x)
