"""A page on which one draws a digit that a server classifies without seeing it.

The server runs a network on ciphertexts and has no secret key; the page, in WebAssembly, makes the
keys, encrypts and decrypts. Run: python -m examples.digit
"""

from __future__ import annotations

import argparse
import tempfile
import webbrowser
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import torch
import uvicorn

import cloakwork as cw
from cloakwork.service.server.access import new_token
from cloakwork.service.server.listening import ListeningServer, bound_at
from cloakwork.service.server.settings import Settings
from examples.digit.engine import require_engine
from examples.digit.recipe import recipe_of
from examples.digit.site import PAGE, PLACE, site
from examples.nn.training import Trained, train_perceptron

NAME = "digit"
HOST = "127.0.0.1"
PRECISION = 12
# Of each digit.
SAMPLES = 2
HOURS = 12


def main() -> None:
    """Train, compile, serve, and open the page, until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m examples.digit", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="by default a free one")
    parser.add_argument("--no-browser", action="store_true", help="print the address alone")
    options = parser.parse_args()
    require_engine(PAGE / "engine")
    print("training a network and compiling it", flush=True)
    trained = train_perceptron()
    program = compiled(trained)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "programs").mkdir()
        program.save(folder / "programs" / f"{NAME}.cw")
        token = new_token(folder / "tokens", "page", datetime.now(UTC) + timedelta(hours=HOURS))
        settings = Settings(folder, tokens=folder / "tokens", workers=1)
        application = site(settings, recipe_of(NAME, program), samples(trained), [HOST])
        config = uvicorn.Config(application, log_level="warning")
        bound = bound_at(HOST, options.port)
        # The browser may ask before the server takes requests.
        bound.listen(config.backlog)
        # What follows a # no browser sends to a server.
        address = f"http://{HOST}:{bound.getsockname()[1]}{PLACE}/#{token}"
        print(f"draw a digit at {address}", flush=True)
        if not options.no_browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):
            ListeningServer(config, application.state.release).run(sockets=[bound])


def compiled(trained: Trained) -> cw.Program:
    """The network as a program on ciphertexts, at 128-bit security."""
    data = trained.data
    made = cw.nn.compile(trained.module, data.test[:1], calibration=data.train, precision=PRECISION)
    assert isinstance(made, cw.Program)
    return made


def samples(trained: Trained) -> list[dict[str, Any]]:
    """Some digits that the network was not trained on, in order, for the page to offer."""
    labels = trained.data.test_labels
    chosen = [torch.nonzero(labels == digit)[:SAMPLES, 0] for digit in range(10)]
    return [
        {"digit": int(labels[number]), "pixels": trained.data.test[number].flatten().tolist()}
        for number in torch.stack(chosen, dim=1).flatten().tolist()
    ]


if __name__ == "__main__":
    main()
