"""`cloakwork`: compile, explain, keygen, encrypt, run, decrypt, inspect, bench."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from cloakwork.base.arguments import printable
from cloakwork.cli.at_server import server_options
from cloakwork.cli.statuses import INTERRUPTED, REFUSED
from cloakwork.errors import CloakworkError
from cloakwork.runtime.storage import named_full_disk

_FILE = click.Path(path_type=Path, dir_okay=False)
# A folder may have the name of a program of a server.
_FILE_OR_NAME = click.Path(path_type=Path)
_INSECURE = click.option(
    "--insecure", is_flag=True, help="Allow parameters below 128-bit security, for tests."
)
# Advice of the library, and as the command line takes it.
_WORDS = {
    "read it with insecure=True": "give --insecure",
    "as authority": "by --ca",
    "by timeout=": "by --timeout",
    "ask for the list": "cloakwork interface --server URL lists what there is",
}
_PASSPHRASE_FD = click.option(
    "--passphrase-fd", type=int, help="A file descriptor with the passphrase."
)
_SERVED = click.option(
    "--program", "served", type=_FILE, help="Another program that the key serves; of a row, say."
)
_RESULT = click.option("-o", "--output", type=_FILE, required=True, help="Where to write.")


def status_of(arguments: list[str] | None) -> int:
    """Run the command line for its exit code; every refusal is one line on standard error."""
    try:
        # All other files have been named by the time.
        with named_full_disk("standard output", "send it elsewhere"):
            status: int | None = cloakwork.main(
                arguments, prog_name="cloakwork", standalone_mode=False
            )
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "cloakwork"
        return _refused(command, f"{error.format_message().rstrip('.')}; see {command} --help")
    except click.ClickException as error:
        return _refused("cloakwork", error.format_message())
    except click.Abort:
        return INTERRUPTED
    except (CloakworkError, OSError) as error:
        return _refused("cloakwork", _worded(str(error)))
    return status or 0


def _worded(message: str) -> str:
    for words, own in _WORDS.items():
        message = message.replace(words, own)
    return message


def _refused(command: str, message: str) -> int:
    click.echo(f"{command}: {printable(' '.join(message.split()))}", err=True)
    return REFUSED


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(package_name="cloakwork", hidden=True)
@click.pass_context
def cloakwork(context: click.Context) -> None:
    """\b
    Run programs on data that whoever runs them cannot see.
    compile score.py:program -o p.cw; keygen p.cw --client c.key --evaluator e.key
    encrypt c.key in.npz -o in.cw; run e.key in.cw -o out.cw; decrypt c.key out.cw
    Completion in bash: eval "$(_CLOAKWORK_COMPLETE=bash_source cloakwork)"
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(REFUSED)


def _shapes(
    _context: click.Context, _parameter: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[int, ...], ...]:
    return tuple(_shape(text) for text in texts)


def _shape(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(size) for size in text.split("x"))
    except ValueError as error:
        raise click.BadParameter(f"expected sizes such as 8x16, got {text!r}") from error


