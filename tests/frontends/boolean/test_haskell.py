"""Haskell functions against numpy, and sources that are refused."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cloakwork import boolean
from cloakwork.errors import (
    CloakworkError,
    HaskellError,
    InvalidArgumentError,
    MissingDependencyError,
    NotBitsError,
    SequentialCircuitError,
    SynthesisTimeoutError,
    TopNotFoundError,
    UnboundedRecursionError,
    VerilogError,
)
from cloakwork.frontends.boolean import haskell
from cloakwork.frontends.boolean.clash import ClashRun
from tests.thoroughness import slow

TYPES = """{-# LANGUAGE DeriveAnyClass #-}
module Types (types) where

import Clash.Prelude
import Parts.Turns (turned)

data Colour = Red | Green | Blue deriving (Generic, BitPack)

types ::
  Vec 3 (BitVector 8) -> BitVector 4 -> Vec 2 (Vec 3 (Signed 4)) -> (Unsigned 5, Bool) ->
  Vec 2 (Index 10, Vec 2 (BitVector 3)) -> Colour -> Vec 2 (Vec 2 (BitVector 8)) -> Unsigned 70 ->
  ( Vec 3 (BitVector 8), BitVector 4, (Vec 2 (Vec 3 (Signed 4)), Signed 6)
  , Vec 2 (Vec 2 (BitVector 3), Index 10), (Colour, Bit)
  , (Vec 2 (Vec 2 (BitVector 8)), Unsigned 71) )
types text flags table (n, negative) pairs _ lines large =
  ( turned text, flags .&. 0b0111, (map (map (1 +)) table, if negative then negate m else m)
  , map (\\(a, b) -> (b, a)) pairs, (Blue, lsb n), (reverse lines, add large (1 :: Unsigned 70)) )
  where
    m = unpack (pack (resize n :: Unsigned 6))
"""
ANNOTATED = """module Annotated (swapped) where

import Clash.Prelude

swapped :: (Unsigned 2, Unsigned 3) -> Unsigned 4 -> (Unsigned 4, Unsigned 5)
swapped (_, b) c = (c, zeroExtend b)
{-# ANN swapped (Synthesize
  { t_name = "swapped"
  , t_inputs = [PortProduct "both" [PortName "small", PortName "large"], PortName "last"]
  , t_output = PortProduct "" [PortName "first", PortName "second"] }) #-}
"""
PROJECT = """{-# LANGUAGE TemplateHaskell #-}
module Project where

import Clash.Annotations.TH
import Clash.Prelude
import qualified Library

topEntity ::
  "x" ::: Unsigned 8 -> "both" ::: ("y" ::: Unsigned 8, "carry" ::: Bool) ->
  "sums" ::: ("exact" ::: Unsigned 9, "limited" ::: Unsigned 8)
topEntity x (y, c) = (add x y + (if c then 1 else 0), Library.topEntity x y)

makeTopEntityWithName 'topEntity "cloakwork"
"""
LIBRARY = """module Library where

import Clash.Prelude

topEntity :: Unsigned 8 -> Unsigned 8 -> Unsigned 8
topEntity x y = satAdd SatBound x y
{-# ANN topEntity
  (Synthesize
    { t_name = "limited_adder"
    , t_inputs = [ PortName "first", PortName "second" ]
    , t_output = PortName "total"
    }) #-}
"""
TURNS = """module Parts.Turns where

import Clash.Prelude

turned :: Vec 3 a -> Vec 3 a
turned v = rotateLeftS v d1
"""


def module(folder: Path, body: str, name: str = "Design") -> Path:
    path = folder / f"{name}.hs"
    path.parent.mkdir(parents=True, exist_ok=True)
    pragma = "{-# LANGUAGE ExistentialQuantification #-} "
    path.write_text(f"{pragma}module {name} where\n\nimport Clash.Prelude\n\n{body}\n")
    return path


def test_types_and_the_order_of_bits(tmp_path: Path) -> None:
    (tmp_path / "Parts").mkdir()
    (tmp_path / "Parts" / "Turns.hs").write_text(TURNS)
    (tmp_path / "Types.hs").write_text(TYPES)
    program = boolean.from_haskell(tmp_path / "Types.hs", top="types")
    assert str(program).splitlines()[:-1] == [
        "types",
        "  input text: bytes, 24 bits",
        "  input flags: bits, 4 bits",
        "  input table: 6 x signed, 4 bits",
        "  input n: unsigned, 5 bits",
        "  input negative: unsigned, 1 bit",
        "  input pairs_0: 2 x unsigned, 4 bits",
        "  input pairs_1: 4 x bits, 3 bits",
        "  input x5: bits, 2 bits",
        "  input lines: 2 x bytes, 16 bits",
        "  input large: unsigned, 70 bits",
        "  output out_0: bytes, 24 bits",
        "  output out_1: bits, 4 bits",
        "  output out_2_0: 6 x signed, 4 bits",
        "  output out_2_1: signed, 6 bits",
        "  output out_3_0: 4 x bits, 3 bits",
        "  output out_3_1: 2 x unsigned, 4 bits",
        "  output out_4_0: bits, 2 bits",
        "  output out_4_1: unsigned, 1 bit",
        "  output out_5_0: 2 x bytes, 16 bits",
        "  output out_5_1: unsigned, 71 bits",
    ]
    rng = np.random.default_rng(0)
    runs = 500
    text = rng.integers(0, 256, (runs, 3), dtype=np.uint8)
    flags = rng.integers(0, 2, (runs, 4))
    table = rng.integers(-8, 8, (runs, 6))
    n, negative = rng.integers(0, 32, runs), rng.integers(0, 2, runs)
    digits = rng.integers(0, 10, (runs, 2))
    triples = rng.integers(0, 2, (runs, 4, 3))
    lines = rng.integers(0, 256, (runs, 2, 2), dtype=np.uint8)
    large = [int(high) << 40 | int(low) for high, low in rng.integers(0, 1 << 30, (runs, 2))]
    found = program.run_clear(
        text=text,
        flags=flags,
        table=table,
        n=n,
        negative=negative,
        pairs_0=digits,
        pairs_1=triples,
        x5=[0, 1],
        lines=lines,
        large=large,
    )
    assert (found["out_0"] == np.roll(text, -1, axis=1)).all()
    assert (found["out_1"] == flags * [1, 1, 1, 0]).all()
    assert (found["out_2_0"] == (table + 1 + 8) % 16 - 8).all()
    assert (found["out_2_1"] == np.where(negative, -n, n)).all()
    assert (found["out_3_0"] == triples).all()
    assert (found["out_3_1"] == digits).all()
    assert (found["out_4_0"] == [0, 1]).all()
    assert (found["out_4_1"] == n % 2).all()
    assert (found["out_5_0"] == lines[:, ::-1]).all()
    assert found["out_5_1"].tolist() == [number + 1 for number in large]


def test_an_annotation_names_ports(tmp_path: Path) -> None:
    (tmp_path / "Annotated.hs").write_text(ANNOTATED)
    annotated = boolean.from_haskell(tmp_path / "Annotated.hs", top="swapped")
    assert annotated.run_clear(both_small=1, both_large=6, last=9) == {"first": 9, "second": 6}


def test_a_project_of_clash_has_an_annotated_top_entity(tmp_path: Path) -> None:
    (tmp_path / "Project.hs").write_text(PROJECT)
    (tmp_path / "Library.hs").write_text(LIBRARY)
    x, y = np.random.default_rng(0).integers(0, 256, (2, 100))
    adder = boolean.from_haskell(tmp_path / "Library.hs", top="topEntity")
    np.testing.assert_equal(adder.run_clear(first=x, second=y), {"total": np.minimum(x + y, 255)})
    project = boolean.from_haskell(tmp_path / "Project.hs", top="topEntity")
    sums = {"sums_exact": x + y + 1, "sums_limited": np.minimum(x + y, 255)}
    np.testing.assert_equal(project.run_clear(x=x, both_y=y, both_carry=1), sums)


REFUSED = """
value :: Unsigned 4
value = 7

clocked :: HiddenClockResetEnable dom => Signal dom (Unsigned 4) -> Signal dom (Unsigned 4)
clocked = register 0

onClock :: Clock System -> Unsigned 4 -> Unsigned 4
onClock _ x = x

anyWidth :: KnownNat n => Unsigned n -> Unsigned n
anyWidth x = x + 1

anyType :: a -> a
anyType x = x

higher :: (Bit -> Bit) -> Bit
higher f = f 0

integer :: Integer -> Unsigned 4
integer = fromInteger

listed :: Unsigned 4 -> [Unsigned 4]
listed x = [x]

data Some = forall a . Show a => Some a

some :: Vec 2 (Bit, Some) -> Bool
some _ = True

nothing :: Bit -> BitVector 0 -> Bit
nothing x _ = x

empty :: Bit -> Vec 0 (BitVector 8)
empty _ = Nil

factorial :: Unsigned 8 -> Unsigned 8
factorial 0 = 1
factorial n = n * factorial (n - 1)

isEven, isOdd :: Unsigned 8 -> Bool
isEven n = n == 0 || isOdd (n - 1)
isOdd n = n /= 0 && isEven (n - 1)
{-# NOINLINE isEven #-}

double :: Vec 2 (Bit, Double) -> Bit
double _ = 0

half :: Unsigned 8 -> Bool
half x = fromIntegral x * (0.5 :: Double) > 3

text :: Unsigned 8 -> Bool
text x = show x == "3"

unit :: Bit -> ()
unit _ = ()

wide :: Unsigned 100 -> Unsigned 120
wide = fromIntegral

untyped x = x + 1

type family Held a where Held Bit = Some

held :: Held Bit -> Bit
held _ = 1

total :: Unsigned 8 -> Unsigned 8
total x = y
  where
    y = y + x
"""


REFUSALS = [
    ("missing", TopNotFoundError, "exports no function missing"),
    ("clocked", SequentialCircuitError, "clocked works on signals"),
    ("onClock", SequentialCircuitError, "onClock works on signals"),
    ("anyWidth", NotBitsError, "a type with variables in it"),
    ("anyType", NotBitsError, "a type with variables in it"),
    ("higher", NotBitsError, r"\(Bit -> Bit\), which cannot be bits"),
    ("integer", NotBitsError, "stands Integer, which cannot be bits"),
    ("listed", NotBitsError, r"stands \[Unsigned 4\], which cannot be bits"),
    ("some", NotBitsError, r"stands Some, .* argument x0; it is part of \(Bit, Some\); expected"),
    ("nothing", NotBitsError, "argument x1: its type has no bits: BitVector 0; leave it out"),
    ("empty", NotBitsError, r"the result: its type has no bits: Vec 0 \(BitVector 8\); expected"),
    ("factorial", UnboundedRecursionError, "factorial, or what it uses, calls itself"),
    ("isEven", UnboundedRecursionError, "isEven, or what it uses, calls"),
    (
        "double",
        NotBitsError,
        r"stands Double, .* argument x0; it is part of \(Bit, Double\).*SFixed",
    ),
    ("half", NotBitsError, r"computes with Double or Float \(integerToDouble#\).*SFixed"),
    ("text", HaskellError, "takes eqString, of which Clash can make no circuit"),
    ("unit", NotBitsError, r"the result: its type has no bits: \(\)"),
    ("wide", HaskellError, "an Integer of a number of 100 bits.*64 bits; expected resize"),
    ("untyped", NotBitsError, r"with variables in it, which classes restrict: .*Num a => a -> a"),
    ("held", NotBitsError, "stands Some, which cannot be bits; expected an instance of BitPack"),
    ("total", VerilogError, "no gates of Clash's total: .*loop"),
]
# Clash takes seconds for each.
QUICK = {"missing", "clocked", "factorial", "total"}


@pytest.fixture(scope="module")
def refused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of functions that are refused, and of one that is not."""
    return module(tmp_path_factory.mktemp("refused"), REFUSED)


@pytest.mark.parametrize(
    ("top", "error", "reason"),
    [pytest.param(*each, marks=() if each[0] in QUICK else pytest.mark.slow) for each in REFUSALS],
)
def test_functions_that_are_refused(
    refused: Path, top: str, error: type[CloakworkError], reason: str
) -> None:
    with pytest.raises(error, match=f"cannot .*{reason}") as caught:
        boolean.from_haskell(refused, top)
    assert type(caught.value) is error


@pytest.mark.slow
def test_a_constant_is_a_program_without_inputs(refused: Path) -> None:
    assert boolean.from_haskell(refused, "value").run_clear() == {"out": 7}


NO_TYPES = """module Design where
import Clash.Prelude
f :: Unsigned 4 -> Unsigned 8
f x = x
"""
NO_HASKELL = """module Design where
import Missing
f = 1 +
"""


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [(NO_TYPES, "4:7", "match type"), *slow((NO_HASKELL, "4:1", "parse error"))],
    ids=["types", "syntax"],
)
def test_the_message_of_the_compiler_names_file_and_line(
    tmp_path: Path, text: str, place: str, reason: str
) -> None:
    path = tmp_path / "Design.hs"
    path.write_text(text)
    with pytest.raises(HaskellError, match=rf"(?s)Clash says:.*{path}:{place}: error:.*{reason}"):
        boolean.from_haskell(path, top="f")


def test_arguments_that_are_refused(tmp_path: Path) -> None:
    path = module(tmp_path, "f = low")
    names: list[Any] = ["", "F", "f; x", "f x", "-f", "f\n", None, b"f"]
    for name in names:
        with pytest.raises(InvalidArgumentError, match="expected the name of a function"):
            boolean.from_haskell(path, top=name)
    times: list[Any] = [0, -1, float("nan"), float("inf"), "60", True]
    for seconds in times:
        with pytest.raises(InvalidArgumentError, match="timeout to be a finite number above 0"):
            boolean.from_haskell(path, top="f", timeout=seconds)
    with pytest.raises(FileNotFoundError, match="there is no file"):
        boolean.from_haskell(tmp_path / "None.hs", top="f")


@pytest.mark.parametrize(
    ("name", "header"),
    [
        ("sum of two.hs", "-- No header.\n"),
        *slow(("Main.hs", "module Main (main, added) where\n")),
    ],
)
def test_a_file_may_be_the_module_main(tmp_path: Path, name: str, header: str) -> None:
    path = tmp_path / name
    path.write_text(
        f"{header}import Clash.Prelude\nimport Carries\n\n"
        "added :: Unsigned 3 -> Unsigned 3 -> Unsigned 4\nadded = withCarry\n"
        "main = print (added 1 2)\n"
    )
    (tmp_path / "carries.hs").write_text(
        "module Carries where\n\nimport Clash.Prelude\n\nwithCarry a b = add a b\n"
    )
    program = boolean.from_haskell(path, top="added")
    a, b = np.divmod(np.arange(64), 8)
    assert (program.run_clear(x0=a, x1=b)["out"] == a + b).all()


def test_without_clash_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = module(tmp_path, "f = low")
    monkeypatch.setenv("CLASH", "no-such-clash")
    with pytest.raises(
        MissingDependencyError, match=r"CLASH names 'no-such-clash'.*apt-get install"
    ):
        boolean.from_haskell(path, top="f")
    (tmp_path / "clash").write_text("neither program nor script")
    (tmp_path / "clash").chmod(0o755)
    monkeypatch.setenv("CLASH", str(tmp_path / "clash"))
    with pytest.raises(MissingDependencyError, match="cannot start Clash"):
        boolean.from_haskell(path, top="f")
    (tmp_path / "clash").write_text(
        "#!/bin/sh\necho \"No BlackBox definition for 'Clash.Sized.pack#'\" >&2\nexit 1\n"
    )
    with pytest.raises(MissingDependencyError, match=r"lacks its primitives.*lib-utils"):
        boolean.from_haskell(path, top="f")
    monkeypatch.delenv("CLASH")
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingDependencyError, match="it is not installed; install Clash"):
        boolean.from_haskell(path, top="f")


def slow_program(folder: Path) -> Path:
    """A program that starts another one, tells its number and waits for it."""
    path = folder / "clash"
    path.write_text(f'#!/bin/sh\nsleep 600 &\necho $! > "{folder / "started"}"\nwait\n')
    path.chmod(0o755)
    return path


def is_running(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def wait_until_ended(number: int) -> None:
    end = time.monotonic() + 30
    while is_running(number):
        assert time.monotonic() < end, f"process {number} still runs"
        time.sleep(0.01)


def test_a_clash_that_takes_too_long_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = module(tmp_path, "f = low")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    monkeypatch.setenv("CLASH", str(slow_program(tmp_path)))
    with pytest.raises(SynthesisTimeoutError, match=r"more than 1 s for f; .*timeout="):
        boolean.from_haskell(path, top="f", timeout=1)
    wait_until_ended(int((tmp_path / "started").read_text()))
    assert not list(scratch.iterdir())


def test_a_yosys_that_takes_too_long_is_told_of_as_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = module(tmp_path, "f = low")
    (tmp_path / "verilog").mkdir()
    (tmp_path / "verilog" / "f.v").write_text("module cloakwork(); endmodule")
    (tmp_path / "types.json").write_text('{"types": ["Bit"], "names": []}')
    (tmp_path / "meanings.json").write_text('[{"kind": "unsigned", "width": 1, "fraction": 0}]')
    monkeypatch.setattr(haskell, "run_clash", lambda *_: ClashRun(tmp_path, 0, ""))
    with pytest.raises(SynthesisTimeoutError, match=r"Clash's f: .* Yosys took more than 1 s"):
        boolean.from_haskell(path, top="f", yosys=slow_program(tmp_path), timeout=1)
    wait_until_ended(int((tmp_path / "started").read_text()))


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path) -> None:
    path = module(tmp_path, "f = low")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = f"import cloakwork as cw; cw.boolean.from_haskell({str(path)!r}, top='f')"
    environment = {"CLASH": str(slow_program(tmp_path)), "TMPDIR": str(scratch)}
    started = tmp_path / "started"
    with subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **environment}, stderr=subprocess.PIPE
    ) as child:
        while not (started.exists() and started.read_text().strip()):
            assert child.poll() is None, child.stderr and child.stderr.read()
            time.sleep(0.01)
        child.send_signal(signal.SIGINT)
        _, told = child.communicate(timeout=30)
    assert b"KeyboardInterrupt" in told
    wait_until_ended(int(started.read_text()))
    assert not list(scratch.iterdir())
