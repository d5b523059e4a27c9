"""The error function of arrays is that of the standard library."""

import math

import numpy as np

from cloakwork.programs.error_function import erf


def test_it_is_that_of_the_standard_library() -> None:
    random = np.random.default_rng(0)
    ends = [0.0, -0.0, 0.46875, 4.0, 6.0, np.inf, 1e-300, 5e-324]
    x = np.concatenate([random.normal(scale=2.0, size=20_000), ends, np.negative(ends)])
    expected = np.array([math.erf(each) for each in x])
    np.testing.assert_allclose(erf(x), expected, rtol=2e-15, atol=0)
    assert np.array_equal(np.signbit(erf(x)), np.signbit(x))


def test_arrays_keep_their_shapes_and_nans() -> None:
    x = np.random.default_rng(1).normal(size=(3, 1, 5))
    assert erf(x).shape == x.shape
    assert erf(np.zeros((0, 2))).shape == (0, 2)
    assert erf(np.array(0.5)).shape == ()
    assert np.isnan(erf(np.array([np.nan, 1.0]))).tolist() == [True, False]
