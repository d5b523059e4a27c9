"""Networks of words: what whoever encrypts looks up, and samples as the network takes them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cloakwork.errors import CaptureError
from cloakwork.frontends.nn.capture import captured
from cloakwork.frontends.nn.given_module import module_given
from cloakwork.frontends.nn.known_inputs import with_known_inputs
from cloakwork.runtime.lookup import Lookup

if TYPE_CHECKING:
    import torch


def lookup(
    module: torch.nn.Module, sample: Any, *, known: Mapping[str, Any] = MappingProxyType({})
) -> Lookup:
    """The client's part of a network of words: embeddings, and the norm behind them.

    `cloakwork.nn.compile` of the same module and sample makes the program of the rest.

    Args:
        module: The network, in eval mode.
        sample: Words, whole numbers as a tokenizer makes them: a batch, or a dict of batches.
        known: See `cloakwork.nn.compile`.

    Raises:
        CaptureError: The network looks no words up, or torch.export cannot follow it.
        CloakworkError: What `cloakwork.nn.compile` raises of a module that it cannot read.

    Example:
        >>> import pytest
        >>> torch = pytest.importorskip("torch")
        >>> from cloakwork.frontends.nn import compile
        >>> model = torch.nn.Sequential(torch.nn.Embedding(30, 4), torch.nn.Linear(4, 2)).eval()
        >>> words = torch.tensor([[1, 2, 3]])
        >>> look_up = lookup(model, words)
        >>> program = compile(model, words, calibration=torch.randint(30, (50, 3)))
        >>> client, evaluator = program.keygen()
        >>> found = client.decrypt(evaluator.run(client.encrypt(look_up(words[0]))))
        >>> bool(abs(found - model(words)[0].detach().numpy()).max() < program.error)
        True
    """
    found = captured(with_known_inputs(module_given(module), known), sample)[1]
    if found is None:
        raise CaptureError(
            "cannot make a lookup: expected a network of words, whole numbers that choose rows of "
            "an Embedding, got one of other inputs; encrypt these themselves"
        )
    return found


def embedded_samples(look_up: Lookup, given: Any) -> Any:
    """Samples of a network of words, a batch or an iterable of batches, as it takes them."""
    if isinstance(given, Mapping):
        named = {name: np.asarray(each) for name, each in given.items()}
        return look_up(**named)
    if hasattr(given, "__array__"):
        return look_up(np.asarray(given))
    if isinstance(given, tuple):
        return look_up(*map(np.asarray, given))
    return [embedded_samples(look_up, each) for each in given]
