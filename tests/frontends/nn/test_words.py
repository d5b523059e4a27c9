"""Networks of words, which whoever encrypts looks up."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
import transformers as hf
from torch import Tensor, nn

import cloakwork as cw
from cloakwork.frontends.nn.capture import captured
from cloakwork.frontends.nn.known_inputs import with_known_inputs
from cloakwork.programs.ir.layer_values import evaluate
from cloakwork.runtime import container
from tests.frontends.nn.published_models import COMPILED, made
from tests.frontends.nn.results import arrays
from tests.thoroughness import slow

# DeBERTa does so where it is made.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")

WORDS = torch.from_numpy(np.random.default_rng(0).integers(2, 40, (24, 4)))
# These count positions from the words, where they are not known.
POSITIONS = {"position_ids": torch.arange(2, 6)[None]}
COUNTING = (
    "FacebookAI/roberta-base",
    "FacebookAI/xlm-roberta-base",
    "sentence-transformers/all-mpnet-base-v2",
)
OF_WORDS = [name for name, (_, shapes) in COMPILED.items() if "inputs_embeds" in shapes]
QUICK = (
    "google-bert/bert-base-uncased",
    "FacebookAI/roberta-base",
    "openai-community/gpt2",
    "meta-llama/Llama-3.2-1B",
    "bigscience/bloom-560m",
)
SMALL: dict[str, Any] = {"precision": 6, "log_n": 10, "insecure": True, "bootstrap": True}


class Sentences(nn.Module):
    """Embeddings as of sentence-transformers: the mean of words, of length 1."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask)[0]
        mask = attention_mask[:, :, None].to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(mean, dim=1)


class TwoWays(nn.Module):
    """Takes rows of an embedding, and their sum with others."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(40, 4)

    def forward(self, words: Tensor) -> Tensor:
        rows: Tensor = self.table(words)
        return rows.tanh() + (rows + torch.ones(4, 4)).sin()


@pytest.mark.parametrize("name", [*QUICK, *slow(*(name for name in OF_WORDS if name not in QUICK))])
def test_what_is_behind_the_lookup_computes_what_torch_does(name: str) -> None:
    module, _ = made(COMPILED[name])
    network = with_known_inputs(module, POSITIONS if name in COUNTING else {})
    graph, look_up = captured(network, {"input_ids": WORDS})
    assert look_up is not None
    assert [each.name for each in graph.inputs] == ["embedded"]
    with torch.no_grad():
        expected = module(input_ids=WORDS)
    for own, wanted in zip(arrays(evaluate(graph, look_up(WORDS))), arrays(expected), strict=True):
        assert np.abs(own - wanted).max() < 1e-5


def test_words_are_looked_up_by_a_file_and_run_encrypted(tmp_path: Path) -> None:
    module, _ = made(COMPILED[QUICK[0]])
    sample = {"input_ids": WORDS, "token_type_ids": WORDS % 2}
    cw.nn.lookup(module, sample).save(tmp_path / "lookup")
    program = cw.nn.compile(module, sample, **SMALL)
    look_up = cw.load(tmp_path / "lookup", cw.nn.Lookup)
    client, evaluator = program.keygen()
    embedded = look_up(WORDS[0], token_type_ids=WORDS[0] % 2)
    found = client.decrypt(evaluator.run(client.encrypt(embedded)))["logits"]
    with torch.no_grad():
        expected = module(**{name: each[:1] for name, each in sample.items()}).logits[0].numpy()
    assert program.error is not None
    assert np.abs(found - expected).max() < min(program.error, 2**-5)


def test_sentences_have_embeddings_of_length_one() -> None:
    name = "sentence-transformers/all-MiniLM-L6-v2"
    model, _ = made(COMPILED[name])
    mask = torch.tensor([[1, 1, 1, 0]])
    network, known = Sentences(model).eval(), {"attention_mask": mask}
    program = cw.nn.compile(network, {"input_ids": WORDS}, known=known, **SMALL)
    look_up = cw.nn.lookup(network, {"input_ids": WORDS}, known=known)
    found = program.simulate(look_up(WORDS[0])).outputs
    with torch.no_grad():
        expected = network(WORDS[:1, :3], mask[:, :3])[0].numpy()
    assert program.error is not None
    assert np.abs(found - expected).max() < min(program.error, 2**-5)


class OneHot(nn.Module):
    """Makes ones and zeros of words, and of these features."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds, self.features = nn.Embedding(40, 6), nn.Linear(40, 6)

    def forward(self, words: Tensor, kinds: Tensor) -> Tensor:
        ones = nn.functional.one_hot(words, 40).float()
        made: Tensor = (self.features(ones) + self.kinds(kinds)).tanh()
        return made


