"""The package says under which licences all that it holds is."""

from __future__ import annotations

import tomllib

from tools.notices import NOTICES, ROOT, Crate, crates, expression, notices


def test_the_notices_are_those_of_what_the_engine_is_compiled_of() -> None:
    """Else `python -m tools.notices` writes them anew."""
    found = crates()
    assert NOTICES.read_text() == notices(found)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == expression(found)
    assert NOTICES.name in project["license-files"]


def test_a_licence_is_there_once_for_all_that_are_under_it() -> None:
    own = Crate("plain", "1.0.0", "Apache-2.0", "https://example.org/plain", "")
    others = [
        Crate("some", "1.0.0", "MIT", "https://example.org/some", "Copyright Ada"),
        Crate("some-part", "1.0.0", "MIT", "", ""),
        Crate("zebra", "2.0.0", "ISC", "", "Copyright Bob"),
    ]
    text = notices([own, *others])
    assert expression([own, *others]) == "Apache-2.0 AND ISC AND MIT"
    assert text.count("Copyright Ada") == 1
    assert "  some 1.0.0  https://example.org/some\n  some-part 1.0.0\n\nCopyright Ada\n" in text
    assert text.index("plain 1.0.0") < text.index("zebra 2.0.0") < text.index("some 1.0.0")
