"""The example of encrypted search finds digits of the right kind."""

import pytest

from examples.search import main


@pytest.mark.slow
def test_digits_that_are_near_are_of_one_kind(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    lines = [line.split() for line in capsys.readouterr().out.splitlines() if "nearby" in line]
    assert [(line[2], line[4]) for line in lines] == [("6", "6"), ("34", "34"), ("5", "5")]
