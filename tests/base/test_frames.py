from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cloakwork as cw
from cloakwork.errors import InputNameError, InvalidArgumentError, NotFiniteError, NotRealError

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


LETTERS = list("abcd")


def letters() -> Any:
    numbers = np.random.default_rng(3).uniform(-1, 1, (6, 4))
    return pytest.importorskip("pandas").DataFrame(numbers, columns=LETTERS)


def test_clear_labels_in_another_order_are_refused() -> None:
    pandas, people = pytest.importorskip("pandas"), letters()
    series = pandas.Series([4.0, 3, 2, 1], index=list("dcba"))
    other = people[list("dcba")]
    functions: list[Callable[[Any], Any]] = [
        lambda x: x @ series,
        lambda x: x - other.mean(),
        lambda x: x - other,
        lambda x: series * x,
        lambda x: other - x,
        lambda x: x / series,
        lambda x: x[:, series > 2],
        lambda x: np.where(other > 0, x, 0),
        lambda x: np.clip(x, -series, series),
        lambda x: cw.einsum("ij,j->i", x, series),
        lambda x: np.average(x, axis=1, weights=series),
        lambda x: np.concatenate([x, other]),
    ]
    expected = "argument 'x', 'a', 'b', 'c', 'd', got 'd', 'c', 'b', 'a'"
    for function in functions:
        with pytest.raises(InputNameError, match=expected):
            cw.compile(function, people, precision=10)
    with pytest.raises(InputNameError, match=r"argument 'x': .*argument 'y'"):
        cw.compile(lambda x, y: x - y, people, other)


def test_clear_labels_in_the_same_order_and_places_are_taken() -> None:
    pandas, people = pytest.importorskip("pandas"), letters()
    series = pandas.Series([4.0, 3, 2, 1], index=list("dcba"))
    pairs: list[tuple[Callable[[Any], Any], Any]] = [
        (lambda x: x @ series[LETTERS], people @ series),
        (lambda x: x @ series.to_numpy(), people.to_numpy() @ series.to_numpy()),
        (lambda x: (x - people.mean()) / people.std(), (people - people.mean()) / people.std()),
    ]
    for function, expected in pairs:
        found = cw.compile(function, people, precision=10).run_clear(people)
        np.testing.assert_allclose(found, expected, atol=2**-10)


def test_operators_of_frames_leave_tensors_the_word() -> None:
    pandas, people = pytest.importorskip("pandas"), letters()
    series, numbers = people.mean(), people.to_numpy()
    session = cw.Session(depth=2, backend="clear")
    x = session.encrypt(numbers, bound=1)
    pairs = [
        (people - x, numbers - numbers),
        (people * x, numbers * numbers),
        (np.multiply(people, x), numbers * numbers),
        (series - x, numbers.mean(axis=0) - numbers),
        (series * x, numbers.mean(axis=0) * numbers),
        (pandas.Index(np.arange(4.0)) * x, np.arange(4.0) * numbers),
        (people.to_numpy().T @ x, numbers.T @ numbers),
    ]
    for found, expected in pairs:
        np.testing.assert_allclose(session.decrypt(found), expected, atol=1e-6)
    spectrum = np.fft.fft(x[0]) * series
    np.testing.assert_allclose(
        session.decrypt((series * np.fft.fft(x[0])).imag), session.decrypt(spectrum.imag), atol=1e-6
    )
    products: list[Callable[[], Any]] = [lambda: people.T @ x, lambda: people.a @ x]
    for product in products:
        with pytest.raises(InvalidArgumentError, match=r"frame.to_numpy\(\) @ x or numpy.stack"):
            product()


@MAKERS
def test_masks_of_frames_choose_as_arrays_do(made: Any) -> None:
    session = cw.Session(depth=1, backend="clear")
    x = session.encrypt(NUMBERS, bound=1)
    column = made({"a": NUMBERS[:, 0]})["a"]
    rows = NUMBERS[:, 0] > 0.5
    found = session.decrypt(x[column > 0.5])
    np.testing.assert_allclose(found, NUMBERS[rows], atol=1e-6)
    places = made({"a": [2, 0]})["a"]
    np.testing.assert_allclose(session.decrypt(x[places, 1]), NUMBERS[[2, 0], 1], atol=1e-6)


def standardised(x: Any) -> Any:
    return (x - x.mean(axis=0)) / x.std(axis=0)