@cloakwork.command("compile")
@click.argument("source")
@click.option("--haskell", is_flag=True, help="SOURCE is FILE.hs:FUNCTION.")
@click.option("--verilog", is_flag=True, help="SOURCE is FILE.v:MODULE.")
@click.option("--yosys-json", is_flag=True, help="SOURCE is FILE.json:MODULE, gates of Yosys.")
@click.option("--blif", is_flag=True, help="SOURCE is a BLIF file.")
@click.option("--bristol", is_flag=True, help="SOURCE is a Bristol file.")
@click.option("--shape", multiple=True, callback=_shapes, help="Of each tensor, as 8x16.")
@click.option("--bound", type=float, help="Largest absolute value of any tensor; 1.")
@click.option("--bits", type=int, help="Bits of the results of a circuit of integers.")
@click.option("--sample", type=_FILE, help="Inputs such as a network is to be run on.")
@click.option("--batch", type=int, help="Evaluations that one run must hold.")
@click.option("--precision", type=int, help="Bits after the point of reals; or --relative.")
@click.option("--relative", type=int, hidden=True)
@click.option("--key-budget", type=int, help="Bytes for all evaluation keys.")
@click.option("--threads", type=int, help="Threads that a circuit over bits is to run on.")
@click.option("--timeout", type=float, hidden=True)  # The help fits a screen.
@click.option(
    "--failure-bits",
    type=int,
    help="A bootstrap or bound on noise fails with 2^-BITS.",
)
@click.option("--public-inputs", is_flag=True, help="Let others encrypt by a public key.")
@click.option("--wrapping", is_flag=True, help="Let integers of more bits wrap around.")
@_RESULT
@_INSECURE
def compile_command(
    source: str,
    output: Path,
    haskell: bool,
    verilog: bool,
    yosys_json: bool,
    blif: bool,
    bristol: bool,
    **options: Any,
) -> None:
    """Compile SOURCE: FILE.py:NAME, a network's .onnx or .pt2, or by an option."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.outputs import require_replaceable, require_separate  # noqa: PLC0415
    from cloakwork.cli.source import Options, file_of, program_of_source  # noqa: PLC0415

    flags = {
        "haskell": haskell,
        "verilog": verilog,
        "yosys-json": yosys_json,
        "blif": blif,
        "bristol": bristol,
    }
    languages = [language for language, given in flags.items() if given] or ["python"]
    if len(languages) > 1:
        raise click.UsageError(
            f"expected one of {', '.join(f'--{language}' for language in flags)}, got "
            + " and ".join(f"--{language}" for language in languages)
        )
    asked = Options(**options)
    read = [file_of(source, languages[0]), *([asked.sample] if asked.sample else [])]
    require_separate({"--output": output}, read)
    require_replaceable(output, cw.Program)
    program = program_of_source(source, languages[0], asked)
    program.save(output)
    click.echo(program)


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.option("--plot", type=_FILE, help="Draw the plan into a file such as plan.png.")
@click.option("--workers", type=int, help="Also how so many workers of a cluster share it.")
@_INSECURE
def explain(program: Path, plot: Path | None, workers: int | None, insecure: bool) -> None:
    """Print what was planned and what it costs."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.outputs import require_not_of_cloakwork  # noqa: PLC0415

    if plot is not None:
        require_not_of_cloakwork(plot)
    loaded = cw.load(program, cw.Program, insecure=insecure)
    if plot is not None:
        cw.plot(loaded, plot)
    click.echo(cw.explain(loaded, workers=workers))


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.option("--runs", type=int, default=1, show_default=True, help="How many runs.")
@click.option("--memory-limit", type=int, help="Bytes that each may take.")
@_INSECURE
def estimate(program: Path, runs: int, memory_limit: int | None, insecure: bool) -> None:
    """Print what runs take on this machine, before they are run."""
    import cloakwork as cw  # noqa: PLC0415

    loaded = cw.load(program, cw.Program, insecure=insecure)
    click.echo(cw.estimate(loaded, runs, memory_limit))


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.option("--client", type=_FILE, required=True, help="Where the secret key goes.")
@click.option("--evaluator", type=_FILE, help="Where the evaluator goes, with its keys.")
@click.option("--keys", type=_FILE, help="Where the evaluation keys go by themselves.")
@click.option("--public-key", type=_FILE, help="Where a key goes with which another encrypts.")
@click.option(
    "--serving",
    type=_FILE,
    multiple=True,
    help="Another program, or interface, for the same keys, brought together with PROGRAM.",
)
@click.option("--passphrase", is_flag=True, help="Seal the client's file by a passphrase.")
@_PASSPHRASE_FD
@click.option("--overwrite", is_flag=True, help="Replace keys that are there.")
@server_options("PROGRAM is a server's, which gets the keys.")
@_INSECURE
def keygen(
    program: Path,
    client: Path,
    evaluator: Path | None,
    keys: Path | None,
    public_key: Path | None,
    serving: tuple[Path, ...],
    passphrase: bool,
    passphrase_fd: int | None,
    overwrite: bool,
    insecure: bool,
    **options: Any,
) -> None:
    """Make a secret key and the evaluation keys that go with it.

    PROGRAM is a program, or its interface, of which there are --keys alone: whoever has the program
    makes the evaluator of them.

    A passphrase is of --passphrase-fd or CLOAKWORK_PASSPHRASE, or asked for.
    """
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.at_server import for_clients_at, register_at  # noqa: PLC0415
    from cloakwork.cli.key_files import evaluator_of, keys_of  # noqa: PLC0415
    from cloakwork.cli.outputs import (  # noqa: PLC0415
        require_new_key,
        require_replaceable,
        require_separate,
    )
    from cloakwork.cli.passphrase import new_passphrase  # noqa: PLC0415
    from cloakwork.runtime.saved import Saved, save_all, save_new  # noqa: PLC0415

    if (evaluator is None) == (keys is None):
        raise click.UsageError("expected one of --evaluator and --keys.")
    if keys is None and options["server"] is not None:
        raise click.UsageError("expected --keys with --server.")
    asked: dict[str, tuple[Path | None, type[Saved], Callable[[cw.Client], Saved]]] = {
        "--client": (client, cw.Client, lambda made: made),
        "--evaluator": (
            evaluator,
            cw.Evaluator,
            lambda made: evaluator_of(made, serving, insecure),
        ),
        "--keys": (keys, cw.EvaluationKeys, lambda made: keys_of(made, serving, insecure)),
        "--public-key": (public_key, cw.Encryptor, cw.Client.public_key),
    }
    files = {option: path for option, (path, _, _) in asked.items() if path is not None}
    read = [*serving, *([program] if options["server"] is None else [])]
    require_separate(files, read)
    for option, path in files.items():
        require_replaceable(path, asked[option][1])
        if not overwrite:
            require_new_key(path)
    sealed_by = None
    if passphrase or passphrase_fd is not None:
        sealed_by = new_passphrase(passphrase_fd)
    key_holder = cw.Client.generate(for_clients_at(program, insecure=insecure, **options))
    save = save_all if overwrite else save_new
    made = {path: asked[option][2](key_holder) for option, path in files.items()}
    save(made, {client: sealed_by})
    register_at(program, None if keys is None else made[keys], insecure=insecure, **options)


