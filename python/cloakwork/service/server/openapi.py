"""What a server answers, as OpenAPI 3.1 describes it: one table of all requests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cloakwork.service.problems import KINDS, MEDIA_TYPE, PREFIX

BYTES, JSON = "application/octet-stream", "application/json"
# Of server-sent events, each of which has the fields of a job as JSON.
EVENTS, PNG = "text/event-stream", "image/png"
_Schema = Mapping[str, Any]
_TEXT: _Schema = {"type": "string"}
_NUMBER: _Schema = {"type": "number", "minimum": 0}
_COUNT: _Schema = {"type": "integer", "minimum": 0}
_HASH: _Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
_YES_OR_NO: _Schema = {"type": "string", "enum": ["?0", "?1"]}
_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class DescribedAnswer:
    """What an answer holds.

    Args:
        says: What it is, in a sentence.
        media_type: Its media type; empty for an answer without a body.
        schema: What its JSON, or its text, is like.
        headers: What it says beside it, always.
    """

    says: str
    media_type: str = ""
    schema: _Schema | None = None
    headers: Mapping[str, _Schema] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DescribedRequest:
    """A request, and what is answered.

    Args:
        says: What it does.
        answers: By their status.
        query: What its URL may say after a question mark.
        headers: What it may say beside it.
        needed: Which of both it has to say.
        body: The media type of what is sent; empty where nothing is.
        is_open: Whether anyone may ask, without a token.
    """

    says: str
    answers: Mapping[int, DescribedAnswer]
    query: Mapping[str, _Schema] = field(default_factory=dict)
    headers: Mapping[str, _Schema] = field(default_factory=dict)
    needed: frozenset[str] = frozenset()
    body: str = ""
    is_open: bool = False


def _record(**fields: _Schema) -> _Schema:
    """A record that has these fields; others may come with a later release."""
    return {"type": "object", "properties": fields, "required": [*fields]}


def _list(each: _Schema) -> _Schema:
    return {"type": "array", "items": each}


_UPLOAD = {"Upload-Offset": _COUNT, "Upload-Complete": _YES_OR_NO}
_OF_REQUEST = {"Cloakwork-Request": _HASH}
_OF_KEY: Mapping[str, Any] = {"query": {"key_id": _TEXT}, "needed": frozenset({"key_id"})}
_STATE = _record(name=_TEXT, version=_HASH, step=_COUNT)
_TENSOR = _record(name=_TEXT, datatype=_TEXT, shape=_list({"type": "integer", "minimum": -1}))
_PROGRESS = _record(
    job=_TEXT,
    program=_TEXT,
    state={"enum": ["queued", "running", "done", "failed"]},
    place={"type": ["integer", "null"], "minimum": 1},
    done=_NUMBER,
    of=_NUMBER,
    step=_TEXT,
    elapsed_seconds=_NUMBER,
    predicted_seconds=_NUMBER,
    predicted_bytes=_COUNT,
    peak_bytes={"type": ["integer", "null"], "minimum": 0},
)
_ALIVE = DescribedRequest(
    "Whether the server is there.",
    {200: DescribedAnswer("It is.", JSON, _record(live={"type": "boolean"}))},
    is_open=True,
)
_RESULTS = DescribedAnswer(
    "Its results.", BYTES, headers={"Cloakwork-Receipt": _TEXT, **_OF_REQUEST}
)
_WAIT = {"Wait-Seconds": _COUNT}
_HEALTH = _record(
    live={"type": "boolean"},
    ready={"type": "boolean"},
    unserved=_COUNT,
)
_READY = DescribedRequest(
    "Whether the server runs the jobs that it is given.",
    {
        200: DescribedAnswer("It does.", JSON, _HEALTH),
        503: DescribedAnswer("It does not yet, or it is ending.", JSON, _HEALTH),
    },
    is_open=True,
)


def _job(says: str, *states: str) -> DescribedAnswer:
    """A job in one of some states."""
    return DescribedAnswer(
        says,
        JSON,
        _record(job=_TEXT, state={"enum": [*states]}, seconds=_NUMBER),
        {"Location": _TEXT, "Retry-After": _TEXT, **_OF_REQUEST},
    )


OPERATIONS: Mapping[tuple[str, str], DescribedRequest] = {
    ("GET", "/"): DescribedRequest(
        "The page that shows all of this.",
        {200: DescribedAnswer("HTML.", "text/html")},
        is_open=True,
    ),
    ("GET", "/page.css"): DescribedRequest(
        "How the page looks.", {200: DescribedAnswer("Its style.", "text/css")}, is_open=True
    ),
    ("GET", "/page.js"): DescribedRequest(
        "What the page does.",
        {200: DescribedAnswer("Its module.", "text/javascript")},
        is_open=True,
    ),
    ("GET", "/page.svg"): DescribedRequest(
        "The sign of the page.", {200: DescribedAnswer("A picture.", "image/svg+xml")}, is_open=True
    ),
    ("GET", "/livez"): _ALIVE,
    ("GET", "/readyz"): _READY,
    ("GET", "/v2/health/live"): _ALIVE,
    ("GET", "/v2/health/ready"): _READY,
    ("GET", "/openapi.json"): DescribedRequest(
        "This description.",
        {200: DescribedAnswer("It.", JSON, _record(openapi=_TEXT, paths={"type": "object"}))},
        is_open=True,
    ),
    ("GET", "/metrics"): DescribedRequest(
        "Jobs by state, as Prometheus reads them; for one user alone where the operator says so.",
        {200: DescribedAnswer("Counts.", "text/plain", _TEXT)},
        is_open=True,
    ),
    ("GET", "/v1/programs"): DescribedRequest(
        "The names and fingerprints of programs.",
        {
            200: DescribedAnswer(
                "Programs, why others are not served, and by which key the server signs.",
                JSON,
                _record(
                    programs=_list(_record(name=_TEXT, fingerprint=_TEXT, warning=_TEXT)),
                    unserved=_list(_record(name=_TEXT, error=_TEXT, detail=_TEXT)),
                    signer=_HASH,
                ),
            )
        },
    ),
    ("GET", "/v1/programs/{name}"): DescribedRequest(
        "The interface of a program, as `cloakwork interface` writes it.",
        {200: DescribedAnswer("Its file.", BYTES)},
    ),
    ("GET", "/v1/programs/{name}/explanation"): DescribedRequest(
        "What `cloakwork.explain` says of a program, and what a run takes.",
        {
            200: DescribedAnswer(
                "Its plan, and seconds and bytes of a run.",
                JSON,
                _record(
                    text={"type": ["string", "null"]},
                    operations={"type": "object", "additionalProperties": _COUNT},
                    seconds=_NUMBER,
                    run_bytes=_COUNT,
                    key_bytes=_COUNT,
                    input_bytes=_COUNT,
                    output_bytes=_COUNT,
                    log2_failure={"type": ["number", "null"]},
                ),
            )
        },
    ),
    ("GET", "/v1/programs/{name}/plot"): DescribedRequest(
        "The plan of a program as a picture.", {200: DescribedAnswer("It.", PNG)}
    ),
    ("PUT", "/v1/programs/{name}"): DescribedRequest(
        "Put a program, which its user alone sees.",
        {204: DescribedAnswer("It is there.")},
        body=BYTES,
    ),
    ("DELETE", "/v1/programs/{name}"): DescribedRequest(
        "Remove a program that its user put.", {204: DescribedAnswer("It is not there any more.")}
    ),
    ("POST", "/v1/programs/{name}/jobs"): DescribedRequest(
        "Have a program run on inputs.",
        {
            200: _RESULTS,
            202: _job("Where its results are, or will be.", "queued", "running", "done"),
        },
        query={"keys": _TEXT},
        headers=_WAIT,
        needed=frozenset({"keys"}),
        body=BYTES,
    ),
    ("GET", "/v1/programs/{name}/states"): DescribedRequest(
        "The states of a secret key that a program keeps.",
        {200: DescribedAnswer("Their steps and versions.", JSON, _record(states=_list(_STATE)))},
        **_OF_KEY,
    ),
    ("PUT", "/v1/programs/{name}/states/{state}"): DescribedRequest(
        "Keep a state, or put it in the place of another.",
        {200: DescribedAnswer("What is kept.", JSON, _STATE)},
        headers={"Cloakwork-Origin": _HASH, "If-None-Match": {"const": "*"}},
        body=BYTES,
        **_OF_KEY,
    ),
    ("DELETE", "/v1/programs/{name}/states/{state}"): DescribedRequest(
        "Remove a state.", {204: DescribedAnswer("It is not there any more.")}, **_OF_KEY
    ),
    ("GET", "/v1/jobs/{job}"): DescribedRequest(
        "The results of a job, or that it waits or runs.",
        {
            200: _RESULTS,
            202: _job("There are none yet.", "queued", "running"),
        },
        headers=_WAIT,
    ),
    ("GET", "/v1/jobs"): DescribedRequest(
        "The asking user's jobs that wait or run, and the last that ended.",
        {200: DescribedAnswer("How far each is.", JSON, _record(jobs=_list(_PROGRESS)))},
    ),
    ("GET", "/v1/jobs/{job}/events"): DescribedRequest(
        "How far a job is, until it ends.", {200: DescribedAnswer("Events.", EVENTS, _TEXT)}
    ),
    ("GET", "/v1/events"): DescribedRequest(
        "How far the asking user's jobs are.", {200: DescribedAnswer("Events.", EVENTS, _TEXT)}
    ),
    ("DELETE", "/v1/jobs/{job}"): DescribedRequest(
        "End a job.", {204: DescribedAnswer("It has ended.")}
    ),
    ("GET", "/v1/keys"): DescribedRequest(
        "The evaluation keys of a secret key that are there; without one, all of the asking user.",
        {
            200: DescribedAnswer(
                "Their hashes, and the programs that they were sent for.",
                JSON,
                _record(
                    keys=_list(
                        _record(digest=_HASH, program=_TEXT, bytes=_COUNT, since=_TEXT, until=_TEXT)
                    )
                ),
            )
        },
        query={"key_id": _TEXT},
    ),
    ("HEAD", "/v1/keys/{digest}"): DescribedRequest(
        "How many bytes of evaluation keys are there.",
        {200: DescribedAnswer("So many.", headers=_UPLOAD)},
    ),
    ("PATCH", "/v1/keys/{digest}"): DescribedRequest(
        "Send further bytes of evaluation keys.",
        {204: DescribedAnswer("How many are there now.", headers=_UPLOAD)},
        headers={**_UPLOAD, "Key-Id": _TEXT, "Program": _TEXT},
        needed=frozenset({"Upload-Offset"}),
        body=BYTES,
    ),
    ("DELETE", "/v1/keys/{digest}"): DescribedRequest(
        "Remove evaluation keys.", {204: DescribedAnswer("They are not there any more.")}
    ),
    ("GET", "/v2"): DescribedRequest(
        "What the server is, by the Open Inference Protocol.",
        {
            200: DescribedAnswer(
                "Its name and version.",
                JSON,
                _record(name=_TEXT, version=_TEXT, extensions=_list(_TEXT)),
            )
        },
    ),
    ("GET", "/v2/models/{name}"): DescribedRequest(
        "The inputs and outputs of a program, by the Open Inference Protocol.",
        {
            200: DescribedAnswer(
                "Values as they are before they are encrypted, and after.",
                JSON,
                _record(
                    name=_TEXT,
                    versions=_list(_TEXT),
                    platform=_TEXT,
                    inputs=_list(_TENSOR),
                    outputs=_list(_TENSOR),
                ),
            )
        },
    ),
    ("GET", "/v2/models/{name}/ready"): DescribedRequest(
        "Whether a program is there, by the Open Inference Protocol.",
        {200: DescribedAnswer("It is.", JSON, _record(name=_TEXT, ready={"type": "boolean"}))},
    ),
}
_PROBLEM = _record(
    type={"enum": sorted(f"{PREFIX}{name}" for name in KINDS)},
    title=_TEXT,
    status={"type": "integer"},
    detail=_TEXT,
)


def document(version: str) -> dict[str, Any]:
    """The description of all requests.

    Args:
        version: That of Cloakwork.

    Example:
        >>> sorted(document("1.0")["paths"]["/v1/jobs/{job}"])
        ['delete', 'get']
    """
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method.lower()] = _described(method, path, operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Cloakwork",
            "version": version,
            "summary": "Runs programs on encrypted data, and has no key that decrypts.",
        },
        "paths": paths,
        "components": {
            "schemas": {"Problem": _PROBLEM},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _described(method: str, path: str, operation: DescribedRequest) -> dict[str, Any]:
    places = {
        "path": dict.fromkeys(_NAME.findall(path), _TEXT),
        "query": operation.query,
        "header": operation.headers,
    }
    parameters = [
        {
            "name": name,
            "in": place,
            "required": place == "path" or name in operation.needed,
            "schema": schema,
        }
        for place, schemas in places.items()
        for name, schema in schemas.items()
    ]
    body = {"required": True, "content": {operation.body: {}}}
    refusal = {"$ref": "#/components/schemas/Problem"}
    return {
        "operationId": _id(method, path),
        "summary": operation.says,
        "security": [] if operation.is_open else [{"token": []}],
        "parameters": parameters,
        **({"requestBody": body} if operation.body else {}),
        "responses": {
            **{f"{status}": _answer(each) for status, each in operation.answers.items()},
            "default": {
                "description": "Why there is none: an error of cloakwork.errors.",
                "content": {MEDIA_TYPE: {"schema": refusal}},
            },
        },
    }


def _answer(content: DescribedAnswer) -> dict[str, Any]:
    schema = {} if content.schema is None else {"schema": content.schema}
    headers = {name: {"required": True, "schema": each} for name, each in content.headers.items()}
    return {
        "description": content.says,
        **({"headers": headers} if headers else {}),
        **({"content": {content.media_type: schema}} if content.media_type else {}),
    }


def _id(method: str, path: str) -> str:
    """What a request is called in code that is made of the description."""
    words = re.findall(r"\w+", path)
    return "_".join([method.lower(), *words])
