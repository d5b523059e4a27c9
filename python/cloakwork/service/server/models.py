"""What the Open Inference Protocol, version 2, asks for: a server, and its programs as models.

Its inference request is not served: inputs are encrypted, and runs take longer than an answer may.
https://github.com/kserve/open-inference-protocol/blob/main/specification/protocol/inference_rest.md
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from cloakwork.programs.port import Port
from cloakwork.runtime.interface import Interface
from cloakwork.runtime.program import Program
from cloakwork.service.server.own_programs import OwnPrograms

_PLATFORM = "cloakwork"
_WIDTHS = (8, 16, 32, 64)


class Models:
    """Answers to what the protocol asks.

    Args:
        own: The programs that users see.
        version: That of Cloakwork.
    """

    def __init__(self, own: OwnPrograms, version: str) -> None:
        self._own, self._version = own, version

    async def server(self, _request: Request, _user: str) -> Response:
        """The server itself."""
        told = {"name": _PLATFORM, "version": self._version, "extensions": []}
        return JSONResponse(told)

    async def model(self, request: Request, user: str) -> Response:
        """The inputs and outputs of a program."""
        name = request.path_params["name"]
        return JSONResponse(model_of(name, await self._own.program(user, name)))

    async def ready(self, request: Request, user: str) -> Response:
        """Whether a program is there, which it is as soon as it is known."""
        name = request.path_params["name"]
        await self._own.program(user, name)
        return JSONResponse({"name": name, "ready": True})


def model_of(name: str, program: Program | Interface) -> dict[str, Any]:
    """A program as the protocol describes models: values as they are before they are encrypted.

    Args:
        name: What it is called on the server.
        program: The program.

    Example:
        >>> import cloakwork as cw
        >>> made = model_of("scores", cw.compile(lambda x, w: x @ w, (2, 4), (4, 3)))
        >>> made["inputs"][0]
        {'name': 'x', 'datatype': 'FP64', 'shape': [2, 4]}
        >>> [each["shape"] for each in made["outputs"]]
        [[2, 3]]
    """
    return {
        "name": name,
        "versions": [program.fingerprint],
        "platform": _PLATFORM,
        "inputs": tensors_of(program.inputs),
        "outputs": tensors_of(program.outputs),
    }


def tensors_of(ports: Sequence[Port]) -> list[dict[str, Any]]:
    """Inputs or outputs as the protocol describes tensors."""
    return [
        {"name": each.name, "datatype": _datatype(each), "shape": _shape(each)} for each in ports
    ]


def _shape(port: Port) -> list[int]:
    return [*port.shape, *([port.width] if port.kind == "bits" else [])]


def _datatype(port: Port) -> str:
    """The protocol's name of the narrowest type that holds what a port does."""
    if port.kind == "bits":
        return "BOOL"
    if port.kind == "real" or port.fraction:
        return "FP64"
    if port.kind == "bytes":
        return "BYTES"
    if port.kind == "integer":
        return _of_range(port)
    width = next((each for each in _WIDTHS if port.width <= each), None)
    if width is None:
        return "BYTES"
    return f"{'INT' if port.kind == 'signed' else 'UINT'}{width}"


def _of_range(port: Port) -> str:
    """That of whole numbers of any size."""
    least, most = int(port.low or 0), int(port.high or 0)
    if least >= -(1 << 63) and most < 1 << 63:
        return "INT64"
    return "UINT64" if least >= 0 and most < 1 << 64 else "BYTES"