@cloakwork.command()
@click.argument("program", type=_FILE_OR_NAME, required=False)
@click.option("-o", "--output", type=_FILE, help="Where to write.")
@server_options("PROGRAM is a server's; lists all without PROGRAM.")
@_INSECURE
def interface(
    program: Path | None, output: Path | None, server: str | None, insecure: bool, **options: Any
) -> None:
    """Write what clients need of a program, without its operations and weights.

    A client of it checks that inputs lie within their ranges, and nothing else.
    """
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.at_server import interface_at, require_no_server  # noqa: PLC0415
    from cloakwork.cli.outputs import require_replaceable, require_separate  # noqa: PLC0415

    if server is not None:
        click.echo(interface_at(server, program, output, insecure=insecure, **options))
        return
    require_no_server(options)
    if program is None:
        raise click.UsageError("Missing argument 'PROGRAM'.")
    if output is None:
        raise click.UsageError("Missing option '-o' / '--output'.")
    require_separate({"--output": output}, [program])
    require_replaceable(output, cw.Interface)
    made = cw.Interface.of(cw.load(program, cw.Program, insecure=insecure))
    made.save(output)
    click.echo(made)


@cloakwork.command()
@click.argument("program", type=_FILE)
@click.argument("keys", type=_FILE)
@_RESULT
@_INSECURE
def evaluator(program: Path, keys: Path, output: Path, insecure: bool) -> None:
    """Make an evaluator of a program and the keys that keygen made of its interface."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.outputs import require_replaceable, require_separate  # noqa: PLC0415

    require_separate({"--output": output}, [program, keys])
    require_replaceable(output, cw.Evaluator)
    loaded = cw.load(program, cw.Program, insecure=insecure)
    loaded.evaluator(cw.load(keys, cw.EvaluationKeys, insecure=insecure)).save(output)


@cloakwork.command()
@click.argument("key", type=_FILE)
@click.argument("inputs", type=_FILE, required=False)
@click.option("-o", "--output", type=_FILE, help="Where to write.")
@click.option("--folder", metavar="PLACE", help="Where to write as files from which runs read.")
@click.option("--first-state", type=_FILE, help="Where to write the state before the first step.")
@_SERVED
@_PASSPHRASE_FD
@_INSECURE
def encrypt(
    key: Path,
    inputs: Path | None,
    served: Path | None,
    output: Path | None,
    folder: str | None,
    first_state: Path | None,
    passphrase_fd: int | None,
    insecure: bool,
) -> None:
    """Encrypt inputs with a client's key or a public one, into a file or a folder.

    INPUTS is a .npz, .npy, .json or .csv with values by the names of the program's inputs. The
    first state of a program that keeps one is encrypted without INPUTS.
    """
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.input_files import read_inputs  # noqa: PLC0415
    from cloakwork.cli.key_files import load_encrypting, serving  # noqa: PLC0415
    from cloakwork.cli.outputs import (  # noqa: PLC0415
        require_new_state,
        require_replaceable,
        require_separate,
    )

    if first_state is not None:
        if inputs is not None or output is not None or folder is not None:
            raise click.UsageError("--first-state goes without INPUTS and where to write them.")
        require_separate({"--first-state": first_state}, [key])
        require_new_state(first_state)
        client = serving(load_encrypting(key, insecure, passphrase_fd), served, insecure)
        if not isinstance(client, cw.Client):
            raise click.UsageError("--first-state takes a client's file, not that of a public key.")
        client.start().save(first_state)
        return
    if inputs is None:
        raise click.UsageError("Missing argument 'INPUTS'.")
    if output is None and folder is None:
        raise click.UsageError("Missing option '-o' / '--output', or '--folder'.")
    if output is not None:
        require_separate({"--output": output}, [key, inputs])
        require_replaceable(output, cw.Encrypted)
    key_holder = serving(load_encrypting(key, insecure, passphrase_fd), served, insecure)
    values = read_inputs(inputs, key_holder.program.inputs)
    if folder is None:
        encrypted = key_holder.encrypt(**values)
    else:
        encrypted = key_holder.encrypt_into(folder, **values)
    if output is not None:
        encrypted.save(output)


@cloakwork.command()
@click.argument("evaluator", type=_FILE_OR_NAME)
@click.argument("inputs", type=click.Path(path_type=Path), nargs=-1)
@click.option("--clear", type=_FILE, help="Inputs over bits that are not encrypted.")
@click.option("--threads", type=int, help="Operations at once; all cores by default.")
@click.option("--memory-limit", type=int, help="Bytes that the ciphertexts may take.")
@click.option("--cache-bytes", type=int, help="Bytes that encoded layers may take.")
@click.option("--cluster", metavar="ADDRESS", help="Run on the workers of a Dask scheduler.")
@click.option("--folder", metavar="PLACE", help="Files of the run; machines of a cluster share it.")
@click.option("--profile", is_flag=True, help="Print what the run took.")
@click.option("--state", type=_FILE, help="The state, which the next one replaces.")
@click.option("--step", type=int, help="The step that the state has to be of.")
@click.option("-o", "--output", type=_FILE, help="Where to write.")
@server_options("EVALUATOR names a program of a server.")
@click.option("--keys", type=_FILE, help="The evaluation keys that a server runs it by.")
@click.option("--receipt", type=_FILE, help="Where what a server signs goes, for audit.")
@_SERVED
@_INSECURE
def run(
    evaluator: Path,
    inputs: tuple[Path, ...],
    served: Path | None,
    output: Path | None,
    clear: Path | None,
    state: Path | None,
    server: str | None,
    **options: Any,
) -> None:
    """Run a program on encrypted inputs, files or folders of them.
    With --folder, results of folders stay there; their name is printed.
    """
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.at_server import require_no_server, run_at  # noqa: PLC0415
    from cloakwork.cli.cluster import run_on  # noqa: PLC0415
    from cloakwork.cli.input_files import read_inputs  # noqa: PLC0415
    from cloakwork.cli.key_files import require_layers, require_profiled, serving  # noqa: PLC0415
    from cloakwork.cli.outputs import require_replaceable, require_separate  # noqa: PLC0415
    from cloakwork.runtime.saved import Saved, save_all  # noqa: PLC0415

    if server is not None:
        options |= {"state": state, "program": served}
        run_at(server, evaluator, inputs, clear=clear, output=output, **options)
        return
    require_no_server({name: options[name] for name in ("keys", "receipt", "token_file", "ca")})
    if not inputs and state is None:
        raise click.UsageError("Missing argument 'INPUTS...', or '--state' of a step without any.")
    stays = options["folder"] is not None and any(path.is_dir() for path in inputs)
    if output is None and not stays:
        raise click.UsageError(
            "Missing option '-o' / '--output', or '--folder' with inputs in folders."
        )
    read = [evaluator, *inputs, *(each for each in (clear, state) if each)]
    if output is not None:
        require_separate({"--output": output}, read)
        require_replaceable(output, cw.Encrypted)
    insecure = options["insecure"]
    loaded = serving(cw.load(evaluator, cw.Evaluator, insecure=insecure), served, insecure)
    if options["profile"]:
        require_profiled(loaded.program)
    if options["memory_limit"] is not None:
        loaded.memory_limit = options["memory_limit"]
    if options["cache_bytes"] is not None:
        require_layers(loaded.program)
        loaded.cache_bytes = options["cache_bytes"]
    known = None if clear is None else read_inputs(clear, loaded.program.inputs)
    profile = cw.Profile()
    given = [cw.load(path, cw.Encrypted) for path in inputs]
    on, threads = run_on(options["cluster"], options["folder"], options["threads"])
    kept = None if state is None else cw.load(state, cw.EncryptedState)
    results = loaded.run(
        given, known, threads=threads, profile=profile, on=on, state=kept, step=options["step"]
    )
    saved: dict[Path, Saved] = {} if output is None else {output: results}
    if state is not None and kept is not None:
        # A link to it stays, and leads to the next one.
        saved[state.resolve()] = kept
    save_all(saved, {})
    if results.place is not None:
        click.echo(f"results   {results.place}")
    if options["profile"]:
        click.echo(cw.explain(loaded.program, profile))


@cloakwork.command()
@click.argument("client", type=_FILE)
@click.argument("outputs", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=_FILE, help="A .npz, .npy, .json or .csv; prints JSON without."
)
@click.option("--for-others", is_flag=True, help="Make results that others may see.")
@click.option("--statistical-bits", type=int, help="How well results for others hide the key.")
@click.option("--decryptions", type=int, help="Ciphertexts to be decrypted for others, in all.")
@click.option("--honest-inputs", is_flag=True, help="Vouch for all who hold a public key.")
@_SERVED
@_PASSPHRASE_FD
@_INSECURE
def decrypt(
    client: Path,
    outputs: Path,
    served: Path | None,
    output: Path | None,
    for_others: bool,
    statistical_bits: int | None,
    decryptions: int | None,
    honest_inputs: bool,
    passphrase_fd: int | None,
    insecure: bool,
) -> None:
    """Decrypt results with the client's key, from a file or from the folder that holds them.

    They are for the holder of the secret key alone, which they may reveal. With --for-others, which
    takes --statistical-bits and --decryptions, they may be shown; the client's file counts them.
    Into a .npy file they are written part by part.
    """
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.key_files import serving  # noqa: PLC0415
    from cloakwork.cli.passphrase import passphrase_of  # noqa: PLC0415
    from cloakwork.cli.result_files import as_json, require_results_place, write_results  # noqa: PLC0415

    for_all = statistical_bits, decryptions
    if for_others and None in for_all:
        raise click.UsageError("--for-others takes --statistical-bits and --decryptions.")
    if not for_others and (honest_inputs or for_all != (None, None)):
        raise click.UsageError(
            "--statistical-bits, --decryptions and --honest-inputs go with --for-others."
        )
    key_holder = cw.load(
        client, cw.Client, insecure=insecure, passphrase=passphrase_of(client, passphrase_fd)
    )
    key_holder = serving(key_holder, served, insecure)
    program = key_holder.program
    if output is not None:
        require_results_place(output, [client, outputs], program.inputs, program.outputs)
    encrypted = cw.load(outputs, cw.Encrypted)
    if statistical_bits is not None and decryptions is not None:
        result = key_holder.decrypt_for_others(
            encrypted,
            statistical_bits=statistical_bits,
            decryptions=decryptions,
            honest_inputs=honest_inputs,
        )
    elif output is not None and output.suffix == ".npy" and outputs.is_dir():
        key_holder.decrypt_into(output, encrypted)
        return
    else:
        result = key_holder.decrypt(encrypted)
    if output is None:
        click.echo(as_json(result))
    else:
        write_results(output, result, program.outputs)


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
    from cloakwork.cli.input_files import read_inputs  # noqa: PLC0415
    from cloakwork.cli.result_files import as_json, require_results_place, write_results  # noqa: PLC0415

    loaded = cw.load(program, cw.Program, insecure=insecure)
    if output is not None:
        require_results_place(output, [program, inputs], loaded.inputs, loaded.outputs)
    values = read_inputs(inputs, loaded.inputs)
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
        write_results(output, result, loaded.outputs)


@cloakwork.command()
@click.argument("file", type=click.Path(path_type=Path))
def inspect(file: Path) -> None:
    """Print what a file is, or a folder of encrypted values, but no secret.

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
    from cloakwork.cli.measurement import measured_runs  # noqa: PLC0415

    loaded = cw.load(program, cw.Program, insecure=insecure)
    click.echo(measured_runs(loaded, runs, threads))


