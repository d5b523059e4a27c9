"""Names of modules and arguments, read off Haskell sources."""

import pytest

from cloakwork.frontends.boolean.haskell_names import (
    Name,
    Pattern,
    argument_names,
    code_start,
    has_header,
    imported_modules,
    module_name,
)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("module Aes where", "Aes"),
        ("-- | module Old where\n{- module Older where -}\nmodule New (f) where", "New"),
        (
            '{-# LANGUAGE DataKinds #-}\nmodule Ciphers.Block.Aes\n  (f)\nwhere\ns = "--"',
            "Ciphers.Block.Aes",
        ),
        ("import Clash.Prelude\nf = 1", "Main"),
        ("{- {- nested -} module No where -} module Yes where", "Yes"),
    ],
)
def test_module_name(source: str, name: str) -> None:
    assert module_name(source) == name
    assert has_header(source) == (name != "Main")


@pytest.mark.parametrize(
    ("source", "start"),
    [
        ("f = 1", "f"),
        ("{-# LANGUAGE DataKinds #-}\n-- A --> B\n\nimport A", "import"),
        ("{- {- a -} b -} import A", "import"),
        ("-- nothing but this", ""),
    ],
)
def test_where_code_starts(source: str, start: str) -> None:
    assert source[code_start(source) :].split(" ", maxsplit=1)[0] == start


def test_imported_modules() -> None:
    source = """module A where
import Clash.Prelude hiding (map)
import safe qualified Data.List as L
import "base" Data.Maybe (fromMaybe)
import {-# SOURCE #-} B.C'
-- import D
{- import E -}
imported = "import F"
"""
    assert imported_modules(source) == ["Clash.Prelude", "Data.List", "Data.Maybe", "B.C'"]


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("f key block = key", ["key", "block"]),
        ("f :: a -> b\nf a' _b = a'", ["a'", "_b"]),
        ("f = g\n", []),
        ("f !a ~b whole@(c, d) = a", ["a", "b", "whole"]),
        ("f (a, _) (b) = a", [["a", None], "b"]),
        ("f ((a, b), c) = a", [[["a", "b"], "c"]]),
        ("f (a :> b :> Nil) (Nil :> b) (-1) = a", [None, None, None]),
        ("f (Just c) = c", [Pattern("Just", ["c"])]),
        ("f (Key k) (M.Box !a _) = k", [Pattern("Key", ["k"]), Pattern("Box", ["a", None])]),
        ("f ((a, Key k), b) = k", [[["a", Pattern("Key", ["k"])], "b"]]),
        ("f (Key k) = k\nf key = 1", ["key"]),
        ("f Point {..} b | x == b = x", [None, "b"]),
        ("f Point {x = 1, y} p@Box {} (Box {..}) c = y", [None, "p", None, "c"]),
        ("f = g\n\ng a b = a", ["a", "b"]),
        ("f = g where\n  h = 1\ng a = a", ["a"]),
        ("f = g . g\ng a = a", []),
        ("f = g\n  1\ng a = a", []),
        ("f = g\ng = f", []),
        ("f 0 _ = 1\nf n m = n", ["n", "m"]),
        ("f a b | a == b = a\n      | otherwise = b", ["a", "b"]),
        ("f (a :: Unsigned 8) -- the first\n  {- and = -} b = a", ["a", "b"]),
        ("f, g :: Bit -> Bit\nf x = x\ng y = y\nfg z = z\nf' w = w", ["x"]),
        ('g = "{-"\nf z = z\nh = "-}"', ["z"]),
        ("x `f` y = x", []),
    ],
)
def test_argument_names(source: str, names: list[Name]) -> None:
    assert argument_names(source, "f") == names
