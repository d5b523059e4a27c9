"""`python -m cloakwork`: the command line where its script is not on the path."""

from __future__ import annotations

import sys

# Interrupted by now, there is nothing to stop.
try:
    from cloakwork.cli.main import main
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    main()
