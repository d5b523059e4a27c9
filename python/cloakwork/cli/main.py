"""`cloakwork`: compile, explain, keygen, encrypt, run, decrypt, inspect, bench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from cloakwork.errors import CloakworkError

_FILE = click.Path(path_type=Path, dir_okay=False)
_INSECURE = click.option(
    "--insecure", is_flag=True, help="Allow parameters below 128-bit security, for tests."
)
_RESULT = click.option("-o", "--output", type=_FILE, required=True, help="Where to write.")


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; every refusal is one line on standard error and exit code 2."""
    try:
        status = cloakwork.main(arguments, prog_name="cloakwork", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        status = 2
    except click.Abort:
        status = 130
    except (CloakworkError, OSError) as error:
        click.echo(f"cloakwork: {' '.join(str(error).split())}", err=True)
        status = 2
    sys.exit(status or 0)


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="cloakwork")
def cloakwork() -> None:
    """Run programs on data that whoever runs them cannot see.

    \b
    compile score.py:program -o p.cw; keygen p.cw --client c.key --evaluator e.key
    encrypt c.key in.npz -o in.cw; run e.key in.cw -o out.cw; decrypt c.key out.cw

    Completion in bash: eval "$(_CLOAKWORK_COMPLETE=bash_source cloakwork)"
    """


def _shape(_context: click.Context, _parameter: click.Parameter, values: Any) -> Any:
    try:
        return [tuple(int(size) for size in value.split("x")) for value in values]
    except ValueError as error:
        raise click.BadParameter("expected sizes such as 8x16") from error


@cloakwork.command("compile")
@click.argument("source")
@click.option("--haskell", "language", flag_value="haskell", help="SOURCE is FILE.hs:FUNCTION.")
@click.option("--verilog", "language", flag_value="verilog", help="SOURCE is FILE.v:MODULE.")
@click.option("--bristol", "language", flag_value="bristol", help="SOURCE is a Bristol file.")
@click.option("--shape", "shapes", multiple=True, callback=_shape, help="Of each tensor, as 8x16.")
@click.option("--bound", type=float, help="Largest absolute value of any tensor; 1.")
@click.option("--bits", type=int, help="Bits of the results of a circuit of integers.")
@click.option("--sample", type=_FILE, help="Inputs such as a network is to be run on.")
@click.option("--batch", type=int, help="Evaluations that one run must hold.")
@click.option("--precision", type=int, help="Bits after the binary point of real results.")
@click.option("--key-budget", type=int, help="Bytes for all evaluation keys.")
@click.option("--threads", type=int, help="Threads that a circuit over bits is to run on.")
@click.option(
    "--failure-bits",
    type=int,
    help="A bootstrap or bound on noise fails with 2^-BITS.",
)
@click.option("--public-inputs", is_flag=True, help="Let others encrypt integers by a public key.")
@_RESULT
@_INSECURE
def compile_command(source: str, language: str | None, output: Path, **options: Any) -> None:
    """Compile FILE.py:NAME into a program's file.

    NAME is a program, a circuit of integers or bits, a network (torch.nn.Module), or a function of
    tensors; or SOURCE is Haskell, Verilog or a Bristol file.
    """
    from cloakwork.cli.source import Options, program_of  # noqa: PLC0415

    program = program_of(source, language or "python", Options(**options))
    program.save(output)
    click.echo(program)


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.option("--plot", type=_FILE, help="Draw the plan into a file such as plan.png.")
@_INSECURE
def explain(program: Path, plot: Path | None, insecure: bool) -> None:
    """Print what was planned and what it costs."""
    import cloakwork as cw  # noqa: PLC0415

    loaded = cw.load(program, cw.Program, insecure=insecure)
    if plot is not None:
        cw.plot(loaded, plot)
    click.echo(cw.explain(loaded))


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.option("--runs", type=int, default=1, show_default=True, help="How many runs.")
@_INSECURE
def estimate(program: Path, runs: int, insecure: bool) -> None:
    """Print what runs take on this machine, before they are run."""
    import cloakwork as cw  # noqa: PLC0415

    click.echo(cw.estimate(cw.load(program, cw.Program, insecure=insecure), runs))


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.option("--client", type=_FILE, required=True, help="Where the secret key goes.")
@click.option("--evaluator", type=_FILE, required=True, help="Where the evaluation keys go.")
@click.option("--public-key", type=_FILE, help="Where a key goes with which others encrypt.")
@_INSECURE
def keygen(
    program: Path, client: Path, evaluator: Path, public_key: Path | None, insecure: bool
) -> None:
    """Make a secret key and the evaluation keys that go with it."""
    import cloakwork as cw  # noqa: PLC0415

    key_holder, runner = cw.load(program, cw.Program, insecure=insecure).keygen()
    key_holder.save(client)
    runner.save(evaluator)
    if public_key is not None:
        key_holder.public_key().save(public_key)


