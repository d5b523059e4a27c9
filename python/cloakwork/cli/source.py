"""Programs from what a user wrote: an object of a Python file, Haskell, Verilog, Bristol."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from cloakwork.base.arguments import shown
from cloakwork.cli.values import ENDINGS, read_samples
from cloakwork.errors import CloakworkError, InvalidArgumentError
from cloakwork.frontends import boolean, nn
from cloakwork.frontends.boolean import Circuit
from cloakwork.frontends.circuit.compile_function import CircuitFunction
from cloakwork.frontends.tensors.compile import compile as compile_function
from cloakwork.programs.spec import Spec
from cloakwork.runtime.program import Program

_ACTION = "compile"


@dataclass(frozen=True, slots=True)
class Options:
    """What a user asks of a program; None where nothing was said.

    Args:
        shapes: Shapes of the arguments of a function of tensors.
        bound: The largest absolute value of any argument of one.
        bits: Bits of the results of a function of integers.
        sample: A file with a batch of inputs of a network.
        batch: Evaluations that a run must have slots for.
        precision: Bits after the binary point of results.
        key_budget: Bytes for all evaluation keys.
        threads: Threads that a circuit over bits is to run on.
        failure_bits: A bootstrap of a circuit over bits, and a bound on noise of a function of
            integers, fails with a probability of at most 2^-failure_bits.
        public_inputs: Whether a public key may encrypt inputs of a function of integers.
        insecure: Whether parameters below 128-bit security are allowed.
    """

    shapes: Sequence[tuple[int, ...]] = ()
    bound: float | None = None
    bits: int | None = None
    sample: Path | None = None
    batch: int | None = None
    precision: int | None = None
    key_budget: int | None = None
    threads: int | None = None
    failure_bits: int | None = None
    public_inputs: bool = False
    insecure: bool = False

    def given(self, *names: str) -> dict[str, Any]:
        """Those of these that the user gave, by name."""
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


def program_of(source: str, language: str, options: Options) -> Program:
    """The program of a source such as `score.py:program`, `Aes.hs:encrypt`, `adder.txt`.

    Args:
        source: A file and, after a colon, the name in it.
        language: python, haskell, verilog or bristol.
        options: What is asked.

    Raises:
        InvalidArgumentError: The file raises an error, it has no such name, the name stands for
            nothing that compiles, or an option that it needs is missing.
        CloakworkError: It does not compile.
        OSError: The file cannot be read.
    """
    if language == "bristol":
        return _circuit(boolean.from_bristol(source), options)
    path, _, name = source.rpartition(":")
    if not path or not name:
        raise InvalidArgumentError(
            f"cannot {_ACTION} {source}: expected a file and a name in it, such as score.py:program"
        )
    if language == "haskell":
        return _circuit(boolean.from_haskell(path, name), options)
    if language == "verilog":
        return _circuit(boolean.from_verilog(path, name), options)
    found = getattr(_module(Path(path)), name, None)
    if found is None:
        raise InvalidArgumentError(f"cannot {_ACTION} {source}: {path} has no {name!r}")
    return _compiled(found, source, options)


def _circuit(circuit: Circuit, options: Options) -> Program:
    return circuit.compile(**options.given("threads", "failure_bits"))


def _module(path: Path) -> ModuleType:
    """A Python file as a module; modules beside it can be imported by it."""
    if not path.is_file():
        raise FileNotFoundError(f"cannot {_ACTION}: there is no file {path}")
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
        place = traceback.extract_tb(error.__traceback__)[-1]
        raise InvalidArgumentError(
            f"cannot {_ACTION} {path}: it raises {type(error).__name__}: {error} "
            f"({Path(place.filename).name}:{place.lineno})"
        ) from error
    return module


def _compiled(found: Any, source: str, options: Options) -> Program:
    insecure: dict[str, Any] = {"insecure": True} if options.insecure else {}
    if isinstance(found, Program):
        return found
    if isinstance(found, Circuit):
        return _circuit(found, options)
    if isinstance(found, CircuitFunction):
        if options.bits is None:
            raise InvalidArgumentError(
                f"cannot {_ACTION} {source}: expected --bits, the bits of its results"
            )
        return found.compile(
            **options.given("bits", "batch", "public_inputs", "key_budget", "failure_bits"),
            **insecure,
        )
    if _is_network(found):
        return _network(found, source, options, insecure)
    if callable(found):
        if not options.shapes:
            raise InvalidArgumentError(
                f"cannot {_ACTION} {source}: expected --shape for each argument, such as "
                "--shape 8x16"
            )
        bound = 1.0 if options.bound is None else options.bound
        specs = [Spec(shape, bound) for shape in options.shapes]
        asked = {**options.given("precision", "key_budget"), **insecure}
        return compile_function(found, *specs, **asked)
    raise InvalidArgumentError(
        f"cannot {_ACTION} {source}: expected a program, a circuit, a network or a function of "
        f"tensors, got {shown(found)}"
    )


def _is_network(found: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(found, torch.nn.Module)


def _network(found: Any, source: str, options: Options, insecure: Any) -> Program:
    if options.sample is None:
        raise InvalidArgumentError(
            f"cannot {_ACTION} {source}: expected --sample, a file ({', '.join(ENDINGS)}) with a "
            "batch of inputs such as the network is to be run on"
        )
    asked = options.given("precision", "batch", "key_budget")
    return nn.compile(found, read_samples(options.sample), **asked, **insecure)
