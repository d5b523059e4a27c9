"""Documents and messages use the words of the field, which docs/words.md lists."""

from tests.docs.words import pattern_of, texts, unused_words


def test_words_that_are_not_used_do_not_occur() -> None:
    pattern = pattern_of(unused_words())
    found = [
        f"{place}: {match[0]}: {text[max(0, match.start() - 60) : match.end() + 40]!r}"
        for place, text in texts()
        for match in pattern.finditer(text)
    ]
    assert not found, "\n".join(found)


def test_words_are_found_whole_and_across_lines() -> None:
    pattern = pattern_of(["is none", "lane"])
    assert [match[0] for match in pattern.finditer("a Lane; the path is\nnone")] == [
        "Lane",
        "is\nnone",
    ]
    assert not pattern.search("planes, this nonet, `lane`")


def test_the_glossary_is_read() -> None:
    assert {"is none", "boxes", "wish", "wishes", "lane"} <= set(unused_words())


def test_messages_are_read() -> None:
    places = {place.partition(":")[0] for place, _ in texts()}
    assert {"README.md", "python/cloakwork/errors.py", "crates/rlwe/src/error.rs"} <= places
    assert {"crates/rlwe/src/chain/check.rs", "tools/find-clash", "examples/digits.py"} <= places


def test_public_docstrings_are_read() -> None:
    read = dict(texts())
    assert "Encrypt inputs" in read["cloakwork.Client.encrypt"]
    assert "Plan a function" in read["cloakwork.compile"]
    assert {"cloakwork.nn.compile", "cloakwork.boolean.Circuit.compile"} <= read.keys()


def test_what_there_is_not_is_said_as_everyone_says_it() -> None:
    pattern = pattern_of(["are no", "is none"])
    assert not pattern.search("There are no threads, there is none, and a value is None.")
    assert pattern.search("they are no threads")
