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
