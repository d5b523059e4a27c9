"""Client and evaluator of bits as two processes that share files."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import cloakwork as cw
from cloakwork import _native, boolean
from cloakwork.errors import CloakworkError

EVALUATOR = """
import sys
from pathlib import Path
import cloakwork as cw

folder = Path(sys.argv[1])
evaluator = cw.boolean.load_evaluator(folder / "evaluator")
x = cw.boolean.load_bits(folder / "x", evaluator)
y = evaluator.run(x, {"x1": 22})
cw.boolean.save_bits(y, folder / "y")


def reachable(root):
    seen, waiting = {}, [root]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or type(thing).__module__.split(".")[0] != "cloakwork":
            continue
        seen[id(thing)] = thing
        waiting += [getattr(thing, name) for name in dir(thing) if not name.startswith("__")]
    return seen.values()


held = [*reachable(evaluator), *reachable(x), *reachable(y)]
for thing in held:
    for name in dir(thing):
        assert "decrypt" not in name and "secret" not in name, (thing, name)
print(*sorted({type(thing).__name__ for thing in held}))
try:
    cw.boolean.load_client(folder / "evaluator")
except cw.errors.MalformedBytesError:
    print("no client")
"""


@pytest.fixture(scope="module")
def client_and_folder(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[boolean.BooleanClient, Path]:
    """The client, and what the evaluator is given."""
    folder = tmp_path_factory.mktemp("evaluator")
    client, evaluator = boolean.from_bristol("examples/boolean/adder.txt").keygen()
    boolean.save_evaluator(evaluator, folder / "evaluator")
    boolean.save_bits(client.encrypt(x0=20), folder / "x")
    return client, folder


def test_an_evaluator_process_computes_and_cannot_decrypt(
    client_and_folder: tuple[boolean.BooleanClient, Path], tmp_path: Path
) -> None:
    client, folder = client_and_folder
    done = subprocess.run(
        [sys.executable, "-c", EVALUATOR, str(folder)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    held, no_client = done.stdout.splitlines()
    wanted = {"BooleanEvaluator", "BooleanEvaluationKey", "BooleanCiphertexts", "EncryptedBits"}
    assert wanted <= set(held.split())
    assert not {"BooleanSecretKey", "BooleanClient"} & set(held.split())
    assert no_client == "no client"

    boolean.save_client(client, tmp_path / "client")
    again = boolean.load_client(tmp_path / "client")
    assert again.decrypt(boolean.load_bits(folder / "y", again)) == {"y0": 42}


def test_the_evaluators_files_have_no_secret(
    client_and_folder: tuple[boolean.BooleanClient, Path],
) -> None:
    client, folder = client_and_folder
    # A bit a number; what comes before is public: header and label.
    numbers = client.secret.to_bytes()[48 + 16 :]
    windows = {numbers[i : i + 12] for i in range(len(numbers) - 11)}
    assert len(windows) == len(numbers) - 11 > 200
    for name, parts in (
        ("evaluator", ["evaluation_key", "header.json", "program"]),
        ("x", ["ciphertexts", "header.json"]),
    ):
        with zipfile.ZipFile(folder / name) as archive:
            assert sorted(archive.namelist()) == parts
            contents = [archive.read(each) for each in parts]
        for content in contents:
            with pytest.raises(CloakworkError):
                _native.BooleanSecretKey.from_bytes(content)
            found = {content[i : i + 12] for i in range(len(content) - 11)} & windows
            assert not found
    assert cw.boolean.load_evaluator(folder / "evaluator").key.label == client.secret.label
