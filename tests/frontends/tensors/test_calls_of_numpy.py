"""77 calls of numpy that data scientists make, of encrypted tensors: those that run are numpy's.

In the clear they are compared as they are traced, on 200 random arrays each; on ciphertexts on 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import UnsupportedOperationError
from cloakwork.frontends.tensors.numpy.complex_tensors import ComplexTensor
from cloakwork.frontends.tensors.samples import spec_of_samples
from cloakwork.frontends.tensors.tracing import Trace, TracedTensor
from cloakwork.plan.functions.clear import values_of
from cloakwork.plan.functions.intervals import of_spec
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.programs.ir.tensors import Source
from tests.thoroughness import part

Array: TypeAlias = NDArray[np.float64]

SIZE = 6
IN_CLEAR, ENCRYPTED = 200, 5
PRECISION = 10
_ROUNDING = 1e-9
# Known numbers beside the encrypted ones.
W = np.array([0.5, -1.0, 0.25, 1.0, 0.75, -0.5])
M = np.arange(12.0).reshape(SIZE, 2) / 8 - 0.5
# A vector as matrices; one that its diagonal dominates.
SQUARE: Callable[[Any], Any] = lambda x: x[:4].reshape(2, 2)  # noqa: E731
REGULAR: Callable[[Any], Any] = lambda x: x[:4].reshape(2, 2) / 4 + np.eye(2)  # noqa: E731
TABLE: Callable[[Any], Any] = lambda x: x.reshape(2, 3)  # noqa: E731

CALLS: Mapping[str, Callable[[Any], Any]] = {
    # Linear and structural.
    "diff": np.diff,
    "cumsum": np.cumsum,
    "flip": np.flip,
    "roll": lambda x: np.roll(x, 2),
    "tile": lambda x: np.tile(x, 2),
    "repeat": lambda x: np.repeat(x, 2),
    "outer": lambda x: np.outer(x, W),
    "kron": lambda x: np.kron(x, W[:2]),
    "average": lambda x: np.average(x, weights=W + 2),
    "vdot": lambda x: np.vdot(x, W),
    "append": lambda x: np.append(x, W),
    "delete": lambda x: np.delete(x, 2),
    "split": lambda x: np.split(x, 3),
    "take": lambda x: np.take(x, [4, 0, -1]),
    "cross": lambda x: np.cross(x[:3], W[:3]),
    "triu": lambda x: np.triu(SQUARE(x)),
    "tril": lambda x: np.tril(SQUARE(x)),
    "diag": np.diag,
    "tensordot": lambda x: np.tensordot(x, M, 1),
    "vstack": lambda x: np.vstack([x, W]),
    "hstack": lambda x: np.hstack([x, W]),
    "column_stack": lambda x: np.column_stack([x, W]),
    "block": lambda x: np.block([[SQUARE(x), SQUARE(x)]]),
    "rot90": lambda x: np.rot90(TABLE(x)),
    "moveaxis": lambda x: np.moveaxis(TABLE(x), 0, 1),
    "expand_dims": lambda x: np.expand_dims(x, 0),
    "squeeze": lambda x: np.squeeze(x[None]),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, SIZE)),
    "zeros_like": np.zeros_like,
    "trapezoid": lambda x: np.trapezoid(x) if hasattr(np, "trapezoid") else x[1:-1].sum(),
    "gradient": np.gradient,
    "nansum": np.nansum,
    "convolve": lambda x: np.convolve(x, W[:3]),
    "correlate": lambda x: np.correlate(x, W[:3], "same"),
    "cov": lambda x: np.cov(TABLE(x)),
    "corrcoef": lambda x: np.corrcoef(TABLE(x)),
    "polyval": lambda x: np.polyval(W[:3], x),
    "linalg.norm": np.linalg.norm,
    "fft of real parts": lambda x: np.fft.rfft(x).real,
    "x[[0, 2]]": lambda x: x[[0, 2]],
    # Arguments that numpy has.
    "clip(min=)": lambda x: np.clip(x, min=0) if np.__version__ >= "2.1" else np.clip(x, 0, None),
    "trace(offset=)": lambda x: np.trace(TABLE(x), offset=1),
    'reshape(order="C")': lambda x: np.reshape(x, (2, 3), order="C"),
    "concatenate(axis=None)": lambda x: np.concatenate([TABLE(x), W], axis=None),
    # Methods.
    "x.dot": lambda x: x.dot(W),
    "x.clip": lambda x: x.clip(-0.5, 0.5),
    "x.ravel": lambda x: TABLE(x).ravel(),
    "x.squeeze": lambda x: x[None].squeeze(),
    "x.swapaxes": lambda x: TABLE(x).swapaxes(0, 1),
    # Linear algebra.
    "linalg.inv": lambda x: np.linalg.inv(REGULAR(x)),
    "linalg.det": lambda x: np.linalg.det(SQUARE(x)),
    "linalg.solve": lambda x: np.linalg.solve(REGULAR(x), x[4:]),
    "linalg.lstsq": lambda x: np.linalg.lstsq(M, x, rcond=None)[0],
    # What always ran.
    "sum": np.sum,
    "mean": np.mean,
    "var": np.var,
    "std": np.std,
    "dot": lambda x: np.dot(x, M),
    "matmul": lambda x: M.T @ x,
    "einsum": lambda x: np.einsum("i,j->ij", x, W),
    "transpose": lambda x: np.transpose(TABLE(x)),
    "reshape": lambda x: np.reshape(x, (3, 2)),
    "where": lambda x: np.where(W > 0, x, 0.0),
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "stack": lambda x: np.stack([x, W]),
    "concatenate": lambda x: np.concatenate([x, W]),
    "pad": lambda x: np.pad(x, 1),
    "trace": lambda x: np.trace(SQUARE(x)),
    "inner": lambda x: np.inner(x, W),
    "exp": np.exp,
    "maximum": lambda x: np.maximum(x, 0.25),
    "sqrt": lambda x: np.sqrt(x + 2),
    "abs": np.abs,
    # Of the order of numbers.
    "sort": np.sort,
    "median": np.median,
    "percentile": lambda x: np.percentile(x, 25),
    "argmax": np.argmax,
}
REFUSED = {"sort", "median", "percentile", "argmax"}
RUN = sorted({*CALLS} - REFUSED)
# Results that are known.
_CLEAR = {"zeros_like"}


def test_seventy_of_them_run() -> None:
    assert len(CALLS) == 77
    assert len(RUN) >= 70


def _arrays(name: str, count: int) -> list[Array]:
    return list(np.random.default_rng([*name.encode()]).uniform(-1, 1, (count, SIZE)))


@pytest.mark.parametrize("name", RUN)
def test_calls_are_numpys_on_200_arrays(name: str) -> None:
    arrays = _arrays(name, part(IN_CLEAR))
    spec, source = spec_of_samples(arrays, MARGIN), Source("x", (SIZE,))
    trace = Trace({source: of_spec(spec)}, [{source: each} for each in arrays], MARGIN)
    made = CALLS[name](TracedTensor(source, trace))
    for array in arrays:
        expected = CALLS[name](array)
        several = isinstance(expected, list | tuple)
        for one, each in zip(made, expected, strict=True) if several else [(made, expected)]:
            found = one
            if isinstance(one, TracedTensor):
                found = values_of([one.node()], {source: array})[one.node()]
            assert np.shape(found) == np.shape(each)
            assert np.abs(found - each).max() <= _ROUNDING


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*RUN} - _CLEAR))
def test_calls_of_ciphertexts_are_numpys(name: str) -> None:
    arrays = _arrays(name, ENCRYPTED)
    call = CALLS[name]
    several = isinstance(call(arrays[0]), list)
    program = cw.compile(
        lambda x: tuple(call(x)) if several else call(x),
        arrays,
        precision=PRECISION,
        insecure=True,
    )
    client, evaluator = program.keygen()
    for array in arrays:
        found = client.decrypt(evaluator.run(client.encrypt(array)))
        expected = call(array)
        for one, each in zip(found, expected, strict=True) if several else [(found, expected)]:
            assert np.shape(one) == np.shape(each)
            assert np.abs(one - each).max() <= 2.0**-PRECISION


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_others_are_refused_by_name(name: str) -> None:
    source = Source("x", (SIZE,))
    trace = Trace({source: of_spec(cw.Spec((SIZE,)))}, [], MARGIN)
    with pytest.raises(UnsupportedOperationError, match=rf"numpy\.{name} .* cloakwork\.exactly"):
        CALLS[name](TracedTensor(source, trace))


def test_a_complex_result_is_a_pair_of_tensors() -> None:
    x = cw.Session(depth=2, backend="clear", insecure=True, log_n=6).encrypt(W, bound=1)
    made: Any = np.fft.fft(x)
    assert isinstance(made, ComplexTensor)
    with pytest.raises(cw.errors.InvalidArgumentError, match=r"take its \.real and \.imag"):
        np.asarray(made)
    with pytest.raises(UnsupportedOperationError, match=r"numpy\.exp of a complex .* \.real"):
        np.exp(made)
    with pytest.raises(cw.errors.InvalidArgumentError, match=r"\.real and \.imag"):
        cw.compile(np.fft.fft, (SIZE,))
