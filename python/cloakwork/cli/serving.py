"""What `cloakwork serve` does."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import click

from cloakwork.errors import InvalidArgumentError, MissingDependencyError
from cloakwork.service.addresses import is_here

# A connection without requests is closed by the client first, after 5 seconds with httpx: what it
# sends just when it is closed here would be lost.
_IDLE_SECONDS = 75


def serve_at(
    folder: Path,
    host: str,
    port: int,
    *,
    insecure: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    behind_tls: bool,
    token_file: Path | None,
    workers: int,
    limits: Sequence[str],
    limit_file: Path | None,
    allow_upload: bool,
    show_plans: bool,
    cluster: str | None,
    metrics_user: str | None,
    log_level: str,
) -> None:
    """Answer requests until the process is ended.

    Raises:
        InvalidArgumentError: Others than this machine's would be answered without tokens or TLS, a
            limit or certificate is not one, or the port is in use.
        FolderInUseError: Another server has the folder.
        MissingDependencyError: Starlette or uvicorn is not installed.
    """
    if behind_tls and tls_cert is not None:
        raise InvalidArgumentError(
            "cannot serve: expected a certificate here or before the server, got --behind-tls and "
            "--tls-cert; give one of them"
        )
    has_tls = behind_tls or tls_cert is not None
    if not is_here(host) and (token_file is None or not has_tls):
        raise InvalidArgumentError(
            f"cannot serve at {host}: expected --token-file, --tls-cert and --tls-key for other "
            "machines; give them, or say --behind-tls where a proxy before it has the certificate"
        )
    if metrics_user is not None and token_file is None:
        raise InvalidArgumentError(
            "cannot serve: expected --token-file with --metrics-user, whose token is in it, got "
            "none; give it, too"
        )
    try:
        import uvicorn  # noqa: PLC0415

        from cloakwork.service.server.app import app  # noqa: PLC0415
        from cloakwork.service.server.listening import (  # noqa: PLC0415
            ListeningServer,
            bound_at,
            require_certificate,
        )
    except ImportError as error:
        raise MissingDependencyError(
            f"cannot serve: {error.name} is not installed; pip install 'cloakwork[server]'"
        ) from None
    from cloakwork.service.server.limits import limits_of  # noqa: PLC0415
    from cloakwork.service.server.settings import Settings  # noqa: PLC0415

    said = limits_of(limits, limit_file)
    said |= {"uploads": allow_upload, "plans": show_plans, "cluster": cluster}
    said |= {"metrics_user": metrics_user}
    _log(log_level)
    settings = Settings(folder, tokens=token_file, workers=workers, insecure=insecure, **said)
    require_certificate(tls_cert, tls_key)
    # Before the folder is touched: another server may be there, and have the port.
    bound = bound_at(host, port)
    served = app(settings)
    config = uvicorn.Config(
        served,
        ssl_certfile=tls_cert,
        ssl_keyfile=tls_key,
        log_level="warning",
        access_log=False,
        timeout_keep_alive=_IDLE_SECONDS,
    )
    # Whoever reads the line may ask at once.
    bound.listen(config.backlog)
    protocol = "https" if config.is_ssl else "http"
    click.echo(f"serving at {protocol}://{host}:{bound.getsockname()[1]}")
    ListeningServer(config, served.state.release).run(sockets=[bound])


def _log(level: str) -> None:
    """Have what the server tells of its requests on standard error."""
    logger, handler = logging.getLogger("cloakwork.service"), logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(level.upper())
