"""Names of modules and arguments, read off Haskell sources."""

import pytest

from cloakwork.frontends.boolean.haskell_names import Name, argument_names, module_name


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


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("f key block = key", ["key", "block"]),
        ("f :: a -> b\nf a' _b = a'", ["a'", "_b"]),
        ("f = g\n", []),
        ("f !a ~b whole@(c, d) = a", ["a", "b", "whole"]),
        ("f (a, _) (b) = a", [["a", None], "b"]),
        ("f ((a, b), c) = a", [[["a", "b"], "c"]]),
        ("f (a :> b :> Nil) (Just c) = a", [None, None]),
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
