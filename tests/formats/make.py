"""Writes the files of a release, once, with the very code that is released.

Run as `python -m tests.formats.make`, in the folder of the repository.
"""

from __future__ import annotations

from pathlib import Path

import cloakwork as cw
from tests.formats.exchanges import EXCHANGES
from tests.formats.samples import FOLDER, SAMPLES, Sample


def write(sample: Sample, folder: Path) -> None:
    """Write the files of a sample."""
    program = sample.make()
    client, evaluator = program.keygen()
    inputs = client.encrypt(**sample.arguments)
    outputs = evaluator.run(inputs)
    assert sample.is_right(client.decrypt(outputs))
    folder.mkdir(parents=True)
    for kind in sample.kinds:
        match kind:
            case "program":
                program.save(folder / kind)
            case "evaluator":
                evaluator.save(folder / kind)
            case "inputs":
                inputs.save(folder / kind)
            case "outputs":
                outputs.save(folder / kind)
            case "encryptor":
                client.public_key().save(folder / kind)
    # It says that it gave out a public key.
    client.save(folder / "client")


def main() -> None:
    """Write the files that are not there yet."""
    folder = FOLDER / cw.__version__
    for name, sample in SAMPLES.items():
        if not (folder / name).exists():
            write(sample, folder / name)
    for name, exchange in EXCHANGES.items():
        if not (folder / name).exists():
            (folder / name).mkdir(parents=True)
            exchange.write(folder / name)


if __name__ == "__main__":
    main()
