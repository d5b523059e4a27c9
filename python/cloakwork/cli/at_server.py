"""What `cloakwork interface`, `keygen` and `run` do where a server is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from cloakwork.runtime.interface import Interface
    from cloakwork.runtime.program import Program
    from cloakwork.runtime.saved import Saved

_Command = TypeVar("_Command", bound=Callable[..., Any])
_FILE = click.Path(path_type=Path, dir_okay=False)
_TOKEN = "CLOAKWORK_TOKEN"
# More than any token has.
_MOST_OF_TOKEN = 1 << 12


def server_options(help_of_server: str) -> Callable[[_Command], _Command]:
    """The options by which a command reaches a server.

    Args:
        help_of_server: What the command does where one is named.
    """

    def add(command: _Command) -> _Command:
        for option in (
            click.option("--ca", type=_FILE, help="Certificates that the server's follows from."),
            click.option("--token-file", type=_FILE, help=f"Your token; or ${_TOKEN} has it."),
            click.option("--server", metavar="URL", help=help_of_server),
        ):
            command = option(command)
        return command

    return add


def require_no_server(options: Mapping[str, Any]) -> None:
    """Refuse what goes with --server alone.

    Raises:
        click.UsageError: There is some.
    """
    given = _given(options)
    if given:
        raise click.UsageError(f"{given[0]} goes with --server.")


def interface_at(
    url: str, name: Path | None, output: Path | None, *, insecure: bool, **options: Any
) -> str:
    """Write the interface of a program of a server, and say what it is; without one, list all."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.outputs import require_replaceable  # noqa: PLC0415

    if name is None:
        with _connected(url, insecure=insecure, **options) as server:
            return "\n".join(server.programs)
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    require_replaceable(output, cw.Interface)
    with _connected(url, insecure=insecure, **options) as server:
        made = server.interface(str(name))
    made.save(output)
    return str(made)


def run_at(
    url: str,
    name: Path,
    inputs: Sequence[Path],
    *,
    clear: Path | None,
    keys: Path | None,
    output: Path | None,
    receipt: Path | None,
    insecure: bool,
    token_file: Path | None,
    ca: Path | None,
    **others: Any,
) -> None:
    """Have a server run a program on encrypted inputs, and write the results and its receipt."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.input_files import read_inputs  # noqa: PLC0415
    from cloakwork.cli.outputs import (  # noqa: PLC0415
        require_not_of_cloakwork,
        require_replaceable,
        require_separate,
    )
    from cloakwork.runtime.whole_files import write_whole  # noqa: PLC0415

    given = _given(others)
    if given:
        raise click.UsageError(f"{given[0]} goes without --server.")
    if keys is None or output is None or not inputs:
        raise click.UsageError("expected INPUTS, --keys and -o with --server.")
    written = {"--output": output} | ({"--receipt": receipt} if receipt else {})
    require_separate(written, [keys, *inputs, *([clear] if clear else [])])
    require_replaceable(output, cw.Encrypted)
    if receipt is not None:
        require_not_of_cloakwork(receipt)
    loaded = cw.load(keys, cw.EvaluationKeys, insecure=insecure)
    sent = [cw.load(each, cw.Encrypted) for each in inputs]
    with _connected(url, insecure=insecure, token_file=token_file, ca=ca) as server:
        evaluator = server.evaluator(str(name), loaded)
        known = None if clear is None else read_inputs(clear, evaluator.interface.inputs)
        job = evaluator.submit(sent, known)
        results = job.results()
    if receipt is not None and job.receipt is not None:
        write_whole(receipt, f"{job.receipt.text()}\n".encode())
    results.save(output)


def for_clients_at(
    name: Path, *, server: str | None, insecure: bool, **options: Any
) -> Program | Interface:
    """What keys are made of: a file's program or interface, or where a server is named, its own."""
    from cloakwork.cli.key_files import load_for_clients  # noqa: PLC0415

    if server is None:
        require_no_server(options)
        return load_for_clients(name, insecure)
    with _connected(server, insecure=insecure, **options) as connected:
        found: Interface = connected.interface(str(name))
        return found


def register_at(
    name: Path, keys: Saved | None, *, server: str | None, insecure: bool, **options: Any
) -> None:
    """Have a server, where one is named, keep evaluation keys for runs of its program."""
    if server is not None:
        with _connected(server, insecure=insecure, **options) as connected:
            connected.evaluator(str(name), keys)


def _connected(url: str, *, token_file: Path | None, ca: Path | None, insecure: bool) -> Any:
    """A server, asked by the token of a file or of the environment."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.runtime.storage import named_reading  # noqa: PLC0415

    token: str | None = os.environ.get(_TOKEN, "").strip()
    if token_file is not None:
        with named_reading(token_file), token_file.open(errors="replace") as file:
            token = file.read(_MOST_OF_TOKEN).strip()
    return cw.connect(url, token=token or None, authority=ca, insecure=insecure)


def _given(options: Mapping[str, Any]) -> list[str]:
    """Those of some options that a user gave."""
    given = [name for name, value in options.items() if value is not None and value is not False]
    return [f"--{name.replace('_', '-')}" for name in given]
