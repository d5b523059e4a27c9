"""Pieces of sentences in ten languages, as letters: the translations that Django ships."""

from __future__ import annotations

import re
import struct
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from importlib.resources import files
from zlib import crc32

import torch
from torch.nn import functional

from examples.nn.labelled import Labelled

LANGUAGES = ("de", "en", "es", "fi", "fr", "it", "nl", "pl", "sv", "tr")
# Accents count as letters after the one that they stand on.
_ACCENTS = "\u0300\u0301\u0302\u0303\u0306\u0307\u0308\u030a\u0327\u0328"
LETTERS = " abcdefghijklmnopqrstuvwxyz\u0131\u0142" + _ACCENTS
# Letters of a piece.
LENGTH = 16

_PARTS = (
    ("conf",),
    ("contrib", "admin"),
    ("contrib", "admindocs"),
    ("contrib", "auth"),
    ("contrib", "postgres"),
)
_CODE = re.compile(r"%\(\w+\)\w|%\w|\{[^}]*\}|<[^>]*>|&\w+;")
# Parts that messages are in by their English, of which one is for tests: no piece to be tested is
# of a message that the network has seen in another language.
_PARTS_OF_ALL = 4
_TRAINED, _TESTED = 800, 100


def translations() -> Labelled:
    """Pieces that begin with a word, one-hot letter by letter; as many of every language.

    The inputs have the shape (count, `LENGTH`, letters).
    """
    generator = torch.Generator().manual_seed(7)
    made: list[tuple[torch.Tensor, ...]] = []
    for label, language in enumerate(LANGUAGES):
        train, test = (
            one_hot(_pieces(language, chosen, count, generator))
            for chosen, count in ((range(1, _PARTS_OF_ALL), _TRAINED), (range(1), _TESTED))
        )
        labels = (torch.full((len(each),), label) for each in (train, test))
        made.append((train, next(labels), test, next(labels)))
    return Labelled(*map(torch.cat, zip(*made, strict=True)))


def _pieces(
    language: str, chosen: Collection[int], count: int, generator: torch.Generator
) -> list[str]:
    """Some pieces of a language, of some of the parts that messages are in by their English."""
    found = {
        piece
        for message, translation in _messages(language)
        if crc32(message.encode()) % _PARTS_OF_ALL in chosen
        for piece in pieces_of(translation)
    }
    order = torch.randperm(len(found), generator=generator)[:count]
    pieces = sorted(found)
    return [pieces[each] for each in order]


def letters_of(text: str) -> str:
    """A text in small letters, accents after theirs, everything else as one space.

    Example:
        >>> letters_of("Gültige E-Mail?") == "gu\u0308ltige e mail "
        True
    """
    spelled = unicodedata.normalize("NFD", text.casefold())
    return re.sub(f"[^{LETTERS[1:]}]+", " ", spelled)


def pieces_of(text: str) -> list[str]:
    """The pieces of a text that begin with a word and are whole.

    Example:
        >>> pieces_of("Enter a valid value!")
        ['enter a valid va']
        >>> pieces_of("Enter only valid values.")
        ['enter only valid', 'only valid value']
    """
    spelled = letters_of(text).lstrip()
    starts = [match.start() for match in re.finditer(r"(?<![^ ])[^ ]", spelled)]
    return [spelled[start : start + LENGTH] for start in starts if start + LENGTH <= len(spelled)]


def one_hot(texts: Iterable[str]) -> torch.Tensor:
    """The first letters of texts, each as a 1 among zeros; spaces follow a text that is shorter.

    Example:
        >>> one_hot(["ab"]).shape, one_hot(["ab"]).argmax(dim=2)[0, :3].tolist()
        (torch.Size([1, 16, 39]), [1, 2, 0])
    """
    spelled = (letters_of(text)[:LENGTH].ljust(LENGTH) for text in texts)
    numbers = torch.tensor([[LETTERS.index(letter) for letter in each] for each in spelled])
    return functional.one_hot(numbers, len(LETTERS)).float()


def text_of(letters: torch.Tensor) -> str:
    """What one input says.

    Example:
        >>> text_of(one_hot(["Ünder"])[0])
        'ünder'
    """
    spelled = "".join(LETTERS[number] for number in letters.argmax(dim=1))
    return unicodedata.normalize("NFC", spelled).strip()


def _messages(language: str) -> Iterator[tuple[str, str]]:
    """Django's messages in English and in a language, each once."""
    # Messages are English, and the files of other languages have both.
    is_english = language == "en"
    folder = "de" if is_english else language
    found: dict[str, str] = {}
    for part in _PARTS:
        file = files("django").joinpath(*part, "locale", folder, "LC_MESSAGES", "django.mo")
        found |= _catalogue(file.read_bytes())
    for message, translation in found.items():
        yield message, _CODE.sub(" ", message if is_english else translation)


def _catalogue(data: bytes) -> dict[str, str]:
    """What a file of the format MO has: messages and their translations."""
    _, _, count, *starts = struct.unpack_from("<5I", data)
    messages, translations = (
        [data[at : at + size].decode() for size, at in struct.iter_unpack("<2I", table)]
        for table in (data[start : start + 8 * count] for start in starts)
    )
    pairs = zip(messages, translations, strict=True)
    # The first message is empty and stands for the file's header. A context may precede a message,
    # and plurals follow one.
    return {
        message.rpartition("\x04")[2].partition("\0")[0]: translation.partition("\0")[0]
        for message, translation in pairs
        if message
    }
