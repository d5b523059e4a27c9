"""What messages of Clash mean; Clash is not needed."""

from typing import Any

import pytest

from cloakwork.errors import (
    CloakworkError,
    HaskellError,
    MissingDependencyError,
    NotBitsError,
    SequentialCircuitError,
    TopNotFoundError,
    UnboundedRecursionError,
)
from cloakwork.frontends.boolean.haskell_refusals import (
    refused_run,
    refused_type,
    refused_warning,
)
from cloakwork.frontends.boolean.haskell_types import plain_type


@pytest.mark.parametrize(
    ("told", "error", "reason"),
    [
        ("Module `M' does not export `f'", TopNotFoundError, "exports no function f"),
        (
            "    • No instance for (CloakworkPorts.Port\n      M.Some)\n   arising from a use",
            NotBitsError,
            "stands Some, which cannot be bits",
        ),
        (
            "No instance for (BitPack (M.Maybe M.Some))\n   arising from a use",
            NotBitsError,
            r"stands \(Maybe Some\), which cannot be bits",
        ),
        (
            "No blackbox found for: GHC.Float.truncateDouble. Did you forget",
            NotBitsError,
            r"computes with Double or Float \(truncateDouble\)",
        ),
        (
            "No blackbox found for: GHC.List.$witerate. Did you forget",
            HaskellError,
            "takes iterate, of which",
        ),
        (
            "Clash was forced to translate 'Clash.Sized.Vector.unsafeFromList', but this value",
            HaskellError,
            "takes unsafeFromList, of which",
        ),
        ("No BlackBox definition for 'Clash.x'", MissingDependencyError, "lacks its primitives"),
        ("contains following recursive components: f", UnboundedRecursionError, "f, or what it"),
        ("M.hs:1:1: error:\n\n    parse error", HaskellError, r"Clash says:\nM\.hs:1:1: error:\n"),
        ("", HaskellError, r"Clash says:\nnothing"),
    ],
)
def test_messages(told: str, error: type[CloakworkError], reason: str) -> None:
    found = refused_run("M", "f", told)
    assert type(found) is error
    with pytest.raises(error, match=f"^cannot read M: .*{reason}"):
        raise found


def test_messages_of_any_length_are_short() -> None:
    told = "\n".join(["Clash error call:", "Id {varName = " + "x" * 5000, *["again"] * 30])
    shown = str(refused_run("M", "f", told))
    assert "Clash error call:\nId {varName = xxx" in shown
    assert len(shown) < 400


def test_bits_that_are_lost_are_told_of() -> None:
    assert refused_warning("M", "f", "warning: Dubious primitive instantiation") is None
    told = "Signed.toInteger: Integer width, 64, is smaller than Signed width, 65. Dropping MSBs.\n"
    found = refused_warning("M", "f", told)
    assert type(found) is HaskellError
    assert "an Integer of a number of 65 bits" in str(found)


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"reason": "clocked"}, SequentialCircuitError, "f works on signals"),
        (
            {"reason": "variables", "place": "function", "type": "forall (a_0 :: *) . a_0 -> a_0"},
            NotBitsError,
            "f has a type with variables in it: forall a . a -> a; expected",
        ),
        ({}, NotBitsError, "stands Double, which cannot be bits, in the argument key; expected"),
        ({"place": "argument 1"}, NotBitsError, "in the argument x1; expected"),
        ({"place": "argument 2"}, NotBitsError, "in the argument x2; expected"),
        ({"place": "result"}, NotBitsError, "in its result; expected"),
        (
            {"within": ["M.P", "GHC.Maybe.Maybe M.P"]},
            NotBitsError,
            "key; it is part of P, which is part of Maybe P; expected numbers with a fixed point",
        ),
        (
            {"reason": "function", "type": "GHC.Types.Bit ->\nGHC.Types.Bit"},
            NotBitsError,
            r"stands \(Bit -> Bit\), .* expected a function of values",
        ),
    ],
)
def test_types(changes: dict[str, Any], error: type[CloakworkError], reason: str) -> None:
    refused = {"place": "argument 0", "reason": "real", "type": "GHC.Types.Double", "within": []}
    found = refused_type("M", "f", ["key", None], refused | changes)
    assert type(found) is error
    with pytest.raises(error, match=f"^cannot read M: .*{reason}"):
        raise found


@pytest.mark.parametrize(
    ("told", "plain"),
    [
        ("(M.A,\n GHC.Types.Bool)", "(A, Bool)"),
        ("forall (n_0 :: GHC.Types.Nat) . n_0", "forall n . n"),
        ("forall {a_12 :: *} . a_12 -> M.T_1", "forall a . a -> T_1"),
        ("M.V ((GHC.TypeNats.+) 2 1)", "V ((+) 2 1)"),
    ],
)
def test_types_as_people_write_them(told: str, plain: str) -> None:
    assert plain_type(told) == plain
