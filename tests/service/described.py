"""Compares what a server answers with what it says of its answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import httpx
from jsonschema import Draft202012Validator

from cloakwork.service.server.openapi import document

DESCRIPTION = document("0")
_PLACES = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path)) for path in DESCRIPTION["paths"]}


def misfit(request: httpx.Request, answer: httpx.Response, body: bytes) -> str:
    """How an answer differs from its description; nothing where it does not."""
    path = _place(request.url.path)
    operations = DESCRIPTION["paths"].get(path, {})
    # Whatever may be got may be asked for its head.
    fallback = operations.get("get") if request.method == "HEAD" else None
    operation = operations.get(request.method.lower(), fallback)
    if operation is None:
        # Nobody is answered by more than a refusal.
        return "" if answer.status_code >= 400 else f"{request.method} {path} is not described"
    told = operation["responses"].get(f"{answer.status_code}", operation["responses"]["default"])
    if answer.is_success and f"{answer.status_code}" not in operation["responses"]:
        return f"status {answer.status_code} is not described"
    lacking = [name for name in told.get("headers", {}) if name not in answer.headers]
    if lacking:
        return f"there is no {lacking[0]}"
    wrong = [
        name
        for name, each in told.get("headers", {}).items()
        if not _is_of(_typed(answer.headers[name], each["schema"]), each["schema"])
    ]
    if wrong:
        return f"{wrong[0]} is {answer.headers[wrong[0]]!r}"
    if request.method == "HEAD":
        return "" if not body else "there is a body"
    return _misfit_of_body(answer, body, told.get("content", {}))


def _misfit_of_body(answer: httpx.Response, body: bytes, content: Mapping[str, Any]) -> str:
    kind = answer.headers.get("content-type", "").partition(";")[0]
    if not content:
        return "" if not body else "there is a body"
    if kind not in content:
        return f"its media type is {kind!r}"
    if kind.endswith("json"):
        schema = content[kind]["schema"]
        found = sorted(_validator(schema).iter_errors(json.loads(body)), key=str)
        return found[0].message if found else ""
    return ""


def _place(path: str) -> str:
    found = [name for name, pattern in _PLACES.items() if pattern.fullmatch(path)]
    return min(found, key=lambda name: name.count("{"), default=path)


def _validator(schema: Any) -> Any:
    return Draft202012Validator({**schema, "components": DESCRIPTION["components"]})


def _is_of(value: Any, schema: Any) -> bool:
    return bool(_validator(schema).is_valid(value))


def _typed(text: str, schema: Any) -> Any:
    return int(text) if schema.get("type") == "integer" and text.isdigit() else text
