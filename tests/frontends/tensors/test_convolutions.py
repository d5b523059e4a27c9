"""Convolutions with encrypted kernels, in the spellings that people use."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from tests.products import counts_of

SIDE, KERNEL, STRIDE, CHANNELS, COUNT = 8, 3, 2, 3, 256
POSITIONS = 3
ROWS = CHANNELS * POSITIONS**2
PLACES = [(y, x) for y in range(KERNEL) for x in range(KERNEL)]
IMAGES, KERNELS, WEIGHTS = (SIDE, SIDE, COUNT), (CHANNELS, KERNEL, KERNEL), (5, ROWS)


def window(images: Any, y: int, x: int) -> Any:
    reach = STRIDE * (POSITIONS - 1) + 1
    return images[..., y : y + reach : STRIDE, x : x + reach : STRIDE, :]


def terms(images: Any, kernels: Any) -> list[Any]:
    return [cw.einsum("c,yxn->cyxn", kernels[:, y, x], window(images, y, x)) for y, x in PLACES]


def by_rest(images: Any, kernels: Any, weights: Any) -> Any:
    first, *rest = terms(images, kernels)
    return weights @ sum(rest, first).reshape(ROWS, -1) ** 2


def by_sum(images: Any, kernels: Any, weights: Any) -> Any:
    return weights @ sum(terms(images, kernels)).reshape(ROWS, -1) ** 2


def by_loop(images: Any, kernels: Any, weights: Any) -> Any:
    maps: Any = 0
    for y, x in PLACES:
        maps = maps + kernels[:, y, x][:, None, None, None] * window(images, y, x)
    return weights @ maps.reshape(ROWS, -1) ** 2


def by_square_before(images: Any, kernels: Any, weights: Any) -> Any:
    return weights @ (sum(terms(images, kernels)) ** 2).reshape(ROWS, -1)


def by_reshaped_terms(images: Any, kernels: Any, weights: Any) -> Any:
    return weights @ sum(each.reshape(ROWS, -1) for each in terms(images, kernels)) ** 2


def by_stacked_windows(images: Any, kernels: Any, weights: Any) -> Any:
    windows = np.stack([window(images, y, x) for y, x in PLACES])
    maps = np.tensordot(kernels.reshape(CHANNELS, -1), windows, 1)
    return weights @ maps.reshape(ROWS, -1) ** 2


def by_columns_of_windows(images: Any, kernels: Any, weights: Any) -> Any:
    numbers = np.arange(SIDE**2).reshape(SIDE, SIDE, 1)
    rows = np.stack([window(numbers, y, x).ravel() for y, x in PLACES])
    windows = images.reshape(SIDE**2, -1)[rows].reshape(len(PLACES), -1)
    maps = kernels.reshape(CHANNELS, -1) @ windows
    return weights @ maps.reshape(ROWS, -1) ** 2


def by_channels(images: Any, kernels: Any, weights: Any) -> Any:
    maps = [
        sum(kernels[c, y, x] * window(images, y, x) for y, x in PLACES) for c in range(CHANNELS)
    ]
    return weights @ np.stack(maps).reshape(ROWS, -1) ** 2


def by_einsum_after(images: Any, kernels: Any, weights: Any) -> Any:
    maps = sum(terms(images, kernels)) ** 2
    weights = weights.reshape(-1, CHANNELS, POSITIONS, POSITIONS)
    return cw.einsum("ocyx,cyxn->on", weights, maps)


SPELLINGS = [
    by_rest,
    by_sum,
    by_loop,
    by_square_before,
    by_reshaped_terms,
    by_stacked_windows,
    by_columns_of_windows,
    by_channels,
    by_einsum_after,
]


def compiled(function: Callable[..., Any], *shapes: tuple[int, ...]) -> cw.Program:
    return cw.compile(function, *(cw.Spec(shape, bound=0.25) for shape in shapes), precision=12)


def results(images: Any, kernels: Any, weights: Any, bias: float | np.ndarray = 0.0) -> Any:
    """By numpy, of images of several colours."""
    windows = np.stack([window(images, y, x) for y, x in PLACES], axis=1)
    kernels = kernels.reshape(CHANNELS, -1, len(PLACES))
    maps = np.einsum("cdk,dkyxn->cyxn", kernels, windows)
    return weights @ (maps + np.reshape(bias, (-1, 1, 1, 1))).reshape(ROWS, -1) ** 2


def drawn(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.uniform(-0.25, 0.25, shape) for shape in shapes]


# Ciphertexts in and out, rotated products, their switches, rotations, keys and their bytes.
COUNTS = (100, 6, 12, 15, 12, 5, 3407872)


@pytest.mark.parametrize("spelled", SPELLINGS, ids=lambda each: each.__name__)
def test_every_spelling_is_planned_in_matrices(spelled: Callable[..., Any]) -> None:
    program = compiled(spelled, IMAGES, KERNELS, WEIGHTS)
    assert program.packing.kind == "matrices"
    assert program.scheme.parameters.levels == 3
    assert counts_of(program) == COUNTS
    images, kernels, weights = drawn(IMAGES, KERNELS, WEIGHTS)
    expected = results(images[np.newaxis], kernels, weights)
    np.testing.assert_allclose(program.run_clear(images, kernels, weights), expected, atol=1e-9)


def test_images_may_come_first() -> None:
    def function(images: Any, kernels: Any, weights: Any) -> Any:
        maps: list[Any] = [
            cw.einsum("c,nyx->ncyx", kernels[:, y, x], images[:, y : y + 5 : 2, x : x + 5 : 2])
            for y, x in PLACES
        ]
        return (sum(maps) ** 2).reshape(-1, ROWS) @ weights.T

    program = compiled(function, (COUNT, SIDE, SIDE), KERNELS, WEIGHTS)
    assert counts_of(program) == COUNTS
    images, kernels, weights = drawn(IMAGES, KERNELS, WEIGHTS)
    found = program.run_clear(np.moveaxis(images, -1, 0), kernels, weights)
    expected = results(images[np.newaxis], kernels, weights)
    np.testing.assert_allclose(found, expected.T, atol=1e-9)


def test_windows_at_the_edge_have_fewer_pixels() -> None:
    def function(images: Any, kernels: Any, weights: Any) -> Any:
        around = np.pad(images, [(1, 0), (1, 0), (0, 0)])
        return weights @ sum(terms(around, kernels)).reshape(ROWS, -1) ** 2

    side = (SIDE - 1, SIDE - 1, COUNT)
    program = compiled(function, side, KERNELS, WEIGHTS)
    assert counts_of(program)[1:] == COUNTS[1:]
    images, kernels, weights = drawn(side, KERNELS, WEIGHTS)
    around = np.pad(images, [(1, 0), (1, 0), (0, 0)])[np.newaxis]
    found = program.run_clear(images, kernels, weights)
    np.testing.assert_allclose(found, results(around, kernels, weights), atol=1e-9)


@pytest.mark.parametrize("count", [COUNT, 200])
def test_biases_are_added(count: int) -> None:
    def with_bias(images: Any, kernels: Any, weights: Any, bias: Any) -> Any:
        maps: Any = sum(terms(images, kernels), bias[:, None, None, None] + 0.5)
        return weights @ cw.within(maps, 0.2, 2.0).reshape(ROWS, -1) ** 2

    shapes = ((SIDE, SIDE, count), KERNELS, WEIGHTS, (CHANNELS,))
    program = cw.compile(with_bias, *(cw.Spec(each, bound=0.25) for each in shapes), precision=12)
    assert program.packing.kind == "matrices"
    assert program.scheme.parameters.levels == 3
    images, kernels, weights, bias = drawn(*shapes)
    images, kernels, bias = images / 8, kernels / 8, abs(bias)
    found = program.run(images, kernels, weights, bias)
    expected = results(images[np.newaxis], kernels, weights, bias + 0.5)
    np.testing.assert_allclose(found, expected, atol=2**-12)


@pytest.mark.parametrize("count", [COUNT, 200])
@pytest.mark.parametrize("transposed", [False, True])
def test_layers_after_have_biases(count: int, transposed: bool) -> None:
    known = np.linspace(-0.5, 0.5, 8)

    def layers(
        images: Any, kernels: Any, weights: Any, bias: Any, last: Any, of_last: Any, of_maps: Any
    ) -> Any:
        maps = (sum(terms(images, kernels)) + of_maps).reshape(ROWS, -1) ** 2
        if transposed:
            hidden = cw.within(maps.T @ weights.T + bias + known, -2, 2)
            return (hidden**2) @ last.T + of_last
        hidden = cw.within(weights @ maps + bias[:, None] + known[:, None], -2, 2)
        return last @ hidden**2 + of_last[:, None]

    shapes = ((SIDE, SIDE, count), KERNELS, (8, ROWS), (8,), (3, 8), (3,), (CHANNELS, 1, 1, 1))
    program = cw.compile(layers, *(cw.Spec(each, bound=0.25) for each in shapes), precision=12)
    assert program.packing.kind == "matrices"
    assert program.scheme.parameters.levels == 5
    values = drawn(*shapes)
    images, kernels, weights, bias, last, of_last, of_maps = values
    windows = np.stack([window(images, y, x) for y, x in PLACES])
    maps = np.einsum("ck,kyxn->cyxn", kernels.reshape(CHANNELS, -1), windows) + of_maps
    hidden = weights @ maps.reshape(ROWS, -1) ** 2 + (bias + known)[:, None]
    expected = last @ hidden**2 + of_last[:, None]
    found = program.run(*values)
    np.testing.assert_allclose(found, expected.T if transposed else expected, atol=2**-12)


def by_colours_at_once(images: Any, kernels: Any, weights: Any) -> Any:
    maps: Any = sum(
        cw.einsum("cd,dyxn->cyxn", kernels[..., y, x], window(images, y, x)) for y, x in PLACES
    )
    return weights @ maps.reshape(ROWS, -1) ** 2


def by_colours(images: Any, kernels: Any, weights: Any) -> Any:
    maps = [each for d in range(2) for each in terms(images[d], kernels[:, d])]
    return weights @ sum(maps).reshape(ROWS, -1) ** 2


def by_tensors(red: Any, green: Any, kernels: Any, weights: Any) -> Any:
    maps = [each for d, one in enumerate((red, green)) for each in terms(one, kernels[:, d])]
    return weights @ sum(maps).reshape(ROWS, -1) ** 2


def test_colours_are_places_of_windows() -> None:
    shapes = ((2, *IMAGES), (CHANNELS, 2, KERNEL, KERNEL), WEIGHTS)
    images, kernels, weights = drawn(*shapes)
    expected = results(images, kernels, weights)
    for function in (by_colours_at_once, by_colours):
        program = compiled(function, *shapes)
        assert counts_of(program)[1:] == COUNTS[1:]
        np.testing.assert_allclose(program.run_clear(images, kernels, weights), expected, atol=1e-9)
    program = compiled(by_tensors, IMAGES, IMAGES, *shapes[1:])
    assert counts_of(program)[1:] == COUNTS[1:]
    np.testing.assert_allclose(program.run_clear(*images, kernels, weights), expected, atol=1e-9)