@MAKERS
def test_results_of_frames_are_frames_with_their_columns_and_rows(made: Any) -> None:
    table = frame(made, NAMES)
    program = cw.compile(
        lambda x: (standardised(x), x.mean(axis=0), x.sum(axis=1), x.T @ x, x @ np.eye(3, 2)),
        table,
        precision=10,
        insecure=True,
        log_n=12,
    )
    expected = (
        standardised(NUMBERS),
        NUMBERS.mean(axis=0),
        NUMBERS.sum(axis=1),
        NUMBERS.T @ NUMBERS,
        NUMBERS[:, :2],
    )
    for found in (program.run(table), program.run_clear(frame(made, NAMES[::-1]))):
        for each, numbers in zip(found, expected, strict=True):
            np.testing.assert_allclose(np.reshape(each, numbers.shape), numbers, atol=2**-9)
        whole, of_columns, of_rows, products, others = found
        assert type(whole) is type(products) is type(others) is type(table)
        assert [*whole.columns] == [*products.columns] == NAMES
        assert [*others.columns] != NAMES[:2]
        assert [*getattr(of_columns, "columns", getattr(of_columns, "index", []))] == NAMES
        assert type(of_rows) is type(table["age"])
    assert all(type(each) is np.ndarray for each in program.run_clear(NUMBERS))


def test_rows_of_pandas_keep_their_labels_where_all_inputs_agree() -> None:
    table = frame(of_pandas, NAMES).set_axis(list("wxyz"))
    program = cw.compile(lambda x, y: (x - y, (x * y).sum(axis=1)), table, table, precision=10)
    difference, products = program.run_clear(table, y=table)
    assert [*difference.index] == [*products.index] == list("wxyz")
    assert [*difference.columns] == NAMES
    others = program.run_clear(table, table.set_axis(list("abcd")))
    assert all(type(each) is np.ndarray for each in others)
    difference, _ = program.run_clear(table, NUMBERS)
    assert [*difference.index] == list("wxyz")


def test_axes_whose_order_is_another_have_no_labels() -> None:
    pandas = pytest.importorskip("pandas")
    table = frame(of_pandas, NAMES)
    program = cw.compile(lambda x: (x[::-1], x[1:], x[:, ::-1], x[:, None]), table, precision=10)
    reversed_rows, fewer, reversed_columns, deeper = program.run_clear(table)
    assert all(type(each) is np.ndarray for each in (reversed_rows, fewer, deeper))
    assert [*reversed_columns.columns] == [0, 1, 2]
    numbered = pandas.DataFrame(NUMBERS)
    found = cw.compile(lambda x: x[:, ::-1], numbered, precision=10).run_clear(numbered)
    assert type(found) is np.ndarray


def test_rows_that_are_evaluations_are_the_rows_of_results(tmp_path: Path) -> None:
    table = frame(of_pandas, NAMES).set_axis(list("wxyz"))
    rows = [row for _, row in table.iterrows()]
    program = cw.compile(lambda x: (2 * x, x.sum()), rows, precision=10, insecure=True, log_n=10)
    program.save(tmp_path / "program")
    program = cw.load(tmp_path / "program", cw.Program, insecure=True)
    doubled, sums = program.run_clear(table)
    assert [*doubled.index] == [*sums.index] == list("wxyz")
    assert [*doubled.columns] == NAMES
    one, total = program.run_clear(rows[0])
    assert [*one.index] == NAMES
    assert total.shape == ()


def test_results_of_steps_that_are_repeated_have_labels() -> None:
    table = frame(of_pandas, NAMES)
    program = cw.compile(
        lambda x: x - 0.5 * cw.repeat(lambda y: y * 0.5 + 0.1, x * 0.5, times=3, low=-1, high=1),
        table,
        precision=10,
    )
    found = program.run_clear(table)
    assert [*found.columns] == NAMES


def with_gaps(made: Any) -> Any:
    columns: dict[str, Any] = {
        name: NUMBERS[:, number].tolist() for number, name in enumerate(NAMES)
    }
    columns["height"][1] = None
    columns["weight"][0] = columns["weight"][3] = None
    return made(columns)


def filled_by(standing: Any) -> NDArray[np.float64]:
    gaps = np.zeros(NUMBERS.shape, bool)
    gaps[[1, 0, 3], [1, 2, 2]] = True
    return np.where(gaps, standing, NUMBERS)


@MAKERS
def test_missing_numbers_are_the_mean_of_their_column_in_samples(made: Any, tmp_path: Path) -> None:
    table = with_gaps(made)
    program = cw.compile(standardised, table, precision=10, missing="mean", insecure=True, log_n=12)
    means = [NUMBERS[:, 0].mean(), NUMBERS[[0, 2, 3], 1].mean(), NUMBERS[[1, 2], 2].mean()]
    np.testing.assert_allclose(program.inputs[0].missing, means)
    client, evaluator = program.keygen()
    client.save(tmp_path / "client")
    client = cw.load(tmp_path / "client", cw.Client, insecure=True)
    expected = standardised(filled_by(means))
    for given in (table, table[NAMES[::-1]], filled_by(np.nan)):
        found = client.decrypt(evaluator.run(client.encrypt(given)))
        np.testing.assert_allclose(found, expected, atol=2**-10)


