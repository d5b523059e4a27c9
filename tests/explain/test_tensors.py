"""The tensors at the edges of a program."""

from cloakwork.explain.tensors import input_tensors, results_in_text
from cloakwork.programs.layout import Axis, Layout
from cloakwork.programs.slots import Builder, Input, Output

WHOLE = Layout(4, (Axis(4, 1),))
TILED = Layout(4, (Axis(10, 1, tile=4),))


def test_ciphertexts_of_a_tensor_are_one() -> None:
    builder = Builder("t", 4)
    entries: list[tuple[str, Layout | None]] = [("x", WHOLE)]
    entries += [(f"x.{tile}", TILED) for tile in range(3)]
    entries += [("y.0", WHOLE)]
    entries += [(f"y.{tile}", TILED) for tile in (0, 2)]
    entries += [("z", None), ("z", None)]
    values = [builder.append(Input(name, 1), layout) for name, layout in entries]
    assert [(each.name, each.values, each.layout) for each in input_tensors(builder.finish())] == [
        ("x", (0,), WHOLE),
        ("x", (1, 2, 3), TILED),
        ("y.0", (4,), WHOLE),
        ("y", (5, 6), TILED),
        ("z", (7,), None),
        ("z", (8,), None),
    ]
    for value, layout in ((values[0], WHOLE), *((value, TILED) for value in values[1:4])):
        builder.append(Output(value), layout)
    assert [(each.name, len(each.values)) for each in results_in_text(builder.finish())] == [
        ("result 1", 1),
        ("result 2", 3),
    ]


def test_two_tensors_of_one_name_and_layout_stay_two() -> None:
    builder = Builder("t", 4)
    for _ in range(2):
        for tile in range(3):
            builder.append(Input(f"x.{tile}", 1), TILED)
    assert [each.values for each in input_tensors(builder.finish())] == [(0, 1, 2), (3, 4, 5)]


def test_a_single_result_has_no_number() -> None:
    builder = Builder("t", 4)
    builder.append(Output(builder.append(Input("x", 1))))
    assert [each.name for each in results_in_text(builder.finish())] == ["result"]
