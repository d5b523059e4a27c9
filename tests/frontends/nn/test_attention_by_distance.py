"""An attention whose features fill ciphertexts, from torch to ciphertexts."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import cloakwork as cw
from cloakwork.programs.slots import Mul, SlotProgram

TOKENS, HEADS, FEATURES = 16, 2, 16


class Attention(nn.Module):
    """Heads of queries, keys and values, and what sums by their products."""

    def __init__(self) -> None:
        super().__init__()
        width = HEADS * FEATURES
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = (
            layer(x).view(-1, TOKENS, HEADS, FEATURES).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        shares = torch.softmax(query @ key.transpose(-1, -2) / FEATURES**0.5, dim=-1)
        summed = (shares @ value).transpose(1, 2).reshape(-1, TOKENS, HEADS * FEATURES)
        made: torch.Tensor = self.out(summed)
        return made


def test_an_attention_goes_by_distance_on_ciphertexts() -> None:
    torch.manual_seed(3)
    model = Attention().eval()
    samples = torch.randn(12, TOKENS, HEADS * FEATURES)
    network = cw.nn.compile(model, samples, precision=5, log_n=10, insecure=True, bootstrap=True)
    program = network.body
    assert isinstance(program, SlotProgram)
    products = [n for n, each in enumerate(program.operations) if isinstance(each, Mul)]
    assert any(f"tokens of {512 // TOKENS}" in program.stages[number] for number in products)
    # A product for each distance, of queries with keys and of shares with values.
    assert len(products) >= 2 * TOKENS
    client, evaluator = network.keygen()
    found = client.decrypt(evaluator.run(client.encrypt(samples[0].numpy())))
    expected = model(samples[:1]).detach().numpy()[0]
    assert network.error is not None
    assert np.abs(np.reshape(found, expected.shape) - expected).max() < network.error
