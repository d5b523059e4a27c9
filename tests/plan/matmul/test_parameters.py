import pytest

from cloakwork._native import Parameters
from cloakwork.plan.analysis.precision import predicted_precision
from cloakwork.plan.matmul.parameters import product_sketch
from cloakwork.programs.slots import (
    Builder,
    Input,
    Output,
    Rescale,
    RotatedProducts,
    SlotProgram,
    SwitchProduct,
)
from cloakwork.schemes.ckks_noise import noise_of


def summed_at_once(terms: int, log_n: int) -> SlotProgram:
    builder = Builder("product", 1 << log_n - 1)
    left, right = (builder.append(Input(name, 1)) for name in "ab")
    products = builder.append(RotatedProducts((left,) * terms, (right,) * terms, builder.slots))
    value = builder.append(Rescale(builder.append(SwitchProduct(products, 0))))
    builder.append(Output(value))
    return builder.finish()


@pytest.mark.parametrize("terms", [1, 2, 3, 44, 1000])
def test_a_sketch_has_the_errors_of_all_terms(terms: int) -> None:
    parameters = Parameters(levels=1, scale_bits=40, log_n=10, insecure=True)
    noise = noise_of(parameters)
    found, expected = (
        predicted_precision(each, [None if state.products else 1.0 for state in each.states], noise)
        for each in (product_sketch(terms, 0, 10), summed_at_once(terms, 10))
    )
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_sketch_does_not_grow_with_the_terms() -> None:
    sketch = product_sketch(10**7, 0, 13)
    assert sum(len(each.operands) for each in sketch.operations) < 100
