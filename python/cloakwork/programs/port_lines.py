"""Title and ports of a program as the lines that its file keeps of them."""

from __future__ import annotations

from collections.abc import Sequence

from cloakwork.errors import MalformedBytesError
from cloakwork.programs.gates_text import port_text, read_port
from cloakwork.programs.port import Port
from cloakwork.programs.tokens import Tokens, quote


def port_lines(title: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> bytes:
    """Title and ports as bytes from which `read_port_lines` makes them again.

    Example:
        >>> port_lines("both", [Port("a", "bits", 2)], [])
        b'"both"\\ninput "a" bits 2'
    """
    lines = [quote(title)]
    lines += [f"input {port_text(port)}" for port in inputs]
    lines += [f"output {port_text(port)}" for port in outputs]
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def read_port_lines(text: bytes) -> tuple[str, tuple[Port, ...], tuple[Port, ...]]:
    """Title, inputs and outputs from their lines.

    Raises:
        MalformedBytesError: The bytes are no text, or a line is of neither inputs nor outputs.
        InvalidProgramError: A line is no port.
    """
    try:
        first, *lines = text.decode("utf-8", "surrogatepass").split("\n")
    except UnicodeDecodeError as error:
        raise MalformedBytesError(f"title and ports are no text: {error}") from error
    tokens = Tokens(first)
    title = tokens.quoted()
    tokens.end()
    ports: dict[str, list[Port]] = {"input": [], "output": []}
    for line in lines:
        tokens = Tokens(line)
        role = tokens.word()
        if role not in ports:
            raise MalformedBytesError(f"expected an input or output, got {role[:20]!r}")
        ports[role].append(read_port(tokens))
        tokens.end()
    return title, tuple(ports["input"]), tuple(ports["output"])