def test_a_number_stands_for_what_is_missing_in_any_data() -> None:
    program = cw.compile(lambda x: 2 * x, (4, 3), precision=10, missing=0.25)
    expected = 2 * filled_by(0.25)
    gaps = filled_by(np.nan)
    masked = np.ma.masked_invalid(gaps)
    lists = [[None if np.isnan(each) else each for each in row] for row in gaps.tolist()]
    for given in (gaps, masked, lists, np.array(lists, dtype=object)):
        np.testing.assert_allclose(program.run_clear(given), expected, atol=2**-10)
        np.testing.assert_allclose(program.simulate(given).outputs, expected, atol=2**-9)
    refusing = cw.compile(lambda x: 2 * x, (4, 3), precision=10)
    for given, refusal in ((gaps, NotFiniteError), (masked, NotRealError), (lists, NotRealError)):
        with pytest.raises(refusal, match=r"missing= of cloakwork\.compile"):
            refusing.run_clear(given)
    with pytest.raises(NotFiniteError, match="is inf"):
        program.run_clear(np.full((4, 3), np.inf))
    with pytest.raises(NotRealError, match="got 'a'"):
        program.run_clear([[None, "a", 1.0]] * 4)


def test_what_cannot_stand_for_missing_numbers_is_refused() -> None:
    def compiled(missing: Any, spec: Any) -> None:
        cw.compile(lambda x: 2 * x, spec, precision=10, missing=missing)

    for missing in ("median", np.nan, True):
        with pytest.raises(InvalidArgumentError, match="a finite number, 'mean' or 'refuse'"):
            compiled(missing, (4, 3))
    with pytest.raises(InvalidArgumentError, match="expected samples of the arguments"):
        compiled("mean", (4, 3))
    with pytest.raises(InvalidArgumentError, match="from -1 to 1, the range of all, got 7"):
        compiled(7, (4, 3))
    with pytest.raises(InvalidArgumentError, match="missing is an option of reals"):
        cw.compile(lambda x: x @ x.T, cw.Spec((4, 3), kind="integer"), missing=0)
    with pytest.raises(NotFiniteError, match="column 'age' has no number"):
        compiled("mean", with_gaps(of_pandas).assign(age=np.nan))


def test_samples_without_gaps_are_widened_to_what_stands_for_them() -> None:
    table = frame(of_pandas, NAMES) + 5
    program = cw.compile(lambda x: 2 * x, table, precision=10, missing=0.0, margin=2.0)
    assert program.inputs[0].low == 0
    table.loc[0, "age"] = None
    assert abs(program.run_clear(table).loc[0, "age"]) < 2**-10


@MAKERS
def test_a_client_decrypts_like_the_frames_that_it_encrypted(made: Any) -> None:
    table = frame(made, NAMES)
    program = cw.compile(
        lambda x, y: (x - y, x.sum(axis=0)), table, table, precision=10, insecure=True, log_n=10
    )
    client, evaluator = program.keygen()
    outputs = evaluator.run(client.encrypt(table, table))
    difference, sums = client.decrypt(outputs, like={"x": table, "y": table})
    assert type(difference) is type(table)
    assert [*difference.columns] == NAMES
    np.testing.assert_allclose(np.ravel(sums), NUMBERS.sum(axis=0), atol=2**-10)
    assert all(type(each) is np.ndarray for each in client.decrypt(outputs))
    with pytest.raises(InvalidArgumentError, match=r"a dict of frames .* there are 2, x, y"):
        client.decrypt(outputs, like=table)
    with pytest.raises(InputNameError, match=r"like 'z': expected frames of inputs, x, y"):
        client.decrypt(outputs, like={"z": table})
    with pytest.raises(InvalidArgumentError, match="expected like= to be a frame"):
        client.decrypt(outputs, like={"x": NUMBERS})


def test_a_client_of_an_interface_decrypts_like_frames() -> None:
    table = frame(of_pandas, NAMES).set_axis(list("wxyz"))
    program = cw.compile(lambda x: 2 * x, table, precision=10, insecure=True, log_n=10)
    client = cw.Interface.of(program).client()
    evaluator = program.evaluator(client.evaluation_keys())
    found = client.decrypt(evaluator.run(client.encrypt(table)), like=table)
    assert [*found.index] == list("wxyz")
    assert [*found.columns] == NAMES
