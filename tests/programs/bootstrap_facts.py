"""A bootstrap program by its arrays, and what makes two the same."""

from typing import Any

from cloakwork.programs.bootstraps import (
    BOOTSTRAP,
    EIGHTH,
    LINEAR,
    QUARTER,
    BootstrapProgram,
)
from cloakwork.programs.port import Port

PORTS = {"title": "t", "inputs": (Port("a", "bits", 2),), "outputs": (Port("y", "bits", 2),)}
# A bootstrap of both inputs with two outputs, the first of which is then turned.
ARRAYS: dict[str, Any] = {
    "input_bits": [0, 1],
    "input_encodings": [QUARTER, QUARTER],
    "kinds": [BOOTSTRAP, LINEAR],
    "term_starts": [0, 2, 3],
    "term_signals": [0, 1, 2],
    "term_weights": [1, 1, -1],
    "constants": [0, QUARTER],
    "message_bits": [2, 0],
    "output_starts": [0, 2, 3],
    "tables": [-EIGHTH % 2**32, -EIGHTH % 2**32, 0, QUARTER],
    "output_constants": [EIGHTH, 0, 0],
    "output_signals": [4, 3],
    "output_encodings": [QUARTER, QUARTER],
}


def facts(program: BootstrapProgram) -> list[Any]:
    """What two programs must share to be the same."""
    arrays = [getattr(program, name).tolist() for name in ARRAYS]
    return [program.title, program.inputs, program.outputs, *arrays]


def made(**changed: Any) -> BootstrapProgram:
    """The program of these arrays, some of them changed."""
    return BootstrapProgram(**{**PORTS, **ARRAYS, **changed})
