"""Modules of a program, found and laid out; Clash is not needed."""

from pathlib import Path

import pytest

from cloakwork.errors import HaskellError
from cloakwork.frontends.boolean.haskell_modules import lay_out, read_source


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def laid_out(folder: Path, file: str) -> tuple[str, Path, dict[str, str]]:
    """The name of the first module, the folder that names start from, and the copies."""
    copies = folder / "copies of it"
    copies.mkdir()
    module, (first, root) = lay_out(folder / file, copies)
    assert first == copies
    found = {
        str(path.relative_to(copies)): path.read_text() for path in sorted(copies.rglob("*.hs"))
    }
    return module, root, found


def test_modules_that_lie_as_their_names_say_are_left_there(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/Shop/Orders.hs": "module Shop.Orders where\nimport Shop.Prices\nimport Data.List",
            "src/Shop/Prices.hs": "module Shop.Prices where\nimport Shop.Orders",
            "src/Shop/Data/List.hs": "module Shop.Data.List where",
        },
    )
    assert laid_out(tmp_path, "src/Shop/Orders.hs") == ("Shop.Orders", tmp_path / "src", {})


def test_a_flat_folder_holds_modules_of_hierarchical_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "programs/one.hs": "module Example.Project where\nimport Example.Types\nimport A.Sum",
            "programs/other.hs": "module Example.Other where",
            "programs/Types.hs": "module Example.Types where\nimport Example.Deep.Words (w)",
            "programs/Deep/Words.hs": "module Example.Deep.Words where\nw = 1",
            "programs/A/Sum.hs": "module A.Sum where\nimport A.Bits",
            "programs/my-bits.hs": "{- A -} module A.Bits where",
        },
    )
    folder = tmp_path / "programs"
    module, root, copies = laid_out(tmp_path, "programs/one.hs")
    assert (module, root) == ("Example.Project", folder)
    # A.Sum lies where it is looked for.
    assert list(copies) == [
        "A/Bits.hs",
        "Example/Deep/Words.hs",
        "Example/Project.hs",
        "Example/Types.hs",
    ]
    assert copies["Example/Deep/Words.hs"] == (
        f'{{-# LINE 1 "{folder}/Deep/Words.hs" #-}}\nmodule Example.Deep.Words where\nw = 1'
    )


def test_folders_that_are_called_as_the_module_is_are_left_for_those_above(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "lib/Example/Aes/main.hs": "module Example.Aes.Project where\nimport Example.Of.Bytes",
            "lib/Example/Of/Bytes.hs": "module Example.Of.Bytes where",
        },
    )
    module, root, copies = laid_out(tmp_path, "lib/Example/Aes/main.hs")
    assert (module, root) == ("Example.Aes.Project", tmp_path / "lib")
    assert list(copies) == ["Example/Aes/Project.hs"]


def test_files_that_are_another_module_are_not_taken(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "Project.hs": "module A.Project where\nimport A.Types\nimport Types",
            "Types.hs": "module B.Types where",
        },
    )
    assert list(laid_out(tmp_path, "Project.hs")[2]) == ["A/Project.hs"]


def test_two_files_that_are_the_module_are_refused(tmp_path: Path) -> None:
    same = "module A.Types where"
    write(
        tmp_path,
        {"Project.hs": "module A.Project where\nimport A.Types", "x.hs": same, "y.hs": same},
    )
    with pytest.raises(HaskellError, match=r"x\.hs and y\.hs are both the module A\.Types"):
        laid_out(tmp_path, "Project.hs")


def test_the_first_file_is_the_module_that_others_of_its_name_are_not(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "one.hs": "module A.Project where\nimport A.Types",
            "two.hs": "module A.Project where\n",
            "Types.hs": "module A.Types where\nimport A.Project",
        },
    )
    copies = laid_out(tmp_path, "one.hs")[2]
    assert copies["A/Project.hs"].endswith('one.hs" #-}\nmodule A.Project where\nimport A.Types')


def test_a_file_without_a_header_gets_one(tmp_path: Path) -> None:
    write(tmp_path, {"f.hs": "{-# LANGUAGE CPP #-}\n-- Adds.\n  import A\n  f = 1\n"})
    module, root, copies = laid_out(tmp_path, "f.hs")
    assert (module, root) == ("Main", tmp_path)
    path = tmp_path / "f.hs"
    assert copies == {
        "Main.hs": f'{{-# LINE 1 "{path}" #-}}\n{{-# LANGUAGE CPP #-}}\n-- Adds.\n  \n'
        f'module Main where\n{{-# LINE 3 "{path}" #-}}\n  import A\n  f = 1\n'
    }


def test_bytes_that_are_no_text_are_copied_as_they_are(tmp_path: Path) -> None:
    path = tmp_path / "f.hs"
    path.write_bytes(b"\xef\xbb\xbfmodule G where\n-- caf\xe9\n")
    (tmp_path / "copies").mkdir()
    lay_out(path, tmp_path / "copies")
    copy = (tmp_path / "copies" / "G.hs").read_bytes()
    assert copy.endswith(b"#-}\nmodule G where\n-- caf\xe9\n")


def test_literate_haskell(tmp_path: Path) -> None:
    path = tmp_path / "Sum.lhs"
    path.write_text(
        "Text\n\n> module Sum where\n> f = 1\n\n\\begin{code}\ng = 2\n\\end{code}\nend\n"
    )
    assert read_source(path) == "\n\n  module Sum where\n  f = 1\n\n\ng = 2\n\n\n"
    assert list(laid_out(tmp_path, "Sum.lhs")[2]) == ["Sum.hs"]
