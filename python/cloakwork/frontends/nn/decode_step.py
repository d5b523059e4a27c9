"""One step of a decoder of Hugging Face: a word and its keys and values among those before.

Keys and values lie in tensors of the planned length, zeros where no word was yet. A step adds its
own at its place, and its query sees what is there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from cloakwork.frontends.nn.step_names import FEATURES, NEXT

if TYPE_CHECKING:
    from torch import Tensor

# What transformers calls the attention of such a step.
_ATTENTION = "cloakwork"


class DecodeStep(torch.nn.Module):
    """The step of a decoder, without what makes logits of its last features.

    Args:
        model: A model of transformers that has a decoder as its base.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.base: Any = model.base_model

    def forward(
        self, input_ids: Tensor, position_ids: Tensor, at: Tensor, seen: Tensor, **caches: Tensor
    ) -> dict[str, Tensor]:
        """The last features of a word, and the keys and values of the next step.

        Args:
            input_ids: The word, (batch, 1).
            position_ids: Its position, (batch, 1).
            at: 1 at its position, 0 at all others: (batch, length).
            seen: One and the same number at all positions up to its own, 0 after: (batch, length).
            caches: `keys_0`, `values_0` and so on by layers: (batch, heads, length, width).
        """
        shape = caches["keys_0"].shape
        heads = self.base.config.num_attention_heads
        cache = _GrowingCache(caches, at[:, None, :, None].expand(shape))
        with _attention_of_steps(self.base.config):
            features = self.base(
                input_ids=input_ids,
                position_ids=position_ids,
                attention_mask=seen[:, None, None, :].expand(-1, heads, 1, -1),
                past_key_values=cache,
                use_cache=True,
                # Sizes and masks do not follow from it; what positions do is by position_ids.
                cache_position=torch.zeros(1, dtype=torch.int64),
            )[0]
        return {
            FEATURES: features[:, 0],
            **{NEXT + name: made for name, made in cache.made.items()},
        }


class _GrowingCache:
    """Takes the place of transformers' cache: adds what is new at the position of the word."""

    is_compileable = False

    def __init__(self, caches: Mapping[str, Tensor], at: Tensor) -> None:
        self._caches = caches
        self._at = at
        self.made: dict[str, Tensor] = {}

    def update(
        self, keys: Tensor, values: Tensor, layer: int, _: object = None
    ) -> tuple[Tensor, Tensor]:
        """The keys and values of a layer with those of the word."""
        for kind, new in (("keys", keys), ("values", values)):
            name = f"{kind}_{layer}"
            self.made[name] = self._caches[name] + self._at * new
        return self.made[f"keys_{layer}"], self.made[f"values_{layer}"]

    def get_seq_length(self, _: int = 0) -> int:
        """How many words there were, of which nothing here depends."""
        return 0


def _attended(
    _: Any, query: Tensor, key: Tensor, value: Tensor, seen: Tensor, **options: Any
) -> tuple[Tensor, None]:
    """The attention of one query to what is seen, as transformers calls it.

    Elements keep their places, which are those that the state has.
    """
    scaling = options.get("scaling")
    scaling = query.shape[-1] ** -0.5 if scaling is None else scaling
    groups = query.shape[1] // key.shape[1]
    key, value = (
        each.repeat_interleave(groups, 1) if groups > 1 else each for each in (key, value)
    )
    scores = (query * scaling * key).sum(-1)[:, :, None]
    powers = torch.exp(scores) * seen
    sums = torch.nn.functional.linear(powers, torch.ones(2 * powers.shape[-1:]).to(powers))
    weights = powers * torch.reciprocal(sums)
    return (weights.transpose(-1, -2) * value).sum(2)[:, None], None


@contextmanager
def _attention_of_steps(config: Any) -> Iterator[None]:
    """Have a model attend as steps do."""
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS  # noqa: PLC0415

    ALL_ATTENTION_FUNCTIONS.register(_ATTENTION, _attended)
    before = config._attn_implementation_internal
    config._attn_implementation_internal = _ATTENTION
    try:
        yield
    finally:
        config._attn_implementation_internal = before
