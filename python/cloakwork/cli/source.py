"""Programs from what a user wrote: an object of a Python file, Haskell, Verilog, netlists."""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import ModuleType
from typing import Any

import cloakwork
from cloakwork.base.arguments import shown
from cloakwork.cli.input_files import ENDINGS, read_samples
from cloakwork.errors import CloakworkError, FileMissingError, InvalidArgumentError
from cloakwork.frontends import boolean, nn
from cloakwork.frontends.boolean import Circuit
from cloakwork.frontends.circuit.compile_function import CircuitFunction
from cloakwork.frontends.nn.given_module import ENDINGS as NETWORKS
from cloakwork.frontends.tensors.compile import compile as compile_function
from cloakwork.programs.spec import Spec
from cloakwork.runtime.program import Program

_ACTION = "compile"
# Languages whose files are one circuit, and those whose files have names for circuits.
_WHOLE_FILES: dict[str, Callable[[str], Circuit]] = {
    "blif": boolean.from_blif,
    "bristol": boolean.from_bristol,
}
_NAMED_IN_FILES: dict[str, Callable[[str, str], Circuit]] = {
    "yosys-json": boolean.from_yosys_json,
}
# Those of which other programs make gates, which takes time.
_SYNTHESIZED: dict[str, Callable[..., Circuit]] = {
    "haskell": boolean.from_haskell,
    "verilog": boolean.from_verilog,
}
_OF_CIRCUITS = ("threads", "failure_bits", "insecure")
# Where lines are not the user's.
_PACKAGES = (
    Path(cloakwork.__file__).parent,
    *(Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib", "platlib")),
)


@dataclass(frozen=True, slots=True)
class Options:
    """What a user asks of a program; None where nothing was said.

    Args:
        shape: Shapes of the arguments of a function of tensors.
        bound: The largest absolute value of any argument of one.
        bits: Bits of the results of a function of integers.
        sample: A file with a batch of inputs of a network.
        batch: Evaluations that a run must have slots for.
        precision: Bits after the binary point of results.
        relative: Bits that are right of the largest that a result of a function of tensors may be.
        key_budget: Bytes for all evaluation keys.
        threads: Threads that a circuit over bits is to run on.
        timeout: Seconds that Clash or Yosys may take.
        failure_bits: A bootstrap of a circuit over bits, and a bound on noise of a function of
            integers, fails with a probability of at most 2^-failure_bits.
        public_inputs: Whether a public key may encrypt inputs; those over bits it always may.
        wrapping: Whether results of a function of integers may wrap around.
        insecure: Whether parameters below 128-bit security are allowed, and bits that go wrong
            more often than with 2^-40.
    """

    shape: Sequence[tuple[int, ...]] = ()
    bound: float | None = None
    bits: int | None = None
    sample: Path | None = None
    batch: int | None = None
    precision: int | None = None
    relative: int | None = None
    key_budget: int | None = None
    threads: int | None = None
    timeout: float | None = None
    failure_bits: int | None = None
    public_inputs: bool = False
    wrapping: bool = False
    insecure: bool = False

    def taken(self, source: str, kind: str, *names: str) -> dict[str, Any]:
        """The options that a kind of source takes and the user gave, by name."""
        given = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        }
        others = [_flag(name) for name in given if name not in names]
        if others:
            expected = ", ".join(map(_flag, names)) or "no options"
            raise InvalidArgumentError(
                f"cannot {_ACTION} {source}: expected {expected} for {kind}, got "
                f"{' and '.join(others)}; leave {' and '.join(others)} out"
            )
        return given


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def file_of(source: str, language: str) -> Path:
    """The file of a source.

    Example:
        >>> str(file_of("Aes.hs:encrypt", "haskell"))
        'Aes.hs'
    """
    is_whole = language in _WHOLE_FILES or source.endswith(NETWORKS)
    return Path(source if is_whole else source.rpartition(":")[0])