@cloakwork.command()
@click.argument("key", type=_FILE)
@click.argument("inputs", type=_FILE)
@_RESULT
@_INSECURE
def encrypt(key: Path, inputs: Path, output: Path, insecure: bool) -> None:
    """Encrypt inputs with a client's key or a public one.

    INPUTS is a .npz, .npy, .json or .csv with values by the names of the program's inputs.
    """
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.values import read_values  # noqa: PLC0415
    from cloakwork.runtime import container  # noqa: PLC0415
    from cloakwork.runtime.client import ENCRYPTOR_KIND  # noqa: PLC0415

    kind = container.kind_of(key)
    key_holder: Any = cw.load(
        key, cw.Encryptor if kind == ENCRYPTOR_KIND else cw.Client, insecure=insecure
    )
    key_holder.encrypt(**read_values(inputs, key_holder.program.inputs)).save(output)


@cloakwork.command()
@click.argument("evaluator", type=_FILE)
@click.argument("inputs", type=_FILE, nargs=-1, required=True)
@click.option("--clear", type=_FILE, help="Inputs over bits that are not encrypted.")
@click.option("--threads", type=int, help="Operations at once; all cores by default.")
@click.option("--memory-limit", type=int, help="Bytes that the ciphertexts may take.")
@click.option("--cache-bytes", type=int, help="Bytes that encoded layers may take.")
@click.option("--profile", is_flag=True, help="Print what the run took.")
@_RESULT
@_INSECURE
def run(evaluator: Path, inputs: tuple[Path, ...], output: Path, **options: Any) -> None:
    """Run a program on encrypted inputs."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.values import read_values  # noqa: PLC0415

    loaded = cw.load(evaluator, cw.Evaluator, insecure=options["insecure"])
    for name in ("memory_limit", "cache_bytes"):
        if options[name] is not None:
            setattr(loaded, name, options[name])
    clear = None
    if options["clear"] is not None:
        clear = read_values(options["clear"], loaded.program.inputs)
    profile = cw.Profile()
    given = [cw.load(path, cw.Encrypted) for path in inputs]
    loaded.run(given, clear, threads=options["threads"], profile=profile).save(output)
    if options["profile"]:
        click.echo(cw.explain(loaded.program, profile))


@cloakwork.command()
@click.argument("client", type=_FILE)
@click.argument("outputs", type=_FILE)
@click.option(
    "-o", "--output", type=_FILE, help="A .npz, .npy, .json or .csv; prints JSON without."
)
@_INSECURE
def decrypt(client: Path, outputs: Path, output: Path | None, insecure: bool) -> None:
    """Decrypt results with the client's key."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.values import as_json, write_values  # noqa: PLC0415

    key_holder = cw.load(client, cw.Client, insecure=insecure)
    result = key_holder.decrypt(cw.load(outputs, cw.Encrypted))
    if output is None:
        click.echo(as_json(result))
    else:
        write_values(output, result, key_holder.program.outputs)


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.argument("inputs", type=_FILE)
@click.option(
    "-o", "--output", type=_FILE, help="A .npz, .npy, .json or .csv; prints JSON without."
)
@click.option("--seed", type=int, help="Add modelled errors, drawn from this.")
@_INSECURE
def simulate(
    program: Path, inputs: Path, output: Path | None, seed: int | None, insecure: bool
) -> None:
    """Run a program in the clear, to find mistakes."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.values import as_json, read_values, write_values  # noqa: PLC0415

    loaded = cw.load(program, cw.Program, insecure=insecure)
    values = read_values(inputs, loaded.inputs)
    if seed is None:
        result = loaded.run_clear(**values)
    else:
        found = loaded.simulate(seed=seed, **values)
        result = found.outputs
        for report in found.outside:
            click.echo(report, err=True)
    if output is None:
        click.echo(as_json(result))
    else:
        write_values(output, result, loaded.outputs)


@cloakwork.command()
@click.argument("file", type=_FILE)
def inspect(file: Path) -> None:
    """Print what a file is, but no secret.

    Its kind, program, key, security and size.
    """
    from cloakwork.cli.inspection import inspected  # noqa: PLC0415

    click.echo(inspected(file))


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.option("--runs", type=click.IntRange(1), default=5, show_default=True, help="To measure.")
@click.option("--threads", type=int, help="Operations at once; all cores by default.")
@_INSECURE
def bench(program: Path, runs: int, threads: int | None, insecure: bool) -> None:
    """Measure a program on random inputs.

    Keys, encryption, runs and decryption are timed, and results compared with those in the clear.
    """
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.measurement import measured  # noqa: PLC0415

    loaded = cw.load(program, cw.Program, insecure=insecure)
    click.echo(measured(loaded, runs, threads))
