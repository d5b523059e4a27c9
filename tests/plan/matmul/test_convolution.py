import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cloakwork as cw
from cloakwork.plan.matmul.chain import geometries
from cloakwork.plan.matmul.convolution import ADDED, Convolution, kernel_product
from cloakwork.plan.matmul.spine import spines
from cloakwork.plan.reals.options import RealOptions
from cloakwork.plan.tensors.search import Task
from cloakwork.programs.ir.tensors import Contract, Node, Rearrange, Source, Sum
from cloakwork.programs.keys import required_keys
from cloakwork.programs.slots import RotatedProducts
from tests.plan.matmul.chains import in_blocks_of, run_chain

SLOTS = 64


def by_slices(kernels: Source, images: Source, stride: int, positions: int) -> Node:
    """The sum over the places of a kernel, windows in a square."""
    channels, side, _ = kernels.shape
    columns = images.shape[-1]
    numbers = np.arange(math.prod(kernels.shape)).reshape(kernels.shape)
    pixels = np.arange(math.prod(images.shape)).reshape(images.shape)
    shape = (channels, positions, positions, columns)
    reach = stride * (positions - 1) + 1
    terms = tuple(
        Contract(
            (
                Rearrange(kernels, numbers[:, y, x]),
                Rearrange(images, pixels[y : y + reach : stride, x : x + reach : stride]),
            ),
            ("c", "yxn"),
            "cyxn",
            shape,
        )
        for y in range(side)
        for x in range(side)
    )
    total = Sum(terms, (1,) * len(terms), None, shape)
    rows = channels * positions**2
    return Rearrange(total, np.arange(rows * columns).reshape(rows, columns))


def square(node: Node) -> Contract:
    return Contract((node, node), ("ij", "ij"), "ij", node.shape)


def product(left: Node, right: Node) -> Contract:
    return Contract((left, right), ("ik", "kj"), "ij", (left.shape[0], right.shape[1]))


def in_the_clear(
    kernels: np.ndarray, images: np.ndarray, stride: int, positions: int
) -> np.ndarray:
    reach = stride * (positions - 1) + 1
    side = kernels.shape[1]
    windows = np.stack(
        [
            images[y : y + reach : stride, x : x + reach : stride].reshape(positions**2, -1)
            for y in range(side)
            for x in range(side)
        ]
    )
    made: np.ndarray = np.einsum("ck,kpn->cpn", kernels.reshape(len(kernels), -1), windows)
    return made.reshape(-1, images.shape[-1])


def test_slices_that_are_summed_are_a_convolution() -> None:
    kernels, images = Source("w", (2, 2, 2)), Source("x", (5, 5, 3))
    found = kernel_product(by_slices(kernels, images, stride=3, positions=2))
    assert found is not None
    assert (found.channels, found.places, found.positions) == (2, 4, 4)
    assert found.windows.tolist() == [
        [0, 3, 15, 18],
        [1, 4, 16, 19],
        [5, 8, 20, 23],
        [6, 9, 21, 24],
    ]
    assert (found.shape, found.multiplications) == ((8, 3), 2 * 4 * 4 * 3)


A, X = Source("a", (2, 2)), Source("x", (4, 3))
ROWS = np.arange(12).reshape(4, 3)
WINDOWS = Rearrange(X, np.stack([ROWS[:3], ROWS[1:]]))
MAPS = Contract((A, WINDOWS), ("ck", "kpn"), "cpn", (2, 3, 3))


@pytest.mark.parametrize(
    "node",
    [
        # Of numbers in the clear; of one tensor; of images across their columns; with a sign; of a
        # window twice; of images in another order; beside images.
        Contract((np.ones((2, 2)), WINDOWS), ("ck", "kpn"), "cpn", (2, 3, 3)),
        square(X),
        Contract(
            (A, Rearrange(X, np.arange(12).reshape(2, 3, 2))), ("ck", "kpn"), "cpn", (2, 3, 2)
        ),
        Sum((MAPS, MAPS), (1, -1), None, MAPS.shape),
        Sum((MAPS, MAPS), (1, 1), None, MAPS.shape),
        Rearrange(MAPS, np.arange(18)[::-1].reshape(6, 3)),
        Sum((MAPS, WINDOWS), (1, 1), None, MAPS.shape),
    ],
)
def test_what_is_no_convolution_is_left_alone(node: Node) -> None:
    assert kernel_product(as_matrix(MAPS)) is not None
    assert kernel_product(as_matrix(node)) is None


def as_matrix(node: Node) -> Node:
    columns = node.shape[-1]
    return Rearrange(node, np.arange(math.prod(node.shape)).reshape(-1, columns))