def test_words_may_be_ones_and_zeros() -> None:
    torch.manual_seed(0)
    module, kinds = OneHot().eval(), WORDS % 3
    graph, look_up = captured(module, {"words": WORDS, "kinds": kinds})
    assert look_up is not None
    assert [each.shape for each in graph.inputs] == [(4, 6)]
    [found] = arrays(evaluate(graph, look_up(WORDS, kinds)))
    assert np.abs(found - module(WORDS, kinds).detach().numpy()).max() < 1e-6


def _model_of_ones(chance: np.random.Generator) -> Any:
    """A file whose words are compared with all of them, and multiplied by a table."""
    onnx = pytest.importorskip("onnx")
    table = chance.normal(size=(40, 6)).astype(np.float32)
    known = {"column": np.array([0, 4, 1]), "all": np.array([1, 4, 40]), "table": table}
    known["each"] = np.arange(40, dtype=np.int32)[None, None]
    make, kind = onnx.helper, onnx.TensorProto
    nodes = [
        make.make_node("Reshape", ["words", "column"], ["a"]),
        make.make_node("Expand", ["a", "all"], ["b"]),
        make.make_node("Equal", ["b", "each"], ["c"]),
        make.make_node("Cast", ["c"], ["ones"], to=kind.FLOAT),
        make.make_node("MatMul", ["ones", "table"], ["rows"]),
        make.make_node("Tanh", ["rows"], ["made"]),
    ]
    graph = make.make_graph(
        nodes,
        "ones",
        [make.make_tensor_value_info("words", kind.INT32, ["batch", 4])],
        [make.make_tensor_value_info("made", kind.FLOAT, ["batch", 4, 6])],
        [onnx.numpy_helper.from_array(each, name) for name, each in known.items()],
    )
    return make.make_model(graph, opset_imports=[make.make_opsetid("", 21)]), table


def test_words_of_onnx_files_are_compared_with_all_words() -> None:
    model, table = _model_of_ones(np.random.default_rng(1))
    words = WORDS.to(torch.int32)
    look_up = cw.nn.lookup(model, words)
    assert np.allclose(look_up(WORDS), table[WORDS.numpy()])
    program = cw.nn.compile(model, words, precision=8, log_n=10, insecure=True)
    found = program.simulate(look_up(WORDS[0])).outputs
    assert program.error is not None
    assert np.abs(found - np.tanh(table[WORDS[0].numpy()])).max() < program.error


class Kinds(nn.Module):
    """Sums rows of its second input and of its first one."""

    def __init__(self) -> None:
        super().__init__()
        self.table, self.kinds = nn.Embedding(40, 4), nn.Embedding(40, 4)

    def forward(self, kinds: Tensor, words: Tensor) -> Tensor:
        found: Tensor = (self.table(words) + self.kinds(kinds)).tanh()
        return found


def test_words_are_given_in_the_order_of_inputs() -> None:
    module, kinds = Kinds().eval(), WORDS % 3
    look_up = cw.nn.lookup(module, (kinds, WORDS))
    rows = look_up(kinds, WORDS)
    assert np.allclose(np.tanh(rows), module(kinds, WORDS).detach().numpy())
    assert np.array_equal(rows, look_up(words=WORDS, kinds=kinds))
    with pytest.raises(cw.errors.InputNameError, match="got 2 by place and words by name"):
        look_up(kinds, WORDS, words=WORDS)


