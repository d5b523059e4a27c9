"""Text that a decoder generates on encrypted state, step by step, as transformers' own does."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
import transformers as hf
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.frontends.nn import generation
from cloakwork.runtime import container
from tests.thoroughness import slow

# DeBERTa does so where it is made.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")

WORDS, LENGTH = 40, 6
SMALL: dict[str, Any] = {"precision": 6, "log_n": 10, "insecure": True, "bootstrap": True}


def decoder(layers: int = 1, heads: int = 2, width: int = 16) -> Any:
    """A GPT-2 whose weights are drawn, of scores that differ."""
    torch.manual_seed(0)
    config = hf.GPT2Config(
        n_embd=width, n_layer=layers, n_head=heads, vocab_size=WORDS, n_positions=2 * LENGTH
    )
    config.initializer_range = 0.2
    return hf.GPT2LMHeadModel(config).eval()


def texts(count: int, seed: int = 0) -> NDArray[np.int64]:
    """Texts of words that are drawn."""
    return np.random.default_rng(seed).integers(WORDS, size=(count, LENGTH))


def logits_of(model: Any, words: list[int]) -> NDArray[np.float64]:
    """What the model itself makes of a sequence, for the word after it."""
    with torch.no_grad():
        made = model(torch.tensor([words])).logits[0, -1]
    return np.asarray(made.double().numpy())


Compiled = tuple[Any, cw.Program, cw.nn.Vocabulary]


def compiled(model: Any, samples: int = 24) -> Compiled:
    return model, *cw.nn.compile_generation(model, texts(samples), **SMALL)


@pytest.fixture(scope="module")
def small() -> Compiled:
    return compiled(decoder())


def simulated_steps(program: cw.Program, vocabulary: cw.nn.Vocabulary) -> Generator[Any, int, None]:
    """Sends words into steps in the clear with modelled errors; gives features."""
    state = {
        port.name: np.zeros(port.shape)
        for port in program.inputs
        if port.name in {each.input for each in program.kept}
    }
    features = None
    for step in range(vocabulary.length):
        word = yield features
        found = program.simulate(**vocabulary.inputs(word, step), **state, seed=step)
        assert found.outside == ()
        state = {each.input: found.outputs[each.result] for each in program.kept}
        features = found.outputs["features"]
    yield features


@pytest.mark.parametrize("shape", [(1, 2, 16), *slow(((2, 4, 32),))])
def test_steps_make_what_transformers_makes_of_a_whole_text(
    shape: tuple[int, ...], small: Compiled
) -> None:
    model, program, vocabulary = small if shape == (1, 2, 16) else compiled(decoder(*shape))
    steps = simulated_steps(program, vocabulary)
    next(steps)
    # A prompt of two words, and the likeliest after it again and again.
    words = texts(1)[0, :2].tolist()
    features = [steps.send(word) for word in words][-1]
    while len(words) < LENGTH:
        logits = vocabulary.logits(features)
        assert np.abs(logits - logits_of(model, words)).max() < vocabulary.error < 0.5
        words.append(int(logits.argmax()))
        features = steps.send(words[-1])
    assert np.abs(vocabulary.logits(features) - logits_of(model, words)).max() < vocabulary.error


def test_a_restarted_evaluator_goes_on_from_its_files(small: Compiled, tmp_path: Path) -> None:
    model, program, vocabulary = small
    client, evaluator = program.keygen()
    client.start().save(tmp_path / "state")
    evaluator.save(tmp_path / "evaluator")
    words = texts(1)[0, :3].tolist()
    for step, word in enumerate(words):
        server = cw.load(tmp_path / "evaluator", cw.Evaluator, insecure=True)
        state = cw.load(tmp_path / "state", cw.EncryptedState)
        sent = client.encrypt(**vocabulary.inputs(word, step))
        made = server.run(sent, state=state, step=step)
        state.save(tmp_path / "state")
        # What is state stays with the evaluator.
        assert made.numbers() == {0}
        assert made.nbytes < state.nbytes
        found = vocabulary.logits(client.decrypt(made)["features"])
        expected = logits_of(model, words[: step + 1])
        assert np.abs(found - expected).max() < vocabulary.error


@pytest.mark.slow
def test_several_layers_run_on_ciphertexts_though_estimates_outgrow_all_numbers() -> None:
    model, program, vocabulary = compiled(decoder(layers=2), samples=8)
    planned = program.estimated_inputs
    assert planned is not None
    assert max(each.deviation for each in planned) == sys.float_info.max
    client, evaluator = program.keygen()
    state = client.start()
    words = texts(8)[0, :2].tolist()
    for step, word in enumerate(words):
        made = evaluator.run(client.encrypt(**vocabulary.inputs(word, step)), state=state)
        found = vocabulary.logits(client.decrypt(made)["features"])
        expected = logits_of(model, words[: step + 1])
        assert np.abs(found - expected).max() < vocabulary.error


def test_states_are_refused_by_name(small: Compiled) -> None:
    _, program, vocabulary = small
    client, evaluator = program.keygen()
    sent = client.encrypt(**vocabulary.inputs(1, 0))
    state = client.start()
    with pytest.raises(cw.errors.StepMismatchError, match="step 1, got that of step 0"):
        evaluator.run(sent, state=state, step=1)
    with pytest.raises(cw.errors.InvalidArgumentError, match="expected the state"):
        evaluator.run(sent)
    other, _ = program.keygen()
    with pytest.raises(cw.errors.KeyMismatchError):
        evaluator.run(sent, state=other.start())
    counter = cw.compile(lambda n, x: n + x, cw.state((), bound=9, steps=9), ())
    with pytest.raises(cw.errors.ProgramMismatchError):
        evaluator.run(sent, state=counter.keygen()[0].start())
    state.step = LENGTH
    with pytest.raises(cw.errors.StepsSpentError, match=f"up to {LENGTH - 1} steps"):
        evaluator.run(sent, state=state)


def test_a_sequence_longer_than_planned_is_refused(small: Compiled) -> None:
    _, _, vocabulary = small
    with pytest.raises(
        cw.errors.StepsSpentError, match=f"{LENGTH} positions .* number {LENGTH + 1}"
    ):
        vocabulary.inputs(1, LENGTH)
    with pytest.raises(cw.errors.ValueOutOfRangeError, match="from 0 to 39, got 40"):
        vocabulary.inputs(WORDS, 0)
    with pytest.raises(cw.errors.ShapeMismatchError, match="expected 16 numbers"):
        vocabulary.logits(np.zeros(3))


def test_the_vocabulary_goes_to_the_client_by_a_file(small: Compiled, tmp_path: Path) -> None:
    *_, vocabulary = small
    vocabulary.save(tmp_path / "vocabulary")
    again = cw.load(tmp_path / "vocabulary", cw.nn.Vocabulary)
    for name, each in vocabulary.inputs(7, 3).items():
        np.testing.assert_array_equal(again.inputs(7, 3)[name], each)
    features = np.arange(16.0)
    np.testing.assert_array_equal(again.logits(features), vocabulary.logits(features))
    assert (again.length, again.error) == (LENGTH, vocabulary.error)
    container.write(
        tmp_path / "damaged", "vocabulary file", {**vocabulary._record(), "head": np.zeros((0, 2))}
    )
    with pytest.raises(cw.errors.MalformedBytesError, match="head of finite numbers"):
        cw.load(tmp_path / "damaged", cw.nn.Vocabulary)


def test_samples_are_the_same_in_batches_of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder_steps = generation._Decoder.of(decoder(), texts(2))
    samples = decoder_steps.samples(decoder_steps.captured()[1])
    whole = list(samples)
    monkeypatch.setattr(generation, "_MOST_BYTES_OF_A_BATCH", 1)
    single = list(samples)
    assert (len(whole), len(single)) == (2, 2 * LENGTH)
    for name, each in whole[0].items():
        np.testing.assert_array_equal(
            np.concatenate([step[name] for step in single]),
            np.concatenate([each, whole[1][name]]),
        )


def test_a_decoder_that_masks_other_words_is_refused() -> None:
    config = hf.GPTNeoConfig(
        vocab_size=WORDS,
        hidden_size=16,
        num_layers=1,
        num_heads=2,
        attention_types=[[["local"], 1]],
        window_size=2,
        max_position_embeddings=LENGTH,
    )
    with pytest.raises(cw.errors.UnsupportedLayerError, match="makes other numbers"):
        cw.nn.compile_generation(hf.GPTNeoForCausalLM(config).eval(), texts(2))


def test_positions_that_turn_keys_are_refused_with_what_would_do() -> None:
    config = hf.LlamaConfig(
        vocab_size=WORDS,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=LENGTH,
    )
    message = "as GPT-2 has them, got LlamaForCausalLM.*position_ids.*texts of one length"
    with pytest.raises(cw.errors.UnsupportedLayerError, match=message) as raised:
        cw.nn.compile_generation(hf.LlamaForCausalLM(config).eval(), texts(2))
    assert "known=" not in str(raised.value)


def test_what_is_no_decoder_is_refused() -> None:
    with pytest.raises(cw.errors.TrainingModeError, match="eval"):
        cw.nn.compile_generation(decoder().train(), texts(2))
    with pytest.raises(cw.errors.UnsupportedLayerError, match="language modelling head"):
        cw.nn.compile_generation(torch.nn.Embedding(4, 2).eval(), texts(2))
    with pytest.raises(cw.errors.InvalidArgumentError, match="whole numbers of shape"):
        cw.nn.compile_generation(decoder(), np.zeros((2, LENGTH)))
    scaled = decoder(layers=2)
    for block in scaled.transformer.h:
        # Only transformers' own attention does so.
        block.attn.scale_attn_by_inverse_layer_idx = True
    scaled.config._attn_implementation = "eager"
    with pytest.raises(cw.errors.UnsupportedLayerError, match="makes other numbers"):
        cw.nn.compile_generation(scaled, texts(2))


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (texts(2) + WORDS, cw.errors.ValueOutOfRangeError, "expected words from 0 to 39, got"),
        (texts(2) - WORDS, cw.errors.ValueOutOfRangeError, "expected words from 0 to 39, got -"),
        (np.tile(texts(2), 3), cw.errors.ValueOutOfRangeError, "texts of 12 words at most.*got 18"),
        ([[1, 2], [3]], cw.errors.InvalidArgumentError, "cut to one length"),
    ],
)
def test_wrong_texts_are_refused(given: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cw.nn.compile_generation(decoder(), given, **SMALL)


def test_a_head_that_is_not_finite_is_refused() -> None:
    model = decoder()
    head = model.lm_head.weight.detach().clone()
    head[3, 3] = torch.nan
    model.lm_head.weight = torch.nn.Parameter(head)
    with pytest.raises(cw.errors.NotFiniteError, match="in the head of GPT2LMHeadModel"):
        cw.nn.compile_generation(model, texts(2), **SMALL)