def test_kernels_lie_along_any_axis_and_are_added_to() -> None:
    maps = Contract((A, WINDOWS), ("kc", "kpn"), "cpn", (2, 3, 3))
    bias, constant = Source("b", (2, 1, 1)), np.arange(18.0).reshape(2, 3, 3)
    found = kernel_product(as_matrix(Sum((maps, bias), (1, 1), constant, maps.shape)))
    assert found is not None
    assert [(each.source, each.axis, each.rows) for each in found.kernels] == [
        (A, 1, 2),
        (bias, 0, 1),
    ]
    assert found.windows.tolist() == [[0, 1, 2], [1, 2, 3], [ADDED] * 3]
    assert found.constant is not None
    assert found.constant.tolist() == constant.reshape(6, 3).tolist()
    turned = kernel_product(Contract((as_matrix(maps),), ("ij",), "ji", (3, 6)), transposed=True)
    assert turned is not None
    assert (turned.shape, turned.windows.tolist()) == ((6, 3), [[0, 1, 2], [1, 2, 3]])


@settings(max_examples=25)
@given(
    st.data(),
    st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.integers(1, 20), st.integers(1, 20), st.integers(1, 6)),
    st.integers(0, 2**32),
)
def test_layers_follow_a_convolution_as_it_lies(
    data: st.DataObject, window: tuple[int, int, int], sizes: tuple[int, int, int], seed: int
) -> None:
    (channels, side, positions), (columns, units, classes) = window, sizes
    pixels = 2 * (positions - 1) + side
    kernels, images = Source("k", (channels, side, side)), Source("x", (pixels, pixels, columns))
    middle, last = Source("m", (units, channels * positions**2)), Source("l", (classes, units))
    maps = by_slices(kernels, images, 2, positions)
    (spine,) = spines([product(last, square(product(middle, square(maps))))])
    rng = np.random.default_rng(seed)
    arrays = {each: rng.uniform(-1, 1, each.shape) for each in (kernels, images, middle, last)}
    geometry = data.draw(st.sampled_from(list(geometries(spine, SLOTS))))
    found, depth, largest = run_chain(spine, geometry, arrays)
    assert depth == 5
    hidden = in_the_clear(arrays[kernels], arrays[images], 2, positions)
    expected = arrays[last] @ (arrays[middle] @ hidden**2) ** 2
    np.testing.assert_allclose(found, expected, atol=1e-8 * largest)


def network_of(columns: int) -> tuple[Node, list[Source]]:
    kernels, images = Source("k", (5, 5, 5)), Source("x", (29, 29, columns))
    middle = Source("m", (100, 845))
    node = product(middle, square(by_slices(kernels, images, 2, 13)))
    return node, [kernels, images, middle]


def test_kernels_meet_the_pixels_of_their_windows_alone() -> None:
    node, sources = network_of(4096)
    (spine,) = spines([node])
    assert isinstance(spine.first, Convolution)
    assert spine.multiplications == 845 * (25 + 100) * 4096
    bounds = dict(zip(sources, (0.3, 1.0, 0.05), strict=True))
    plan = in_blocks_of(Task(RealOptions(precision=8), [node], bounds))
    operations = [each for each in plan.program.operations if isinstance(each, RotatedProducts)]
    slots = plan.parameters.slots
    kinds = Counter(each.step == slots for each in operations)
    shares = slots // 4096
    # A sum of 25 products for each position and for as many kernels as share a ciphertext.
    assert kinds[True] == 169 * -(-5 // shares)
    assert {len(each.left) for each in operations if each.step == slots} == {25}
    # Keys are those of the product that follows.
    side = slots // next(each.step for each in operations if each.step < slots)
    keys = required_keys(plan.program)
    assert len(keys.rotated_products) == side - 1


def test_a_convolution_of_encrypted_images_by_encrypted_kernels() -> None:
    rng = np.random.default_rng(3)
    kernels, images = rng.uniform(-0.5, 0.5, (3, 2, 2)), rng.uniform(-1, 1, (9, 9, 512))
    weights = rng.uniform(-0.2, 0.2, (8, 48))

    def network(kernels: cw.Tensor, images: cw.Tensor, weights: cw.Tensor) -> cw.Tensor:
        terms = [
            cw.einsum("c,yxn->cyxn", kernels[:, y, x], images[y : y + 8 : 2, x : x + 8 : 2])
            for y in range(2)
            for x in range(2)
        ]
        maps = cw.within(sum(terms[1:], terms[0]).reshape(48, 512), -1.5, 1.5)
        return weights @ maps**2

    specs = [
        cw.Spec(each.shape, bound=float(np.abs(each).max())) for each in (kernels, images, weights)
    ]
    program = cw.compile(network, *specs, precision=8)
    assert program.packing.kind == "matrices"
    expected = weights @ in_the_clear(kernels, images, 2, 4) ** 2
    np.testing.assert_allclose(program.run(kernels, images, weights), expected, atol=2**-8)
    with pytest.raises(cw.errors.ValueOutOfRangeError, match="'convolution' expects"):
        program.run_clear(np.full(kernels.shape, 0.41), np.full(images.shape, 0.99), weights)
