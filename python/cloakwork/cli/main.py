"""The entry point of `cloakwork`, which loads nothing before it can be interrupted."""

from __future__ import annotations

import sys

from cloakwork.cli.statuses import INTERRUPTED


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and end the process with its exit code."""
    try:
        # Loading click takes long enough to be interrupted.
        from cloakwork.cli.commands import status_of  # noqa: PLC0415

        status = status_of(arguments)
    except KeyboardInterrupt:
        status = INTERRUPTED
    sys.exit(status)


if __name__ == "__main__":
    main()
