"""The description of a server's requests: valid, of all that there is, and as the table says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from starlette.routing import Route

import cloakwork as cw
from cloakwork.service.server.app import app
from cloakwork.service.server.models import model_of, tensors_of
from cloakwork.service.server.openapi import OPERATIONS
from cloakwork.service.server.settings import Settings
from tests.families import ENCRYPTED, Family
from tests.service.described import DESCRIPTION, misfit
from tests.service.serving import Serving, put

PAGE = Path(__file__).parents[2] / "docs" / "service.md"


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("described")
    put(folder, norm=cw.compile(lambda x: x @ x, (16,), log_n=9, insecure=True))
    made = Serving(folder)
    yield made
    made.stop()


def test_it_is_valid() -> None:
    OpenAPIV31SpecValidator(DESCRIPTION).validate()


def test_it_has_all_requests_and_no_others(tmp_path: Path) -> None:
    served = {
        (method, each.path)
        for each in app(Settings(tmp_path)).routes
        if isinstance(each, Route)
        for method in each.methods or ()
        # Starlette takes it wherever it takes GET.
        if method != "HEAD" or "GET" not in (each.methods or ())
    }
    assert served == set(OPERATIONS)


def test_the_page_lists_the_same_requests() -> None:
    listed = set()
    for row in re.findall(r"^\| (`[A-Z]+ /.*?) \|", PAGE.read_text(), re.MULTILINE):
        method = row.strip("`").partition(" ")[0]
        for path in re.findall(r"(/[^`\s,]*)", row):
            listed.add((method, re.sub(r"\b[A-Z][A-Z0-9]+\b", "{}", path.partition("?")[0])))
    assert listed == {(method, re.sub(r"\{\w+\}", "{}", path)) for method, path in OPERATIONS}


def test_a_server_describes_itself(serving: Serving) -> None:
    with httpx.Client(base_url=f"http://127.0.0.1:{serving.port}") as asking:
        told = asking.get("/openapi.json").json()
        assert told["paths"] == DESCRIPTION["paths"]
        about = asking.get("/v2").json()
        assert (about["name"], about["version"]) == ("cloakwork", cw.__version__)
        (model,) = [asking.get("/v2/models/norm").json()]
        assert model["inputs"] == [{"name": "x", "datatype": "FP64", "shape": [16]}]
        assert [each["shape"] for each in model["outputs"]] == [[]]
        assert asking.get("/v2/models/norm/ready").json() == {"name": "norm", "ready": True}
        for path in ("/v2/models/other", "/v2/models/other/ready"):
            missing = asking.get(path)
            assert missing.status_code == 404
            assert "no such program" in missing.json()["error"]


@pytest.mark.parametrize("family", ENCRYPTED, ids=str)
def test_models_have_the_shapes_of_values(family: Family) -> None:
    made = model_of("any", family.program)
    for side, ports in (("inputs", family.program.inputs), ("outputs", family.program.outputs)):
        told = {each["name"]: (each["datatype"], tuple(each["shape"])) for each in made[side]}
        assert list(told) == [port.name for port in ports]
        for port in ports:
            datatype, shape = told[port.name]
            assert shape == (*port.shape, *([port.width] if port.kind == "bits" else []))
            assert datatype in {"FP64", "INT64", "BOOL", "BYTES", "UINT8", "INT8", "UINT16"}


@pytest.mark.parametrize(
    ("port", "datatype", "shape"),
    [
        (cw.Port("x", "real", shape=(2, 3)), "FP64", [2, 3]),
        (cw.Port("x", "integer", low=-5, high=200), "INT64", []),
        (cw.Port("x", "integer", low=0, high=1 << 63), "UINT64", []),
        (cw.Port("x", "integer", low=-1, high=1 << 63), "BYTES", []),
        (cw.Port("x", "unsigned", 8), "UINT8", []),
        (cw.Port("x", "unsigned", 9, shape=(4,)), "UINT16", [4]),
        (cw.Port("x", "signed", 64), "INT64", []),
        (cw.Port("x", "signed", 65), "BYTES", []),
        (cw.Port("x", "unsigned", 8, fraction=2), "FP64", []),
        (cw.Port("x", "bytes", 128), "BYTES", []),
        (cw.Port("x", "bits", 3, shape=(2,)), "BOOL", [2, 3]),
    ],
    ids=str,
)
def test_ports_are_tensors_of_the_protocol(port: cw.Port, datatype: str, shape: list[int]) -> None:
    assert tensors_of([port]) == [{"name": "x", "datatype": datatype, "shape": shape}]


def test_what_differs_from_it_is_found() -> None:
    request = httpx.Request("GET", "http://localhost/v1/programs")
    right = httpx.Response(200, json={"programs": [], "unserved": [], "signer": "0" * 64})
    assert not misfit(request, right, right.content)
    assert misfit(request, httpx.Response(200, json={}), b"{}")
    assert misfit(request, httpx.Response(201, json={}), b"{}")
    assert misfit(request, httpx.Response(200, text="{}"), b"{}")
    unknown = httpx.Request("GET", "http://localhost/v1/secrets")
    assert misfit(unknown, httpx.Response(200), b"")
