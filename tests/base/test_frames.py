from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import InputNameError, NotFiniteError, NotRealError

NAMES = ["age", "height", "weight"]
NUMBERS = np.random.default_rng(0).uniform(0, 1, (4, 3))


def of_pandas(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("pandas").DataFrame(columns)


def of_polars(columns: dict[str, Any]) -> Any:
    return pytest.importorskip("polars").DataFrame(columns)


MAKERS = pytest.mark.parametrize("made", [of_pandas, of_polars])


def frame(made: Any, names: list[str]) -> Any:
    return made({name: NUMBERS[:, NAMES.index(name)] for name in names})


def weighted(x: Any) -> Any:
    return x @ np.array([1.0, 10.0, 100.0]) / 100


@MAKERS
def test_columns_are_taken_by_the_names_of_compiling(made: Any, tmp_path: Path) -> None:
    program = cw.compile(weighted, frame(made, NAMES), precision=10, insecure=True, log_n=10)
    assert program.inputs[0].columns == tuple(NAMES)
    expected = weighted(NUMBERS)
    client, evaluator = program.keygen()
    client.save(tmp_path / "client")
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    for given in (frame(made, NAMES[::-1]), NUMBERS):
        found = client.decrypt(evaluator.run(client.encrypt(given)))
        np.testing.assert_allclose(found, expected, atol=2**-10)
        np.testing.assert_allclose(program.run_clear(given), expected, atol=2**-10)
    with pytest.raises(InputNameError, match="got none of: 'weight'"):
        client.encrypt(frame(made, NAMES[:2]))
    with pytest.raises(InputNameError, match="got others: 'size'"):
        client.encrypt(made({**dict(zip(NAMES, NUMBERS.T, strict=True)), "size": NUMBERS[:, 0]}))


@MAKERS
def test_columns_of_any_numbers_are_taken(made: Any) -> None:
    columns = {"a": [1, 0, 1], "b": [True, False, True], "c": [0.5, 0.25, 1.0]}
    program = cw.compile(lambda x: x.sum(axis=1), (3, 3), precision=10)
    np.testing.assert_allclose(program.run_clear(made(columns)), [2.5, 0.25, 3.0], atol=2**-10)
    added = cw.compile(lambda x: x + made(columns), (3, 3), precision=10)
    np.testing.assert_allclose(added.run_clear(np.zeros((3, 3)))[0], [1, 1, 0.5], atol=2**-10)


@MAKERS
def test_what_is_no_number_is_refused_by_the_name_of_its_column(made: Any) -> None:
    with pytest.raises(NotRealError, match=r"column 'city' is of [Ss]tr"):
        cw.compile(weighted, made({"city": ["Ulm", "Bonn"], "b": [1.0, 2.0]}))
    program = cw.compile(lambda x: 2 * x, (2, 2), precision=10)
    with pytest.raises(NotFiniteError, match=r"column 'b' lacks 1; say .* by frame\.fill"):
        program.run_clear(made({"a": [1.0, 0.5], "b": [None, 1.0]}))


def test_pandas_has_numbers_that_may_be_missing_categories_and_rows() -> None:
    pandas = pytest.importorskip("pandas")
    program = cw.compile(lambda x: 2 * x, (2, 2), precision=10)
    table = pandas.DataFrame({"a": [1, 0], "b": [True, False]}).astype(
        {"a": "Int64", "b": "boolean"}
    )
    np.testing.assert_allclose(program.run_clear(table), [[2, 2], [0, 0]], atol=2**-10)
    table["a"] = table["a"].where(table["b"])
    with pytest.raises(NotFiniteError, match="column 'a' lacks 1"):
        program.run_clear(table)
    with pytest.raises(NotRealError, match="column 'a' is of category"):
        program.run_clear(table.astype({"a": "category"}))
    rows = frame(of_pandas, NAMES)
    by_row = cw.compile(weighted, [row for _, row in rows.iterrows()], precision=10)
    assert (by_row.inputs[0].shape, by_row.inputs[0].columns) == ((3,), tuple(NAMES))
    np.testing.assert_allclose(by_row.run_clear(rows[NAMES[::-1]]), weighted(NUMBERS), atol=2**-10)


def test_a_network_knows_the_columns_that_it_was_compiled_with() -> None:
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(3, 1).double().eval()
    program = cw.nn.compile(module, frame(of_pandas, NAMES), precision=10)
    assert program.inputs[0].columns == tuple(NAMES)
    expected = module(torch.tensor(NUMBERS)).detach().numpy()
    found = program.run_clear(frame(of_pandas, NAMES[::-1]))
    np.testing.assert_allclose(found, expected, atol=2**-9)