@cloakwork.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0 for any."
)
@click.option("--tls-cert", type=_FILE, help="The certificate for HTTPS.")
@click.option("--tls-key", type=_FILE, help="The key of the certificate.")
@click.option("--behind-tls", is_flag=True, help="A proxy before it has the certificate.")
@click.option("--token-file", type=_FILE, help="Who may ask; see cloakwork token.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True)
@click.option("--limit", "limits", multiple=True, metavar="NAME=VALUE", help="Such as memory=8GB.")
@click.option("--limit-file", type=_FILE, help="Limits as a file of TOML.")
@click.option("--show-plans", is_flag=True, help="Let users see how programs are planned.")
@click.option("--allow-upload", is_flag=True, help="Let users put programs of their own.")
@click.option("--cluster", metavar="ADDRESS", help="Run on the workers of a Dask scheduler.")
@click.option("--metrics-user", metavar="USER", help="Who alone sees /metrics, by a token.")
@click.option(
    "--log-level",
    type=click.Choice(["warning", "info"]),
    metavar="LEVEL",
    default="warning",
    help="info writes a line a request.",
)
@_INSECURE
def serve(folder: Path, host: str, port: int, insecure: bool, **options: Any) -> None:
    """Run programs of FOLDER/programs for others; token and audit go with it.

    Limits: memory, seconds, jobs, key-bytes, input-bytes, state-bytes, programs, program-bytes,
    attempts, kept, keys-unused.
    """
    from cloakwork.cli.serving import serve_at  # noqa: PLC0415

    serve_at(folder, host, port, insecure=insecure, **options)


# The screen of commands names it, and the next, beside serve.
@cloakwork.command(hidden=True)
@click.argument("user")
@click.option("--token-file", type=_FILE, required=True, help="Where its hash is added.")
@click.option("--days", type=click.IntRange(1, 3650), default=365, show_default=True)
def token(user: str, token_file: Path, days: int) -> None:
    """Print a token for a user of a server, which keeps its hash alone."""
    from datetime import UTC, datetime, timedelta  # noqa: PLC0415

    from cloakwork.service.server.access import new_token  # noqa: PLC0415

    click.echo(new_token(token_file, user, datetime.now(UTC) + timedelta(days=days)))


@cloakwork.command(hidden=True)
@click.argument("receipt", type=_FILE)
@click.argument("program", type=_FILE)
@click.argument("inputs", type=_FILE, nargs=-1, required=True)
@click.option("--keys", type=_FILE, multiple=True, required=True, help="The evaluation keys.")
@click.option("--clear", type=_FILE, help="Inputs over bits that are not encrypted.")
@_INSECURE
def audit(
    receipt: Path,
    program: Path,
    inputs: tuple[Path, ...],
    keys: tuple[Path, ...],
    clear: Path | None,
    insecure: bool,
) -> None:
    """Run again what a server signed, and compare the results byte by byte."""
    import cloakwork as cw  # noqa: PLC0415
    from cloakwork.cli.input_files import read_inputs  # noqa: PLC0415
    from cloakwork.service.receipts import SignedReceipt  # noqa: PLC0415

    read = SignedReceipt.load(receipt)
    loaded = cw.load(program, cw.Program, insecure=insecure)
    known = None if clear is None else read_inputs(clear, loaded.inputs)
    read.audit(loaded, keys, [cw.load(each, cw.Encrypted) for each in inputs], known)
    click.echo(f"the same results; signed by {read.signer}")
