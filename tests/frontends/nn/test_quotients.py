"""Quotients, roots, lengths and deviations are what torch computes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.nn import functional

import cloakwork as cw
from tests.frontends.nn.function_module import Function
from tests.thoroughness import slow

# Of inputs in (0, 1), of shape (4, 6).
FUNCTIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "quotient": lambda x: (x - 0.3) / (1 + x.flip(2)),
    "quotient by a sum": lambda x: x / (1 + x.sum(1, keepdim=True)),
    "known number by a value": lambda x: torch.arange(1.0, 7.0) / (1 + x),
    "softsign": functional.softsign,
    "square root": lambda x: torch.sqrt(x + 0.5),
    "powers": lambda x: (x + 1) ** -1 + (x + 1) ** -0.5 + (x + 1) ** 0.5,
    "norm": lambda x: x.norm(dim=2),
    "norm of two axes": lambda x: torch.linalg.vector_norm(x, dim=(1, 2), keepdim=True),
    "normalised": lambda x: functional.normalize(x, dim=1),
    "similarity": lambda x: functional.cosine_similarity(x, x.flip(1) + 0.5, dim=2),
    "variance": lambda x: x.var(2),
    "variance of all elements": lambda x: torch.var(x, dim=(1, 2), correction=0),
    "deviation": lambda x: x.std(1, keepdim=True),
    "deviation by number": lambda x: torch.std(x, dim=2, unbiased=False),
    "standardised": lambda x: (x - x.mean(2, keepdim=True)) / x.std(2, keepdim=True),
    "logarithm": lambda x: torch.log(x + 0.5),
    "error function": torch.erf,
    "sine and cosine": lambda x: torch.sin(3 * x) + torch.cos(2 * x),
}


def inputs() -> torch.Tensor:
    return torch.rand(200, 4, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)


# They differ little from others here.
ALIKE = (
    "quotient by a sum",
    "norm of two axes",
    "variance of all elements",
    "deviation by number",
    "square root",
    "logarithm",
    "error function",
    "known number by a value",
    "norm",
)


@pytest.mark.parametrize(
    "name", [*(name for name in FUNCTIONS if name not in ALIKE), *slow(*ALIKE)]
)
def test_in_the_clear_they_are_what_torch_computes(name: str) -> None:
    module, x = Function(FUNCTIONS[name]).eval(), inputs()
    program = cw.nn.compile(module, x, precision=8, log_n=12, insecure=True)
    found = np.stack([program.run_clear(each) for each in x[:8]])
    np.testing.assert_allclose(found, module(x[:8]).numpy(), rtol=0, atol=program.error or 0.0)


@pytest.mark.parametrize("name", ["normalised", "quotient"])
def test_on_ciphertexts_they_are_what_torch_computes(name: str) -> None:
    module, x = Function(FUNCTIONS[name]).eval(), inputs()
    program = cw.nn.compile(module, x, precision=8, log_n=12, insecure=True)
    client, evaluator = program.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(x[0])))
    np.testing.assert_allclose(found, module(x[:1])[0].numpy(), rtol=0, atol=program.error or 0.0)


def test_dividing_by_a_norm_takes_one_function() -> None:
    x = inputs()
    taken = [
        cw.nn.compile(Function(each).eval(), x, precision=8, log_n=12, insecure=True)
        for each in (FUNCTIONS["normalised"], lambda x: x * (x * x).sum(1, True).rsqrt())
    ]
    normalised, by_hand = (dict(cw.estimate(each).operations) for each in taken)
    assert normalised == by_hand


def test_what_reaches_zero_is_no_divisor() -> None:
    module = Function(lambda x: 1 / (x - 0.5)).eval()
    with pytest.raises(cw.errors.ActivationFitError, match="expected numbers above 0"):
        cw.nn.compile(module, inputs(), log_n=12, insecure=True)
