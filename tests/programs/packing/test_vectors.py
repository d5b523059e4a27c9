"""How numbers lie in vectors, in each packing of numbers."""

import tracemalloc
from pathlib import Path

import numpy as np

import cloakwork as cw
from cloakwork.programs.ir.vectors import PlacedScalar
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.packing.batch import BatchPacking
from cloakwork.programs.packing.results import Leaf
from cloakwork.programs.packing.scalar import ResultPlace, ScalarPlaces
from cloakwork.programs.packing.tensor import PlacedInput, TensorPacking
from cloakwork.programs.places import Places
from cloakwork.programs.port import Port


def ports(size: int) -> list[Port]:
    """An input and an output of so many numbers."""
    return [Port(name, "real", shape=(size,), low=-1.0, high=1.0) for name in "xy"]


def test_a_tensor_lies_as_its_layout_says() -> None:
    layout = Layout(4, (Axis(3, 1),))
    x, y = ports(3)
    placed = (PlacedInput(0, layout), PlacedInput(0, layout))
    packing = TensorPacking((x,), (y,), placed, (layout,), Leaf(0))
    (run,) = packing.pack({"x": [0.5, 0.0, 1.0]}, "encrypt").runs
    assert {number: vector.tolist() for number, vector in run.items()} == {
        0: [0.5, 0.0, 1.0, 0.0],
        1: [0.5, 0.0, 1.0, 0.0],
    }
    assert packing.vector_counts == (2, 1)
    assert packing.unpack([[run[0]]], None).tolist() == [0.5, 0.0, 1.0]


def test_inputs_of_a_batch_lie_beside_each_other() -> None:
    places = Places(2, np.array([0, 1]))
    x, y = ports(2)
    packing = BatchPacking((x,), (y,), (places,), (places,), Leaf(0), width=2, batch=2)
    (run,) = packing.pack({"x": [[1.0, 0.5], [0.0, -1.0]]}, "encrypt").runs
    assert run[0].tolist() == [1.0, 0.0, 0.5, -1.0]


def test_evaluations_lie_side_by_side_row_after_row() -> None:
    places = ScalarPlaces(4, 2, ((PlacedScalar(1, "x", 0),),), (ResultPlace(0, 1),))
    (vector,) = places.pack({"x": np.array([[5], [6], [7]])})
    assert vector.tolist() == [[0, 5, 0, 6], [0, 7, 0, 0]]
    assert places.unpack([vector], 3) == [[5], [6], [7]]


def test_two_inputs_share_the_parts_of_complex_slots() -> None:
    places = Places(2, np.array([0, 1]))
    x, y = ports(2)
    packing = BatchPacking((x,), (y,), (places,), (places,), Leaf(0), width=2, batch=2, pairs=True)
    (run,) = packing.pack({"x": [[1.0, 0.5], [0.0, -1.0]]}, "encrypt").runs
    # Inputs are halved, results are not.
    assert run[0].tolist() == [0.5 + 0.0j, 0.25 - 0.5j]
    assert packing.unpack([[2 * run[0]]], 2).tolist() == [[1.0, 0.5], [0.0, -1.0]]
    bounds = packing.input_bounds()
    assert bounds is not None
    assert np.allclose(bounds[0], np.hypot(0.5, 0.5))


def test_evaluations_in_a_file_are_packed_as_they_are_taken(tmp_path: Path) -> None:
    program = cw.compile(lambda x: x * x, (4,), precision=10, log_n=10, insecure=True)
    rows = np.random.default_rng(0).uniform(-1, 1, (3000, 4))
    np.save(tmp_path / "rows.npy", rows)
    data = np.load(tmp_path / "rows.npy", mmap_mode="r")
    tracemalloc.start()
    try:
        packed = program.pack({"x": data}, "encrypt")
        seen = sum(float(vectors[0][1]) for vectors in packed.runs)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert packed.count == 3000
    np.testing.assert_allclose(seen, rows[:, 1].sum())
    # All vectors together, of 512 doubles each, would be 12 MB.
    assert peak < 6 << 20
