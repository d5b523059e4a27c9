"""Text that a decoder generates on encrypted state: one step is a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cloakwork._native import Parameters
from cloakwork.base.arguments import shown
from cloakwork.base.progress import announced_steps
from cloakwork.base.system_memory import names_memory
from cloakwork.errors import (
    InvalidArgumentError,
    NotFiniteError,
    UnsupportedLayerError,
    ValueOutOfRangeError,
)
from cloakwork.frontends.nn.capture import captured_beside_words, require_eval
from cloakwork.frontends.nn.compile_module import require_packages
from cloakwork.frontends.nn.required_module import load_torch, required_module
from cloakwork.frontends.nn.step_names import FEATURES, NEXT
from cloakwork.plan.functions.observed import MARGIN
from cloakwork.plan.networks.options import NetworkOptions
from cloakwork.programs.ir import layers as g
from cloakwork.runtime.costs import Costs, comparable
from cloakwork.runtime.lookup import Lookup
from cloakwork.runtime.program import Program
from cloakwork.runtime.self_check import require_agreement
from cloakwork.runtime.state import Kept
from cloakwork.runtime.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]

_ACTION = "compile the steps of a decoder"
# A model's numbers are those of its steps but for such a part of them.
_ROUNDING = 1e-3
# Of the states that go with the steps of a batch.
_MOST_BYTES_OF_A_BATCH = 1 << 26


@names_memory("compile")
def compile_generation(
    model: torch.nn.Module,
    texts: Any,
    *,
    precision: int = 16,
    margin: float = MARGIN,
    degrees: Mapping[str, int] | None = None,
    key_budget: int | None = None,
    log_n: int | None = None,
    insecure: bool = False,
    costs: Callable[[Parameters], Costs] = comparable,
    bootstrap: bool | None = None,
) -> tuple[Program, Vocabulary]:
    """Make a program of one step of a decoder, whose keys and values are the evaluator's state.

    A step takes a word and gives the last features, of which the client makes logits and
    chooses the next word. Keys and values of all words so far stay with the evaluator, encrypted;
    see `cloakwork.state`.

    Args:
        model: A decoder of transformers with a language modelling head, such as GPT2LMHeadModel,
            in eval mode.
        texts: Words, whole numbers, such as the model is to be run on: (texts, length). No
            sequence may be longer.
        precision: As of `cloakwork.nn.compile`, of the features; so are all others.

    Returns:
        The program, whose inputs are what `Vocabulary.inputs` gives, and the client's part of the
        model.

    Raises:
        InvalidArgumentError: The texts are not whole numbers of that form.
        ValueOutOfRangeError: They have words or positions that the model does not have.
        UnsupportedLayerError: The model does not work as decoders of transformers do.
        TrainingModeError: It is in training mode.
        CloakworkError: What `cloakwork.nn.compile` raises.
    """
    require_packages()
    load_torch()
    # Only compiling a network takes them; running one does not.
    from cloakwork.plan.networks.compile_graph import STEPS, compile_graph  # noqa: PLC0415

    model = required_module(model)
    options = NetworkOptions(
        title=f"a step of {type(model).__name__}",
        precision=precision,
        margin=margin,
        degrees=degrees,
        key_budget=key_budget,
        log_n=log_n,
        insecure=insecure,
        costs=costs,
        bootstrap=bootstrap,
    )
    require_eval(model)
    words = _words(texts)
    with announced_steps(
        f"compiling {options.title}", total=1 + STEPS + len(options.rings)
    ) as tell:
        tell("reading the module")
        decoder = _Decoder.of(model, words)
        graph, look_up = decoder.captured()
        length = words.shape[1]
        kept = [Kept(name, NEXT + name, 0.0, length) for name in decoder.caches]
        program = compile_graph(graph, decoder.samples(look_up), options, tell, kept=kept)
        decoder.require_agreement(program, look_up)
        return program, Vocabulary(look_up, length, decoder.head, program.error or 0.0)


def _words(texts: Any) -> NDArray[np.int64]:
    try:
        words = np.asarray(texts)
    except ValueError:
        # Texts of several lengths.
        words = np.array([], dtype=object)
    if words.dtype.kind not in "iu" or words.ndim != 2 or not words.size:
        raise InvalidArgumentError(
            f"cannot {_ACTION}: expected texts as whole numbers of shape (texts, length), got "
            f"{shown(texts)}; give what the tokenizer makes, cut to one length"
        )
    return words.astype(np.int64)


def _require_words(model: torch.nn.Module, words: NDArray[np.int64]) -> None:
    """Refuse texts that a model has no rows of embeddings for."""
    rows = getattr(model, "get_input_embeddings", lambda: None)()
    least, largest = int(words.min()), int(words.max())
    if rows is not None and (least < 0 or largest >= len(rows.weight)):
        raise ValueOutOfRangeError(
            f"cannot {_ACTION}: expected words from 0 to {len(rows.weight) - 1}, got {least} to "
            f"{largest}; use the model's own tokenizer"
        )
    most = getattr(getattr(model, "config", None), "max_position_embeddings", None)
    if most is not None and words.shape[1] > most:
        raise ValueOutOfRangeError(
            f"cannot {_ACTION}: expected texts of {most} words at most, as many positions as "
            f"{type(model).__name__} has, got {words.shape[1]}; cut them"
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Decoder:
    """A model, its steps, and texts that it is run on.

    Args:
        model: The model.
        step: Its step.
        words: The texts.
        caches: The names of its keys and values.
        head: What makes logits of its last features.
    """

    model: Any
    step: torch.nn.Module
    words: NDArray[np.int64]
    caches: tuple[str, ...]
    head: Array

    @classmethod
    def of(cls, model: torch.nn.Module, words: NDArray[np.int64]) -> _Decoder:
        """A model whose steps make what it makes of whole texts.

        Raises:
            UnsupportedLayerError: They do not.
        """
        from cloakwork.frontends.nn.decode_step import DecodeStep  # noqa: PLC0415

        head = getattr(model, "get_output_embeddings", lambda: None)()
        if head is None:
            raise _unsupported(model, "has a language modelling head", "has none")
        if not bool(head.weight.isfinite().all()):
            raise NotFiniteError(
                f"cannot {_ACTION}: expected finite weights, got NaN or an infinity in the head "
                f"of {type(model).__name__}; load its trained weights"
            )
        _require_words(model, words)
        made = cls(model, DecodeStep(model).eval(), words, (), _array(head.weight))
        caches, features = made._of_text(0)
        made = replace(made, caches=tuple(caches))
        made._require_steps(caches, features)
        return made

    def captured(self) -> tuple[g.Graph, Lookup]:
        """The graph of a step, and what looks up its word and position."""
        given = self._inputs(0, [0, -1], self._of_text(0)[0])
        try:
            graph, look_up = captured_beside_words(self.step, given)
        except UnsupportedLayerError as refusal:
            reason, *_ = str(refusal).partition(";")
            # What else may be known, which it goes on with, is no choice of whoever generates.
            raise _unsupported(
                self.model, "has layers as GPT-2 has them", f"cannot be followed: {reason}"
            ) from refusal
        if look_up is None:
            raise _unsupported(self.model, "looks words up in an Embedding", "does not")
        nodes = [
            replace(node, operation=replace(node.operation, is_mask=True))
            if isinstance(node.operation, g.InputLayer) and node.name == "seen"
            else node
            for node in graph.nodes
        ]
        return g.build(nodes, graph.form), look_up

    def samples(self, look_up: Lookup) -> _Samples:
        """The inputs of the steps of all texts, in batches."""
        return _Samples(self, look_up)

    def inputs(self, text: int, look_up: Lookup) -> Iterator[dict[str, Array]]:
        """The program's inputs of all steps of a text, in batches."""
        caches, _ = self._of_text(text)
        for steps in self._batches(caches):
            yield _looked_up(self._inputs(text, steps, caches), look_up)

    def require_agreement(self, program: Program, look_up: Lookup) -> None:
        """Refuse a program that in the clear gives other numbers than the model.

        Raises:
            PlanMismatchError: It does.
        """
        import torch  # noqa: PLC0415

        steps = [0, self.words.shape[1] - 1]
        with torch.no_grad():
            given = self._inputs(0, steps, self._of_text(0)[0])
            made = [_array(each) for each in self.step(**given).values()]
        largest = max(float(np.abs(each).max()) for each in made)
        allowed = (program.error or 0.0) + _ROUNDING * largest
        require_agreement(program, lambda _: made, allowed, [_looked_up(given, look_up)])

    def _inputs(
        self, text: int, steps: Sequence[int], caches: Mapping[str, torch.Tensor]
    ) -> dict[str, torch.Tensor]:
        """What the step module takes at steps of a text, a row for each."""
        import torch  # noqa: PLC0415

        kind = next(iter(caches.values())).dtype
        length = self.words.shape[1]
        places = torch.arange(length)
        own = places[list(steps)]
        seen = places[None] <= own[:, None]
        before = (places[None] < own[:, None])[:, None, :, None]
        return {
            "input_ids": torch.from_numpy(self.words[text])[own][:, None],
            "position_ids": own[:, None],
            "at": (places[None] == own[:, None]).to(kind),
            "seen": (seen / (own[:, None] + 1.0)).to(kind),
            **{name: each * before for name, each in caches.items()},
        }

    def _batches(self, caches: Mapping[str, torch.Tensor]) -> Iterator[range]:
        """All steps, in batches whose keys and values take little memory."""
        size = sum(each.numel() for each in caches.values()) * np.dtype(np.float64).itemsize
        length, count = self.words.shape[1], max(1, _MOST_BYTES_OF_A_BATCH // size)
        for start in range(0, length, count):
            yield range(start, min(start + count, length))

    def _of_text(self, text: int) -> tuple[dict[str, torch.Tensor], torch.Tensor]:
        """The keys and values of all words of a text by name, and its last features."""
        import torch  # noqa: PLC0415

        words = torch.from_numpy(self.words[text : text + 1])
        with torch.no_grad():
            made = self.model.base_model(input_ids=words, use_cache=True)
        caches: dict[str, torch.Tensor] = {}
        for number, layer in enumerate(made.past_key_values.layers):
            caches |= {f"keys_{number}": layer.keys, f"values_{number}": layer.values}
        return caches, made.last_hidden_state[0]

    def _require_steps(self, caches: Mapping[str, torch.Tensor], features: torch.Tensor) -> None:
        """Refuse a model whose steps or head make other numbers than it makes itself."""
        import torch  # noqa: PLC0415

        with torch.no_grad():
            made = [
                self.step(**self._inputs(0, steps, caches))[FEATURES]
                for steps in self._batches(caches)
            ]
            found = _array(torch.cat(made))
            logits = _array(self.model(torch.from_numpy(self.words[:1])).logits[0])
        for each, wanted in ((found, _array(features)), (found @ self.head.T, logits)):
            if np.abs(each - wanted).max() > _ROUNDING * np.abs(wanted).max():
                raise _unsupported(
                    self.model,
                    "attends to keys by a softmax of products, and has a head without a bias",
                    "makes other numbers",
                )


@dataclass(frozen=True, slots=True, eq=False)
class _Samples:
    """The inputs of the steps of texts, which can be read again."""

    decoder: _Decoder
    look_up: Lookup

    def __len__(self) -> int:
        return len(self.decoder.words)

    def __iter__(self) -> Iterator[dict[str, Array]]:
        for text in range(len(self.decoder.words)):
            yield from self.decoder.inputs(text, self.look_up)


def _looked_up(given: Mapping[str, torch.Tensor], look_up: Lookup) -> dict[str, Array]:
    """The inputs of the program, of those of the step module."""
    arrays = {name: each.numpy() for name, each in given.items()}
    embedded = look_up(*(arrays.pop(name) for name in look_up.inputs))
    return {look_up.name: embedded, **arrays}


def _array(tensor: torch.Tensor) -> Array:
    return np.asarray(tensor.detach().double().numpy())


def _unsupported(model: Any, expected: str, got: str) -> UnsupportedLayerError:
    return UnsupportedLayerError(
        f"cannot {_ACTION}: expected a decoder of transformers that {expected}, got "
        f"{type(model).__name__}, which {got}; compile it by cloakwork.nn.compile, for texts of "
        "one length"
    )
