"""Writes what the consortium's array-api-tests say of tensors, for `tests` to look at.

    python -m tools.array_api_outcomes report.json

CONTRIBUTING.md says how to make the report.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

OUTCOMES = Path(__file__).parents[1] / "tests/frontends/tensors/array_api/outcomes.json"
_NAMED = re.compile(r"cloakwork\.errors\.(\w+): ([^\n]*)")


def outcomes(report: dict[str, Any]) -> dict[str, Any]:
    """The tests that passed, file by file, and of others what they say first."""
    passed: dict[str, list[str]] = {}
    others: dict[str, str] = {}
    for test in report["tests"]:
        file, _, name = test["nodeid"].rpartition("/")[2].partition("::")
        if test["outcome"] == "passed":
            passed.setdefault(file, []).append(name)
        elif test["outcome"] == "failed":
            message = test["call"]["crash"]["message"]
            named = _NAMED.search(message)
            others[f"{file}::{name}"] = named.group(0) if named else message.partition("\n")[0]
    return {"passed": passed, "others": others}


if __name__ == "__main__":
    found = outcomes(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    OUTCOMES.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
