"""Random rows of programs of all families equal numpy within the stated error, or are refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    InvalidArgumentError,
    InvalidParametersError,
    PlanMismatchError,
    ValueOutOfRangeError,
)
from cloakwork.runtime.after import stated_error
from tests.system.random_rows import Row, random_row
from tests.system.rows import row
from tests.thoroughness import ALL

# Of all families, those first that `make test` tries.
KINDS = (
    ("tensors", "networks"),
    ("gates", "tensors"),
    ("circuits", "whole products"),
    ("products", "gates"),
    ("networks", "products"),
    ("tensors", "gates", "tensors"),
    ("gates", "gates"),
    ("circuits", "gates", "gates"),
    ("products", "tensors"),
    ("gates", "networks"),
    ("tensors", "tensors"),
    ("tensors", "products"),
    ("products", "products"),
    ("products", "networks"),
    ("networks", "tensors"),
    ("networks", "networks"),
    ("circuits", "circuits"),
    ("whole products", "circuits"),
    ("whole products", "whole products"),
    ("gates", "gates", "gates"),
    ("tensors", "gates"),
    ("networks", "gates"),
    ("circuits", "gates"),
    ("whole products", "gates"),
    ("gates", "products"),
    ("gates", "tensors", "networks"),
    ("tensors", "products", "networks"),
    ("circuits", "whole products", "circuits"),
    ("tensors", "networks", "gates"),
    ("gates", "tensors", "gates"),
)
SEEDS = range(300 if ALL else 10)
GROUP = 10
# What may be refused, and what the refusal says would do.
REFUSED: Mapping[type[CloakworkError], str] = {
    InvalidParametersError: "ask for less precision|ask for precision=|give narrower ranges",
    InvalidArgumentError: (
        "compile a function of it first|return it once|give what is known|compile .* with bits="
    ),
}
MOST_REFUSED = 4


def compiled(seed: int) -> Row | CloakworkError:
    """A random row, or why it is refused."""
    try:
        return random_row(seed, KINDS[seed % len(KINDS)])
    except PlanMismatchError:
        raise
    except CloakworkError as refused:
        return refused


def refusal(seed: int) -> str:
    """Why a row is refused, by a refusal that is known; empty where it is compiled and right."""
    families, made = KINDS[seed % len(KINDS)], compiled(seed)
    if not isinstance(made, Row):
        assert type(made) in REFUSED, f"{seed}: {families}: {made!r}"
        assert re.search(REFUSED[type(made)], str(made)), f"{seed}: {families}: {made!r}"
        return repr(made)
    error = stated_error(made.programs[-1]) if made.programs[-1].outputs[0].kind == "real" else 0.0
    sample = clear_sample(made)
    for found in (in_the_clear(made, sample), on_ciphertexts(made, sample)):
        off = min(difference(found, each) for each in made.possible(sample))
        assert error is not None
        assert off <= error, f"{seed}: {families}: off by {off}, stated {error}"
    return ""


def difference(found: Any, expected: Any) -> float:
    made, right = np.asarray(found), np.asarray(expected)
    assert made.shape == right.shape
    kind = np.float64 if made.dtype.kind == "f" else object
    return float(np.abs(made.astype(kind) - right.astype(kind)).max(initial=0))


def clear_sample(made: Row) -> int:
    """The first sample in which no two numbers are too close to be compared."""
    for sample in range(len(made.steps[0].given)):
        try:
            in_the_clear(made, sample)
        except ValueOutOfRangeError:
            continue
        return sample
    raise AssertionError


def in_the_clear(made: Row, sample: int) -> Any:
    found: Any = None
    for program, step in zip(made.programs, made.steps, strict=True):
        before = {link.input: found for link in program.after}
        found = of_name(program.run_clear(**before, **step.given[sample]), step.result)
    return found


def on_ciphertexts(made: Row, sample: int) -> Any:
    clients, evaluators = row(*made.programs)
    results: list[cw.Encrypted] = []
    for client, evaluator, step in zip(clients, evaluators, made.steps, strict=True):
        given = step.given[sample]
        results = [evaluator.run([*results, *([client.encrypt(**given)] if given else [])])]
    return of_name(clients[-1].decrypt(results[0]), made.steps[-1].result)


def of_name(found: Any, name: str) -> Any:
    return found[name] if isinstance(found, dict) else found


@pytest.mark.random
@pytest.mark.parametrize("first", SEEDS[::GROUP])
def test_random_rows_equal_numpy_or_are_refused(first: int) -> None:
    refused = [refusal(seed) for seed in range(first, first + GROUP)]
    assert len([each for each in refused if each]) <= MOST_REFUSED, refused
