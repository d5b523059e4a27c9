"""Trained models on encrypted rows: what the model says, or the same integers in the clear."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cloakwork as cw
from cloakwork.errors import (
    CloakworkError,
    FileMissingError,
    InvalidArgumentError,
    InvalidParametersError,
    MalformedBytesError,
    NewerFormatError,
    NotFiniteError,
    ShapeMismatchError,
)
from cloakwork.frontends.models.coding import INPUT
from cloakwork.frontends.models.compile_model import Model
from cloakwork.programs.bootstraps import BootstrapProgram
from cloakwork.programs.slots import Linear, Polynomial, Rotate, SlotProgram
from cloakwork.runtime.schedule import multiplies_ciphertexts

datasets = pytest.importorskip("sklearn.datasets")
xgboost = pytest.importorskip("xgboost")
lightgbm = pytest.importorskip("lightgbm")
cluster = pytest.importorskip("sklearn.cluster")
decomposition = pytest.importorskip("sklearn.decomposition")
ensemble = pytest.importorskip("sklearn.ensemble")
linear_model = pytest.importorskip("sklearn.linear_model")
naive_bayes = pytest.importorskip("sklearn.naive_bayes")
neighbors = pytest.importorskip("sklearn.neighbors")
pipeline = pytest.importorskip("sklearn.pipeline")
preprocessing = pytest.importorskip("sklearn.preprocessing")
svm = pytest.importorskip("sklearn.svm")
tree = pytest.importorskip("sklearn.tree")

Data = tuple[Any, Any]


def iris() -> Data:
    return datasets.load_iris(return_X_y=True)  # type: ignore[no-any-return]


def cancer() -> Data:
    return datasets.load_breast_cancer(return_X_y=True)  # type: ignore[no-any-return]


def diabetes() -> Data:
    return datasets.load_diabetes(return_X_y=True)  # type: ignore[no-any-return]


def halves(data: Data) -> tuple[Any, Any, Any]:
    """Rows and answers to train on, and other rows."""
    rows, answers = data
    return rows[::2], answers[::2], rows[1::2]


def scaled(model: Any, scaler: Any) -> Any:
    return pipeline.make_pipeline(scaler, model)


FORESTS: dict[str, tuple[Callable[[], Any], Callable[[], Data]]] = {
    "tree": (lambda: tree.DecisionTreeClassifier(max_depth=4, random_state=0), iris),
    "tree of two classes": (lambda: tree.DecisionTreeClassifier(random_state=0), cancer),
    "forest": (lambda: ensemble.RandomForestClassifier(4, max_depth=6, random_state=0), iris),
    "extra trees": (lambda: ensemble.ExtraTreesClassifier(3, max_depth=5, random_state=0), iris),
    "boosting": (lambda: ensemble.GradientBoostingClassifier(n_estimators=4), iris),
    "boosting of two": (lambda: ensemble.GradientBoostingClassifier(n_estimators=5), cancer),
    "histograms": (
        lambda: ensemble.HistGradientBoostingClassifier(max_iter=4, max_leaf_nodes=6),
        iris,
    ),
    "scaled tree": (
        lambda: scaled(
            tree.DecisionTreeClassifier(max_depth=3, random_state=0),
            preprocessing.StandardScaler(),
        ),
        iris,
    ),
    "xgboost": (lambda: xgboost.XGBClassifier(n_estimators=4, max_depth=3), iris),
    "xgboost of two": (lambda: xgboost.XGBClassifier(n_estimators=6, max_depth=3), cancer),
    "lightgbm": (lambda: lightgbm.LGBMClassifier(n_estimators=3, num_leaves=6, verbose=-1), iris),
    "lightgbm of two": (
        lambda: lightgbm.LGBMClassifier(n_estimators=5, num_leaves=6, verbose=-1),
        cancer,
    ),
}

SUMS: dict[str, tuple[Callable[[], Any], Callable[[], Data]]] = {
    "logistic": (
        lambda: scaled(linear_model.LogisticRegression(), preprocessing.StandardScaler()),
        cancer,
    ),
    "logistic of three": (lambda: linear_model.LogisticRegression(max_iter=2000), iris),
    "ridge": (linear_model.RidgeClassifier, iris),
    "linear svm": (lambda: scaled(svm.LinearSVC(), preprocessing.MinMaxScaler()), iris),
    "svm": (lambda: scaled(svm.SVC(kernel="linear"), preprocessing.RobustScaler()), cancer),
    "components": (
        lambda: pipeline.make_pipeline(
            preprocessing.StandardScaler(),
            decomposition.PCA(3, whiten=True),
            linear_model.LogisticRegression(),
        ),
        cancer,
    ),
    "components, scaled": (
        lambda: pipeline.make_pipeline(
            decomposition.TruncatedSVD(3, random_state=0),
            preprocessing.StandardScaler(),
            cluster.KMeans(3, n_init=1, random_state=0),
        ),
        iris,
    ),
    "gaussians": (naive_bayes.GaussianNB, iris),
    "bernoullis": (lambda: naive_bayes.BernoulliNB(binarize=1.5), iris),
    "counts": (naive_bayes.MultinomialNB, iris),
    "complements": (naive_bayes.ComplementNB, iris),
    "means": (lambda: cluster.KMeans(3, n_init=1, random_state=0), iris),
}

REGRESSIONS: dict[str, Callable[[], Any]] = {
    "tree": lambda: tree.DecisionTreeRegressor(max_depth=4, random_state=0),
    "forest": lambda: ensemble.RandomForestRegressor(3, max_depth=4, random_state=0),
    "boosting": lambda: ensemble.GradientBoostingRegressor(n_estimators=4),
    "histograms": lambda: ensemble.HistGradientBoostingRegressor(max_iter=4, max_leaf_nodes=6),
    "xgboost": lambda: xgboost.XGBRegressor(n_estimators=4, max_depth=3),
    "lightgbm": lambda: lightgbm.LGBMRegressor(n_estimators=4, num_leaves=6, verbose=-1),
    "linear": linear_model.LinearRegression,
    "ridge": linear_model.Ridge,
}


def said_on_ciphertexts(compiled: Model, rows: Any) -> Any:
    client, evaluator = compiled.program.keygen()
    encrypted = client.encrypt(**compiled.encode(rows))
    return compiled.decode(client.decrypt(evaluator.run(encrypted)))


@pytest.mark.parametrize("name", FORESTS)
def test_trees_are_exact(name: str) -> None:
    make, data = FORESTS[name]
    rows, classes, others = halves(data())
    model = make().fit(rows, classes)
    compiled = cw.models.compile(model, rows, on="bits", threads=1)
    assert compiled.agreement == 1.0
    assert (compiled.predict(others) == model.predict(others)).all()


@pytest.mark.parametrize("name", [*FORESTS, *SUMS])
def test_probabilities_and_classes(name: str) -> None:
    make, data = {**FORESTS, **SUMS}[name]
    rows, classes, others = halves(data())
    model = make().fit(rows, classes)
    options: dict[str, Any] = {"on": "bits", "threads": 1} if name in FORESTS else {}
    if not hasattr(model, "predict_proba"):
        compiled = cw.models.compile(model, rows, **options)
        assert np.mean(compiled.predict(others) == model.predict(others)) >= 0.98
    else:
        compiled = cw.models.compile(model, rows, output="probability", **options)
        assert np.abs(compiled.predict(others) - model.predict_proba(others)).max() < 0.05


@pytest.mark.parametrize("name", ["tree", "xgboost of two", "gaussians", "logistic of three"])
def test_rows_together_on_slots(name: str) -> None:
    make, data = {**FORESTS, **SUMS}[name]
    rows, classes, others = halves(data())
    model = make().fit(rows, classes)
    compiled = cw.models.compile(model, rows, output="probability", batch=8)
    found = said_on_ciphertexts(compiled, others[:8])
    assert (found == compiled.predict(others[:8])).all()
    assert np.abs(found - model.predict_proba(others[:8])).max() < 0.05


@pytest.mark.parametrize("name", REGRESSIONS)
def test_regressions(name: str) -> None:
    rows, values, others = halves(diabetes())
    model = REGRESSIONS[name]().fit(rows, values)
    options: dict[str, Any] = {} if name in ("linear", "ridge") else {"on": "bits", "threads": 1}
    compiled = cw.models.compile(model, rows, bits=12, **options)
    assert 0 < compiled.error < 0.5
    assert np.abs(compiled.predict(rows) - model.predict(rows)).max() < compiled.error + 1e-3
    assert np.abs(compiled.predict(others) - model.predict(others)).max() < 2 * compiled.error + 0.1


@pytest.mark.parametrize("name", FORESTS)
@pytest.mark.parametrize("batch", [1, 5000])
def test_trees_on_slots_are_exact(name: str, batch: int) -> None:
    make, data = FORESTS[name]
    rows, classes, others = halves(data())
    model = make().fit(rows, classes)
    compiled = cw.models.compile(model, rows, on="slots", batch=batch)
    if batch > 1:
        assert "on slots, a row a slot" in cw.explain(compiled.program)
    found = compiled.program.run_clear(**compiled.coding.encode(others))
    assert (compiled.decode(found) == model.predict(others)).all()


@pytest.mark.parametrize("batch", [1, 5000])
@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "xgboost", "lightgbm"])
def test_regressions_of_trees_on_slots(name: str, batch: int) -> None:
    rows, values, others = halves(diabetes())
    model = REGRESSIONS[name]().fit(rows, values)
    compiled = cw.models.compile(model, rows, batch=batch)
    found = compiled.decode(compiled.program.run_clear(**compiled.coding.encode(others)))
    assert (found == compiled.predict(others)).all()
    assert np.abs(found - model.predict(others)).max() < 2 * compiled.error + 0.1


def test_a_row_of_a_forest_on_ciphertexts_of_slots() -> None:
    rows, classes, others = halves(iris())
    model = ensemble.RandomForestClassifier(5, random_state=2).fit(rows, classes)
    compiled = cw.models.compile(model, rows, output="probability")
    assert compiled.error < 1e-9
    found = said_on_ciphertexts(compiled, others[60])
    assert np.allclose(found, model.predict_proba(others[60:61]))


def test_products_of_a_tree_are_few_and_few_in_a_row() -> None:
    rng = np.random.default_rng(0)
    rows, values = rng.normal(size=(600, 8)), rng.normal(size=600)
    model = tree.DecisionTreeRegressor(max_leaf_nodes=200, random_state=0).fit(rows, values)
    compiled = cw.models.compile(model, rows, batch=5000)
    body = compiled.program.body
    assert isinstance(body, SlotProgram)
    depth, inner = model.get_depth(), model.tree_.n_leaves - 1
    products = sum(multiplies_ciphertexts(body, each) for each in range(len(body.operations)))
    assert depth >= 12
    # For each inner node one at most, and for each block; three in a row for each four of depth.
    assert products <= 1.2 * inner
    assert body.top_level <= depth


def test_a_batch_beyond_a_ring_is_several_runs() -> None:
    rows, classes, others = halves(iris())
    model = tree.DecisionTreeClassifier(random_state=0).fit(rows, classes)
    compiled = cw.models.compile(model, rows, batch=5000, log_n=12, insecure=True)
    assert compiled.program.packing.batch < 5000
    found = compiled.program.run_clear(**compiled.coding.encode(np.tile(others, (67, 1))))
    assert (compiled.decode(found) == np.tile(model.predict(others), 67)).all()


def test_forests_refuse_what_only_functions_take() -> None:
    rows, classes, _ = halves(iris())
    model = tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, classes)
    with pytest.raises(InvalidArgumentError, match="got wrapping=; leave it out"):
        cw.models.compile(model, rows, wrapping=True)
    values = 1e-3 * rows[:, 0]
    regression = tree.DecisionTreeRegressor(max_depth=1).fit(rows, values - values.mean() + 1)
    with pytest.raises(InvalidArgumentError, match="ask for more bits="):
        cw.models.compile(regression, rows, bits=1)


@pytest.mark.parametrize("whiten", [False, True])
def test_principal_components_are_scores(whiten: bool) -> None:
    rows, _ = cancer()
    model = scaled(decomposition.PCA(4, whiten=whiten), preprocessing.StandardScaler()).fit(rows)
    compiled = cw.models.compile(model, rows, batch=50)
    found = compiled.decode(compiled.program.run_clear(**compiled.encode(rows[:50])))
    assert found.shape == (50, 4)
    assert np.abs(found - model.transform(rows[:50])).max() < 0.01
    assert compiled.error < 0.01


def test_a_row_alone_on_slots() -> None:
    rows, values, others = halves(diabetes())
    model = linear_model.Ridge().fit(rows, values)
    compiled = cw.models.compile(model, rows)
    assert (said_on_ciphertexts(compiled, others[3]) == compiled.predict(others[3])).all()


@pytest.mark.parametrize("name", ["tree", "xgboost of two"])
def test_classes_on_bits(name: str) -> None:
    make, data = {**FORESTS, **SUMS}[name]
    rows, classes, others = halves(data())
    model = make().fit(rows, classes)
    compiled = cw.models.compile(model, rows, on="bits", bits=4, threads=1)
    # The class alone is there, and not the scores.
    assert [port.count for port in compiled.program.outputs] == [1]
    found = said_on_ciphertexts(compiled, others[20])
    assert (found == compiled.predict(others[20])).all()


def test_scores_on_bits() -> None:
    rows, classes, others = halves(iris())
    model = xgboost.XGBClassifier(n_estimators=1, max_depth=2).fit(rows, classes)
    compiled = cw.models.compile(model, rows, on="bits", bits=4, output="probability", threads=1)
    found = said_on_ciphertexts(compiled, others[10:12])
    assert (found == compiled.predict(others[10:12])).all()


def test_a_forest_of_whole_leaves_counts_votes() -> None:
    rows, classes, _ = halves(cancer())
    model = ensemble.RandomForestClassifier(7, random_state=1).fit(rows, classes)
    compiled = cw.models.compile(model, rows, on="bits", threads=1)
    assert compiled.error < 1e-9
    nodes = sum(each.tree_.node_count // 2 for each in model.estimators_)
    body = compiled.program.body
    assert isinstance(body, BootstrapProgram)
    # For each node but the roots one AND, and some to count seven votes.
    assert body.bootstrap_count <= nodes + 7


def degrees_of(body: SlotProgram) -> list[int]:
    """The degrees of polynomials, which say how many products of ciphertexts there are."""
    return [len(each.coefficients) - 1 for each in body.operations if isinstance(each, Polynomial)]


def test_neighbours_on_bits() -> None:
    rows, classes, others = halves(iris())
    model = neighbors.KNeighborsClassifier(3).fit(rows[::5], classes[::5])
    compiled = cw.models.compile(model, rows, on="bits", bits=5, threads=1)
    assert np.mean(compiled.predict(others) == model.predict(others)) > 0.9
    gates = compiled.program.run_clear(**compiled.encode(others[30:33]))
    assert (compiled.decode(gates) == compiled.predict(others[30:33])).all()


@pytest.mark.parametrize("neighbours", [1, 4])
def test_neighbours_on_slots_vote_as_integers_do(neighbours: int) -> None:
    rows, classes, others = halves(iris())
    names = np.array(["x", "y", "z"])[classes]
    model = scaled(neighbors.KNeighborsClassifier(neighbours), preprocessing.StandardScaler())
    model.fit(rows[::5], names[::5])
    compiled = cw.models.compile(model, rows, output="probability", batch=75)
    voted = compiled.decode(compiled.program.run_clear(**compiled.encode(others)))
    assert (voted == compiled.predict(others)).all()
    said = np.array(compiled.coding.answers.classes)[voted.argmax(axis=1)]
    assert np.mean(said == model.predict(others)) > 0.9
    assert compiled.program.error is not None
    assert compiled.program.error < 0.5


def test_a_feature_that_is_always_the_same_leaves_steps_to_the_others() -> None:
    rows, classes, _ = halves(iris())
    rows, classes = rows[:40] / 100, classes[:40]
    wide = np.insert(rows, 1, 7.0, axis=1)
    kind = neighbors.KNeighborsClassifier(3)
    made = [cw.models.compile(kind.fit(each, classes), each) for each in (rows, wide)]
    assert made[0].agreement == made[1].agreement
    own, other = (each.coding.integers(x) for each, x in zip(made, (rows, wide), strict=True))
    assert (np.delete(other, 1, axis=1) == own).all()
    assert made[0].predict(rows[:0]).shape == (0,)


def test_errors_of_neighbours_are_those_of_their_shares() -> None:
    rows, classes, _ = halves(iris())
    model = neighbors.KNeighborsClassifier(3).fit(rows[:40], classes[:40])
    compiled = cw.models.compile(model, rows, output="probability", bits=3)
    off = np.abs(compiled.predict(rows) - model.predict_proba(rows)).max()
    assert off > 0
    assert compiled.error == pytest.approx(off)


@pytest.mark.parametrize("shown", [[], [[1.0, 2.0, 3.0, 4.0]] * 3])
def test_rows_that_say_no_ranges_are_refused(shown: Any) -> None:
    rows, classes, _ = halves(iris())
    with pytest.raises(CloakworkError, match="the ranges of features"):
        cw.models.compile(svm.SVC().fit(rows, classes), np.reshape(shown, (-1, 4)))


def test_neighbours_on_slots_tell_equal_distances_apart() -> None:
    rng = np.random.default_rng(0)
    # Numbers of few values: many points are equally near, and some are the same.
    rows, classes = rng.integers(0, 4, (21, 3)), rng.integers(0, 4, 21)
    others = rng.integers(0, 4, (60, 3))
    model = neighbors.KNeighborsClassifier(5).fit(rows, classes)
    compiled = cw.models.compile(model, rows, bits=3, batch=60)
    body, program = compiled.program.body, compiled.program
    assert isinstance(body, SlotProgram)
    noisy = compiled.decode(program.simulate(compiled.encode(others)[INPUT]).outputs)
    assert (noisy == compiled.predict(others)).all()
    counts = Counter(type(each) for each in body.operations)
    # Sums over as many points as a power of two, of ranks and of votes.
    assert counts[Linear] == 1
    assert counts[Rotate] == 2 * 5
    assert degrees_of(body) == [31, 31, 15, 15]
    assert body.top_level == 2 + 5 + 5 + 4 + 4


@pytest.mark.slow
def test_a_row_of_neighbours_on_ciphertexts_of_slots() -> None:
    rows, classes = datasets.load_digits(return_X_y=True)
    model = neighbors.KNeighborsClassifier(5).fit(rows[:100], classes[:100])
    compiled = cw.models.compile(model, rows[:100])
    assert "128-bit secure" in str(compiled.program)
    assert compiled.agreement >= 0.97
    body = compiled.program.body
    assert isinstance(body, SlotProgram)
    assert degrees_of(body) == [7, 15, 15, 15, 15, 31, 3, 7]
    assert body.top_level <= 32
    assert sum(isinstance(each, Rotate) for each in body.operations) == 14
    others = rows[100:102]
    assert (said_on_ciphertexts(compiled, others) == compiled.predict(others)).all()


def test_neighbours_of_more_points_than_slots_hold() -> None:
    rng = np.random.default_rng(0)
    rows, classes = rng.integers(0, 4, (300, 1)), rng.integers(0, 2, 300)
    model = neighbors.KNeighborsClassifier(1).fit(rows, classes)
    with pytest.raises(InvalidArgumentError, match=r"up to 128 points .* say on='bits'"):
        cw.models.compile(model, rows, on="slots")
    compiled = cw.models.compile(model, rows, bits=2, threads=1)
    assert isinstance(compiled.program.body, BootstrapProgram)
    few = neighbors.KNeighborsClassifier(1).fit(rows[:9], classes[:9])
    with pytest.raises(InvalidParametersError, match="ask for fewer bits= of features"):
        cw.models.compile(few, rows, bits=16)
    with pytest.raises(InvalidArgumentError, match="got threads=; leave it out"):
        cw.models.compile(few, rows, threads=1)


RADIAL: dict[str, tuple[Callable[[], Any], Callable[[], Data]]] = {
    "two classes": (lambda: scaled(svm.SVC(), preprocessing.StandardScaler()), cancer),
    "three classes": (svm.SVC, iris),
    "nu": (lambda: svm.NuSVC(nu=0.2), iris),
    "one class": (lambda: scaled(svm.OneClassSVM(nu=0.2), preprocessing.RobustScaler()), iris),
    "regression": (lambda: scaled(svm.SVR(), preprocessing.StandardScaler()), diabetes),
    "nu of a regression": (svm.NuSVR, diabetes),
}


@pytest.mark.parametrize("name", RADIAL)
def test_radial_kernels_compute_what_the_model_does(name: str) -> None:
    make, data = RADIAL[name]
    rows, answers, others = halves(data())
    # One that is always the same.
    rows, others = (np.insert(each, 1, 5.0, axis=1) for each in (rows, others))
    model = make().fit(rows, answers)
    compiled = cw.models.compile(model, rows, batch=8)
    own, tried = model.predict(others[:8]), others[:8]
    found = compiled.decode(compiled.program.run_clear(**compiled.encode(tried)))
    if own.dtype.kind in "iu":
        assert (found == own).all()
        assert (compiled.predict(others) == model.predict(others)).mean() > 0.98
    else:
        assert np.abs(found - compiled.predict(tried)).max() < compiled.program.error
        assert np.abs(found - own).max() < 2 * compiled.error


def test_pairs_of_classes_vote_as_libsvm_counts_them(tmp_path: Path) -> None:
    rows, classes = datasets.load_digits(return_X_y=True)
    names = np.array([f"digit {each}" for each in classes])
    model = svm.SVC(decision_function_shape="ovo").fit(rows[:300], names[:300])
    compiled = cw.models.compile(model, rows[:300], output="score")
    # Pixels that are white in all rows that are shown, and not in others, are cut.
    off = np.abs(compiled.predict(rows[300:400]) - model.decision_function(rows[300:400]))
    assert off.max() < 0.01
    decided = cw.models.compile(model, rows[:300])
    assert (decided.predict(rows[300:]) == model.predict(rows[300:])).mean() > 0.995
    decided.coding.save(tmp_path / "coding.json")
    assert cw.models.load_coding(tmp_path / "coding.json") == decided.coding


def test_a_row_of_a_radial_kernel_on_ciphertexts() -> None:
    rows, classes, others = halves(cancer())
    model = scaled(svm.SVC(), preprocessing.StandardScaler()).fit(rows, classes)
    compiled = cw.models.compile(model, rows, output="score")
    body = compiled.program.body
    assert isinstance(body, SlotProgram)
    assert "128-bit secure" in str(compiled.program)
    assert body.top_level == 11
    client, evaluator = compiled.program.keygen()
    found = compiled.decode(
        client.decrypt(evaluator.run(client.encrypt(**compiled.encode(others[0]))))
    )
    assert np.abs(found - model.decision_function(others[:1])).max() < 2 * compiled.error


def test_missing_numbers_go_as_the_model_says() -> None:
    rows, classes, others = halves(cancer())
    chance = np.random.default_rng(0)
    rows, others = (
        np.where(chance.random(each.shape) < 0.2, np.nan, each) for each in (rows, others)
    )
    for model in (
        xgboost.XGBClassifier(n_estimators=5, max_depth=3),
        lightgbm.LGBMClassifier(n_estimators=5, num_leaves=6, verbose=-1),
        ensemble.HistGradientBoostingClassifier(max_iter=5, max_leaf_nodes=6),
        tree.DecisionTreeClassifier(max_depth=5, random_state=0),
    ):
        model.fit(rows, classes)
        compiled = cw.models.compile(model, rows, on="bits", threads=1)
        assert (compiled.predict(others) == model.predict(others)).all()
    linear = linear_model.RidgeClassifier().fit(np.nan_to_num(rows), classes)
    with pytest.raises(NotFiniteError, match="feature"):
        cw.models.compile(linear, rows)


@pytest.mark.parametrize("zero_as_missing", [False, True])
def test_missing_numbers_on_slots(zero_as_missing: bool) -> None:
    rows, classes, others = halves(cancer())
    chance = np.random.default_rng(1)
    rows, others = (
        np.where(chance.random(each.shape) < 0.2, chance.choice([0.0, np.nan]), each)
        for each in (rows, others)
    )
    model = lightgbm.LGBMClassifier(
        n_estimators=20, num_leaves=12, verbose=-1, n_jobs=1, zero_as_missing=zero_as_missing
    ).fit(rows, classes)
    compiled = cw.models.compile(model, rows)
    assert "on slots, a leaf a slot" in compiled.program.way
    found = compiled.program.run_clear(**compiled.coding.encode(others))
    assert (compiled.decode(found) == model.predict(others)).all()


def test_frames_have_their_columns_in_any_order() -> None:
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rows, classes, others = halves(iris())
    names = ["a", "b", "c", "d"]
    frame = pandas.DataFrame(rows, columns=names)
    for model in (
        tree.DecisionTreeClassifier(max_depth=3, random_state=0),
        xgboost.XGBClassifier(n_estimators=2, max_depth=2),
    ):
        model.fit(frame, classes)
        compiled = cw.models.compile(model, frame, on="bits", threads=1)
        expected = model.predict(pandas.DataFrame(others, columns=names))
        for kind in (pandas.DataFrame, polars.DataFrame):
            turned = kind(dict(zip(names, others.T, strict=True)))[["d", "b", "a", "c"]]
            assert (compiled.predict(turned) == expected).all()
        with pytest.raises(InvalidArgumentError, match="rename"):
            compiled.encode(frame.rename(columns={"a": "other"}))


def test_codings_are_files_without_the_model(tmp_path: Path) -> None:
    rows, classes, others = halves(iris())
    for model in (
        tree.DecisionTreeClassifier(max_depth=3, random_state=0),
        scaled(linear_model.LogisticRegression(), preprocessing.StandardScaler()),
    ):
        model.fit(rows, np.array(["x", "y", "z"])[classes])
        compiled = cw.models.compile(model, rows, batch=4)
        compiled.coding.save(tmp_path / "coding.json")
        again = cw.models.load_coding(tmp_path / "coding.json")
        assert again == compiled.coding
        client, evaluator = compiled.program.keygen()
        encrypted = client.encrypt(**again.encode(others[:4]))
        found = again.decode(client.decrypt(evaluator.run(encrypted)))
        assert (found == model.predict(others[:4])).all()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "cloakwork coding 1"}'])
def test_damaged_codings_are_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "coding.json").write_text(text)
    with pytest.raises(MalformedBytesError):
        cw.models.load_coding(tmp_path / "coding.json")
    with pytest.raises(FileMissingError):
        cw.models.load_coding(tmp_path / "other.json")


def test_a_coding_of_a_later_release_is_neither_misread_nor_replaced(tmp_path: Path) -> None:
    rows, classes, _ = halves(iris())
    model = tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, classes)
    path = tmp_path / "coding.json"
    path.write_text('{"format": "cloakwork coding 2"}')
    with pytest.raises(NewerFormatError, match=r"expected version 1 .* got 2; use a release"):
        cw.models.load_coding(path)
    with pytest.raises(NewerFormatError, match="cannot save a coding"):
        cw.models.compile(model, rows).coding.save(path)
    assert path.read_text() == '{"format": "cloakwork coding 2"}'


def test_rows_of_other_shapes_are_refused() -> None:
    rows, classes, _ = halves(iris())
    model = tree.DecisionTreeClassifier(max_depth=2, random_state=0).fit(rows, classes)
    compiled = cw.models.compile(model, rows, on="bits", threads=1)
    with pytest.raises(ShapeMismatchError):
        compiled.encode([[1.0, 2.0]])
    with pytest.raises(InvalidArgumentError, match="text"):
        compiled.encode([["a", "b", "c", "d"]])
    with pytest.raises(NotFiniteError):
        cw.models.compile(linear_model.RidgeClassifier().fit(rows, classes), rows).encode(
            [[1.0, 2.0, np.inf, 4.0]]
        )


def fitted(model: Any) -> Any:
    rows, classes, _ = halves(iris())
    return model.fit(rows, classes)


REFUSED: dict[str, tuple[Callable[[], Any], dict[str, Any], str]] = {
    "no model": (lambda: [1, 2], {}, "cw.nn.compile"),
    "untrained": (tree.DecisionTreeClassifier, {}, "fit"),
    "another kind": (lambda: fitted(ensemble.AdaBoostClassifier(n_estimators=2)), {}, "Forest"),
    "a step before": (
        lambda: fitted(scaled(linear_model.RidgeClassifier(), preprocessing.PowerTransformer())),
        {},
        "before they are encoded",
    ),
    "a tree of components": (
        lambda: fitted(scaled(tree.DecisionTreeClassifier(), decomposition.PCA(2))),
        {},
        "expected a linear model after PCA",
    ),
    "squares of components": (
        lambda: fitted(scaled(naive_bayes.GaussianNB(), decomposition.PCA(2))),
        {},
        "got squares",
    ),
    "clipping": (
        lambda: fitted(scaled(linear_model.Ridge(), preprocessing.MinMaxScaler(clip=True))),
        {},
        "clip rows",
    ),
    "class of a regression": (
        lambda: fitted(linear_model.Ridge()),
        {"output": "class"},
        "output='score'",
    ),
    "no probabilities": (
        lambda: fitted(linear_model.RidgeClassifier()),
        {"output": "probability"},
        "output='class'",
    ),
    "another kernel": (lambda: fitted(svm.SVC(kernel="poly")), {}, "kernel='rbf'"),
    "three classes by a line": (lambda: fitted(svm.SVC(kernel="linear")), {}, "LinearSVC"),
    "a radial kernel on bits": (lambda: fitted(svm.SVC()), {"on": "bits"}, "on='slots'"),
    "ties of votes": (lambda: fitted(svm.SVC(break_ties=True)), {}, "break_ties=False"),
    "an option of others": (lambda: fitted(svm.SVC()), {"effort": 1.0}, "got effort=; leave"),
    "dart": (
        lambda: fitted(xgboost.XGBClassifier(n_estimators=2, booster="dart")),
        {},
        "gbtree",
    ),
    "another objective": (
        lambda: fitted(xgboost.XGBRegressor(n_estimators=2, objective="count:poisson")),
        {},
        "objective",
    ),
    "weighted neighbours": (
        lambda: fitted(neighbors.KNeighborsClassifier(3, weights="distance")),
        {},
        "uniform",
    ),
    "neighbours of one class": (
        lambda: neighbors.KNeighborsClassifier(1).fit(np.eye(4), [1, 1, 1, 1]),
        {},
        "two classes or more",
    ),
    "neighbours in one place": (
        lambda: neighbors.KNeighborsClassifier(1).fit(np.ones((4, 4)), [0, 1, 0, 1]),
        {},
        "points that differ",
    ),
    "a constant": (
        lambda: tree.DecisionTreeClassifier().fit([[1.0, 2, 3, 4], [2, 3, 4, 5]], [0, 0]),
        {},
        "always the same",
    ),
    "another engine": (lambda: fitted(linear_model.Ridge()), {"on": "paper"}, "on"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_others_are_refused_with_a_way_out(name: str) -> None:
    make, options, way_out = REFUSED[name]
    rows, _, _ = halves(iris())
    with pytest.raises(CloakworkError, match=way_out):
        cw.models.compile(make(), rows, **options)
