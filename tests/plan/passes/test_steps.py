"""Steps of a program stand with users first, and results where what they are of does."""

from cloakwork.plan.passes.steps import graph_of, users_first
from cloakwork.programs.slots import Builder, Input, Mul, Output, Rescale


def test_a_result_joins_right_before_what_it_is_of_is_made() -> None:
    builder = Builder("layers", 4)
    value = builder.append(Input("x", 6))
    made = []
    for _ in range(6):
        value = builder.append(Rescale(builder.append(Mul(value, value))))
        made.append(value)
    results = [builder.append(Output(each)) for each in made]
    program = builder.finish()
    steps = [step.numbers for step in users_first(graph_of(program))]
    expected = [
        numbers
        for value, result in zip(reversed(made), reversed(results), strict=True)
        for numbers in ([result], [value - 1, value])
    ]
    assert steps == expected
