"""Principal components of data that two hospitals hold halves of, without joining them.

Both know the same 569 patients; one has the first 15 measurements of each, the other the last 15.
Each multiplies its own measurements by one another in the clear. The products of one's with the
other's the evaluator computes on ciphertexts, and whoever holds the keys puts the parts together.
Run: python -m examples.matmul.pca
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer

import cloakwork as cw
from examples.matmul.clients import answer, step

COMPONENTS = 5

Array = NDArray[np.float64]


def unit_columns(measurements: Array) -> Array:
    """Measurements without their means and of length one, so that products are correlations."""
    centred = measurements - measurements.mean(axis=0)
    return np.asarray(centred / np.linalg.norm(centred, axis=0))


def principal(correlations: Array) -> tuple[Array, Array]:
    """The shares of the variance that the first components have, and these, as columns."""
    values, vectors = np.linalg.eigh(correlations)
    first = slice(None, -COMPONENTS - 1, -1)
    return values[first] / values.sum(), vectors[:, first]


def main() -> None:
    """Run the whole job and print what it did."""
    measurements, _ = load_breast_cancer(return_X_y=True)
    one, other = unit_columns(measurements[:, :15]), unit_columns(measurements[:, 15:])

    print("Time per step")
    with step("compile"):
        program = cw.compile(
            lambda a, b: a @ b, one.T.shape, other.shape, precision=16, public_inputs=True
        )
    found = answer(program, {"first": {"a": one.T}, "second": {"b": other}})
    joined = np.block([[one.T @ one, found.result], [found.result.T, other.T @ other]])

    both = np.hstack([one, other])
    shares, components = principal(joined)
    clear_shares, clear_components = principal(both.T @ both)
    # Cosines of the angles between what the components span.
    cosines = np.linalg.svd(components.T @ clear_components, compute_uv=False)
    print(f"\nThe plan\n{cw.explain(program)}")
    print("\nThe result")
    found.report()
    print(f"  largest error of a correlation      {np.abs(joined - both.T @ both).max():.1e}")
    print(f"  variance of the first components    {', '.join(f'{each:.4f}' for each in shares)}")
    told = ", ".join(f"{each:.4f}" for each in clear_shares)
    print(f"  in the clear                        {told}")
    print(f"  least cosine to those in the clear  {cosines.min():.9f}")


if __name__ == "__main__":
    main()
