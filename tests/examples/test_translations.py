"""The texts of the examples: letters of sentences in several languages, one-hot."""

import pytest

pytest.importorskip("torch")

import torch

from examples.nn.networks import Letters, text_transformer
from examples.nn.translations import (
    LANGUAGES,
    LENGTH,
    LETTERS,
    letters_of,
    one_hot,
    pieces_of,
    text_of,
    translations,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Password", "password"),
        ("Diese Seite (2)", "diese seite "),
        ("GROSS, groß", "gross gross"),
        ("Contraseña", "contrasen\u0303a"),
        ("żółty", "z\u0307o\u0301łty"),
        ("日本", " "),
        ("", ""),
    ],
)
def test_texts_are_spelled_in_known_letters(text: str, expected: str) -> None:
    assert letters_of(text) == expected
    assert set(letters_of(text)) <= set(LETTERS)


def test_pieces_begin_with_words_and_are_whole() -> None:
    pieces = pieces_of("Please correct the errors below.")
    assert pieces == ["please correct t", "correct the erro", "the errors below"]
    assert pieces_of("Save") == []


@pytest.mark.parametrize("text", ["wählen", "şifre", "a", "", "sixteen letters in", "fünf Wörter"])
def test_letters_are_one_hot(text: str) -> None:
    [letters] = one_hot([text])
    assert letters.shape == (LENGTH, len(LETTERS))
    assert torch.equal(letters.sum(dim=1), torch.ones(LENGTH))
    assert text_of(letters) in text.casefold()
    assert text_of(letters) or not text


def test_languages_are_alike_in_number_and_differ_in_messages() -> None:
    data = translations()
    assert data.train.shape == (8000, LENGTH, len(LETTERS))
    assert data.test.shape == (1000, LENGTH, len(LETTERS))
    assert data.train_labels.bincount().tolist() == [800] * len(LANGUAGES)
    assert data.test_labels.bincount().tolist() == [100] * len(LANGUAGES)
    assert torch.equal(data.train.sum(dim=2), torch.ones(8000, LENGTH))
    english = data.train[data.train_labels == LANGUAGES.index("en")]
    assert any(" password " in f" {text_of(each)} " for each in english)


def test_a_network_takes_them() -> None:
    module = text_transformer(width=8, heads=2, blocks=1).eval()
    letters = one_hot(["guten tag", "hyvää huomenta"])
    assert module(letters).shape == (2, len(LANGUAGES))
    tokens = module[0]
    assert isinstance(tokens, Letters)
    # They choose rows of the embedding, as their numbers would.
    rows = tokens.embedding(letters.argmax(dim=2)).transpose(1, 2)
    expected = tokens.neighbours(rows).transpose(1, 2) + tokens.places
    assert torch.allclose(tokens(letters), expected, atol=1e-6)