def test_other_inputs_beside_words_are_refused() -> None:
    model = hf.BertModel(hf.BertConfig(hidden_size=12, num_hidden_layers=1, vocab_size=40))
    sample = {"inputs_embeds": torch.rand(24, 4, 12), "token_type_ids": WORDS % 2}
    with pytest.raises(cw.errors.CaptureError, match=r"got 'inputs_embeds' as well.*by known="):
        cw.nn.compile(model.eval(), sample)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        ([1, 2, 3, 4, 5], cw.errors.ShapeMismatchError, "4 whole numbers.*a longer sample"),
        ([1, 2, 3], cw.errors.ShapeMismatchError, "pad shorter texts.*attention_mask"),
        (np.zeros((0, 4), int), cw.errors.ShapeMismatchError, r"got shape \(0, 4\)"),
        ([1, 2, 3, 40], cw.errors.ValueOutOfRangeError, "from 0 to 39, got 1 to 40"),
        ([1, 2, 3, -1], cw.errors.ValueOutOfRangeError, "got -1 to 3"),
        ([1.0, 2.0, 3.0, 4.0], cw.errors.NotIntegerError, "whole numbers of 'words'"),
    ],
)
def test_wrong_words_are_refused(words: Any, error: type[Exception], message: str) -> None:
    module = nn.Sequential(nn.Embedding(40, 4), nn.Tanh()).eval()
    look_up = cw.nn.lookup(module, WORDS)
    named = cw.nn.Lookup("embedded", {"words": look_up._tables["input"]}, np.zeros((4, 4)), None)
    with pytest.raises(error, match=message):
        named(words)
    with pytest.raises(cw.errors.InputNameError, match="words of words, got"):
        named(other=words)


def test_samples_of_words_beyond_the_table_are_refused() -> None:
    module = nn.Sequential(nn.Embedding(40, 4), nn.Tanh()).eval()
    for make in (cw.nn.lookup, cw.nn.compile):
        with pytest.raises(cw.errors.ValueOutOfRangeError, match="rows of embeddings for"):
            make(module, WORDS + 40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"known": 5}, "names of parameters of forward, got 5"),
        ({"degrees": 5}, "expected degrees by the names of layers or functions, got 5"),
    ],
)
def test_options_by_name_are_mappings(options: dict[str, Any], message: str) -> None:
    module = nn.Sequential(nn.Embedding(40, 4), nn.Softmax(-1)).eval()
    with pytest.raises(cw.errors.InvalidArgumentError, match=message):
        cw.nn.compile(module, WORDS, **options)


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (nn.Sequential(nn.Embedding(40, 4)), "what whoever encrypts looks up"),
        (TwoWays(), "rows of embeddings in two ways"),
        (nn.Sequential(nn.Tanh()), "a network of words"),
    ],
)
def test_networks_that_look_up_nothing_or_more_are_refused(
    network: nn.Module, message: str
) -> None:
    with pytest.raises(cw.errors.CloakworkError, match=message):
        cw.nn.lookup(network.eval(), WORDS)


def test_another_use_of_words_is_refused_by_its_line() -> None:
    module = hf.RobertaModel(hf.RobertaConfig(hidden_size=12, num_hidden_layers=1, vocab_size=40))
    with pytest.raises(cw.errors.UnsupportedLayerError, match=r"'embeddings\.ne'.*by known="):
        cw.nn.compile(module.eval(), {"input_ids": WORDS})


@pytest.mark.parametrize(
    "changed",
    [
        {"shift": np.zeros((4, 3))},
        {"inputs": ["words", "words"]},
        {"norm": [np.ones(4)]},
        {"eps": -1.0},
        {"tables": [np.full((40, 4), np.nan)]},
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(changed: dict[str, Any], tmp_path: Path) -> None:
    look_up = cw.nn.Lookup("embedded", {"words": np.zeros((40, 4))}, np.zeros((4, 4)), None)
    container.write(tmp_path / "lookup", cw.nn.Lookup._kind, {**look_up._record(), **changed})
    with pytest.raises(cw.errors.MalformedBytesError, match="lookup file"):
        cw.load(tmp_path / "lookup", cw.nn.Lookup)