def program_of_source(source: str, language: str, options: Options) -> Program:
    """The program of a source such as `score.py:program`, `Aes.hs:encrypt`, `net.onnx`."""
    if language in _WHOLE_FILES:
        return _circuit(_WHOLE_FILES[language](source), source, options)
    if source.endswith(NETWORKS):
        return _network(source, source, options)
    path, _, name = source.rpartition(":")
    if not path or not name:
        raise InvalidArgumentError(
            f"cannot {_ACTION} {source}: expected a file and a name in it, such as score.py:program"
        )
    if language in _SYNTHESIZED:
        return _synthesized(_SYNTHESIZED[language], path, name, options)
    if language in _NAMED_IN_FILES:
        return _circuit(_NAMED_IN_FILES[language](path, name), source, options)
    found = getattr(_module(Path(path)), name, None)
    if found is None:
        raise InvalidArgumentError(f"cannot {_ACTION} {source}: {path} has no {name!r}")
    try:
        return _compiled(found, source, options)
    except CloakworkError:
        raise
    except (Exception, SystemExit) as error:
        # Where none of the user's lines is to blame, Cloakwork is.
        if _user_line(error) is None:
            raise
        raise _raised(source, error) from error


def _circuit(circuit: Circuit, source: str, options: Options) -> Program:
    return circuit.compile(**options.taken(source, "a circuit of bits", *_OF_CIRCUITS))


def _synthesized(read: Callable[..., Circuit], path: str, name: str, options: Options) -> Program:
    asked = options.taken(f"{path}:{name}", "Haskell and Verilog", "timeout", *_OF_CIRCUITS)
    limits = {option: asked.pop(option) for option in ("timeout",) if option in asked}
    return read(path, name, **limits).compile(**asked)


def _module(path: Path) -> ModuleType:
    """A Python file as a module; modules beside it can be imported by it."""
    if not path.is_file():
        raise FileMissingError(
            f"cannot {_ACTION}: there is no file {path}; give the path of a file"
        )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InvalidArgumentError(f"cannot {_ACTION} {path}: expected a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent.resolve()))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except CloakworkError:
        raise
    except (Exception, SystemExit) as error:
        raise _raised(path, error) from error
    return module


def _raised(source: str | Path, error: BaseException) -> InvalidArgumentError:
    """What an error of a user's code is told as."""
    line = _user_line(error)
    place = "" if line is None else f" ({line})"
    return InvalidArgumentError(
        f"cannot {_ACTION} {source}: it raises {type(error).__name__}: {error}{place}; mend the "
        "file"
    )


def _user_line(error: BaseException) -> str | None:
    """The last line that an error came through and that no package has."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        file = Path(frame.filename)
        if file.is_file() and not any(file.is_relative_to(folder) for folder in _PACKAGES):
            return f"{file.name}:{frame.lineno}"
    return None


def _compiled(found: Any, source: str, options: Options) -> Program:
    if isinstance(found, Program):
        options.taken(source, "a program that its file compiles")
        return found
    if isinstance(found, Circuit):
        return _circuit(found, source, options)
    if isinstance(found, CircuitFunction):
        return _function_of_integers(found, source, options)
    if _is_network(found):
        return _network(found, source, options)
    if callable(found):
        return _function_of_tensors(found, source, options)
    raise InvalidArgumentError(
        f"cannot {_ACTION} {source}: expected a program, a circuit, a network or a function of "
        f"tensors, got {shown(found)}"
    )


def _function_of_integers(found: CircuitFunction, source: str, options: Options) -> Program:
    asked = options.taken(
        source,
        "a function of integers",
        "bits",
        "batch",
        "public_inputs",
        "key_budget",
        "failure_bits",
        "wrapping",
        "threads",
        "insecure",
    )
    return found.compile(**asked)


def _function_of_tensors(found: Any, source: str, options: Options) -> Program:
    asked = options.taken(
        source,
        "a function of tensors",
        "shape",
        "bound",
        "precision",
        "relative",
        "public_inputs",
        "key_budget",
        "insecure",
    )
    shapes, bound = asked.pop("shape", ()), asked.pop("bound", 1.0)
    if not shapes:
        raise InvalidArgumentError(
            f"cannot {_ACTION} {source}: expected --shape for each argument, such as --shape 8x16"
        )
    return compile_function(found, *(Spec(shape, bound) for shape in shapes), **asked)


def _is_network(found: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(found, torch.nn.Module)


def _network(found: Any, source: str, options: Options) -> Program:
    asked = options.taken(
        source,
        "a network",
        "sample",
        "precision",
        "batch",
        "public_inputs",
        "key_budget",
        "insecure",
    )
    sample = asked.pop("sample", None)
    if sample is None:
        raise InvalidArgumentError(
            f"cannot {_ACTION} {source}: expected --sample, a file ({', '.join(ENDINGS)}) with a "
            "batch of inputs such as the network is to be run on"
        )
    return nn.compile(found, read_samples(sample), **asked)
