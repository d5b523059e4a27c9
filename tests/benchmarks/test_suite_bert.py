"""Stages of bert meet in the files of its harness, which is not here, nor is the model."""

from __future__ import annotations

import json
import runpy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from benchmarks.suite.__main__ import lay_out
from tests.benchmarks.stages import secret_kept_from_servers

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from benchmarks.suite.bert import network  # noqa: E402

STAGES = (
    "client_key_generation",
    "server_preprocess_model",
    "client_preprocess_input",
    "client_encode_encrypt_input",
    "server_encrypted_compute",
    "client_decrypt_decode",
    "client_postprocess",
)
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnop"]
# A ring that is far too small for security, and more precision than labels take.
SMALL = {"precision": 6, "margin": 0.4, "log_n": 10, "insecure": True, "bootstrap": True}


@pytest.mark.slow
def test_stages_classify_pairs_and_the_server_reads_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()
    model = as_published(tmp_path / "given")
    lay_out(place, tmp_path / "given", "bert")
    data = place / "datasets" / "single"
    (data / "intermediate").mkdir(parents=True)
    rng = np.random.default_rng(0)
    pairs = [pair(rng) for _ in range(24)]
    (data / "dataset_samples.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    asked = data / "intermediate" / "test_input.txt"
    asked.write_text("\n".join(map(json.dumps, pairs[:3])))
    monkeypatch.chdir(place)
    monkeypatch.setattr(network, "OPTIONS", SMALL)
    monkeypatch.setattr(cw, "load", partial(cw.load, insecure=True))
    secret = Path("io", "single", "secret_key")
    for stage in STAGES:
        monkeypatch.setattr("sys.argv", [stage, "0"])
        with secret_kept_from_servers(stage, secret):
            runpy.run_path(f"submissions/{stage}.py", run_name="__main__")
    scores = np.load(Path("io", "single", "intermediate", "scores.npy"))
    expected = torch.cat([scores_of(model, each) for each in pairs[:3]]).detach().numpy()
    assert abs(scores - expected).max() < 2**-6
    labels = np.loadtxt(Path("io", "single", "encrypted_model_predictions.txt"), dtype=int)
    assert (labels == expected.argmax(1)).all()


def pair(rng: np.random.Generator) -> dict[str, object]:
    """Two sentences of some words each, in the form of the harness's."""
    first, second = (" ".join(rng.choice(WORDS[5:], rng.integers(1, 4))) for _ in range(2))
    return {"target_idx": 0, "sentence1": first, "sentence2": second}


def as_published(folder: Path) -> Any:
    """Write a small model and its tokenizer where the published one would lie, and return it."""
    (folder / "harness").mkdir(parents=True)
    torch.manual_seed(0)
    config = transformers.BertConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        vocab_size=len(WORDS),
        max_position_embeddings=8,
        initializer_range=0.2,
    )
    model = transformers.BertForSequenceClassification(config).eval()
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(WORDS))
    tokenizer = transformers.BertTokenizer(str(vocabulary))
    for each in (model, tokenizer):
        each.save_pretrained(folder / network.PUBLISHED)
    return model


def scores_of(model: Any, asked: dict[str, object]) -> Any:
    """What the harness's model says of a pair, without any padding."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(network.PUBLISHED)
    encoded = tokenizer(
        asked["sentence1"], asked["sentence2"], max_length=8, truncation=True, return_tensors="pt"
    )
    return model(**encoded).logits
