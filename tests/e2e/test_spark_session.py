"""A local Spark session learns and answers what one process does."""

import operator
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.base import BaseEstimator

import credo
from credo.cli import main as cli
from credo.exceptions import CredoError, FileFormatError, InputError
from credo.tables import SparkEngine, infer_partitions, predict_partitions

pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
]

N_PARTS = 10
NUMBERS = ["x.0", "x.1", "x.2"]


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    codes = rng.integers(0, 3, N_PARTS * 1000)
    columns = {name: rng.normal(codes * (j + 1), 1 + j) for j, name in enumerate(NUMBERS)}
    return pa.table({**columns, "id": range(len(codes)), "y": np.array(["a", "b", "c"])[codes]})


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("rows")
    for i in range(N_PARTS):
        pq.write_table(table.slice(i * 1000, 1000), folder / f"{i:02}.parquet")
    return folder


@pytest.fixture(scope="module")
def engine():
    with SparkEngine("local[2]") as engine:
        yield engine


@pytest.fixture(scope="module")
def frame(engine, table):
    return engine.session.createDataFrame(table).repartition(N_PARTS)


def fitted(source, engine=None):
    model = credo.GaussianClassifier("full")
    return credo.fit_table(model, source, features=NUMBERS, engine=engine)


def assert_same(found, expected):
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(found.means_, expected.means_, rtol=1e-9)
    np.testing.assert_allclose(found.covariances_, expected.covariances_, rtol=1e-9)
    np.testing.assert_allclose(found.priors_, expected.priors_, rtol=1e-9)


def test_spark_fits_files_as_one_process_does_and_each_time_the_same(engine, folder):
    first = fitted(folder, engine)
    assert_same(first, fitted(folder))
    assert np.array_equal(first.covariances_, fitted(folder, engine).covariances_)


@pytest.mark.slow
def test_spark_fits_its_own_frame_as_one_process_does(engine, frame, table):
    assert_same(fitted(frame, engine), fitted(table))


@pytest.mark.slow
def test_spark_tells_how_far_it_is(engine, folder, monkeypatch):
    monkeypatch.setattr("credo.tables.spark._LOOK", 0.02)
    heard = []
    credo.fit_table(
        credo.GaussianClassifier("tied"),
        folder,
        features=NUMBERS,
        engine=engine,
        progress=lambda _rows, share: heard.append(share),
    )
    assert heard == sorted(heard)
    assert len(heard) > 1
    assert heard[-1] == 1.0


@pytest.mark.slow
def test_a_wrong_cell_is_the_same_error_as_without_spark(engine, tmp_path):
    many = "x,y\n" + "1,a\n2,b\n" * 40_000  # more rows than are looked at before the work begins
    (tmp_path / "0.csv").write_text(many, encoding="utf-8")
    (tmp_path / "1.csv").write_text("x,y\n3,a\noops,b\n", encoding="utf-8")
    with pytest.raises(FileFormatError) as here:
        credo.fit_table(credo.GaussianClassifier(), tmp_path)
    with pytest.raises(FileFormatError, match="1.csv, line 3") as there:
        credo.fit_table(credo.GaussianClassifier(), tmp_path, engine=engine)
    assert str(there.value) == str(here.value)


@pytest.mark.slow
def test_a_missing_label_in_a_frame_is_an_error_of_ours(engine, table):
    rows = table.slice(0, 100).to_pylist()
    rows[70]["y"] = None
    frame = engine.session.createDataFrame(pa.Table.from_pylist(rows)).repartition(3)
    with pytest.raises(InputError, match="the label 'y' is missing"):
        fitted(frame, engine)


@pytest.mark.slow
def test_files_are_scored_and_evaluated_as_in_one_process(engine, folder):
    model = fitted(folder)
    scored = credo.predict_table(model, folder, keep=["id"], engine=engine)
    assert scored.equals(credo.predict_table(model, folder, keep=["id"]))
    here, there = (credo.evaluate_table(model, folder, engine=each) for each in (None, engine))
    assert there.log_loss == pytest.approx(here.log_loss, rel=1e-12)
    assert there.class_counts == here.class_counts
    assert there.contributions.n_sample == here.contributions.n_sample


@pytest.mark.slow
def test_a_frame_is_scored_and_evaluated_on_the_executors(engine, frame, table):
    model = fitted(table)
    found = credo.predict_table(model, frame, keep=["id"], engine=engine).sort_by("id")
    expected = credo.predict_table(model, table, keep=["id"])
    assert found["act"].to_pylist() == expected["act"].to_pylist()
    np.testing.assert_allclose(found["p_b"], expected["p_b"], rtol=1e-9)
    there = credo.evaluate_table(model, frame, engine=engine)
    assert there.log_loss == pytest.approx(credo.evaluate_table(model, table).log_loss, rel=1e-12)


class Sums(BaseEstimator):
    """A model that asks for the sum of its rows."""

    kind, Summary = "numbers", None

    def _fit_passes(self, passes, names):
        self.feature_names_in_ = np.array(names, dtype=object)
        self.sums_ = passes.reduce(lambda batch: batch[0].X[:].sum(axis=0), operator.add)


@pytest.mark.slow
def test_a_model_of_passes_asks_all_rows_of_files_and_frames(engine, folder, frame, table):
    wanted = [np.sum(table[name].to_numpy()) for name in NUMBERS]
    for source in (folder, frame):
        found = credo.fit_table(Sums(), source, features=NUMBERS, engine=engine)
        np.testing.assert_allclose(found.sums_, wanted, rtol=1e-12)


@pytest.mark.slow
def test_a_frame_is_scored_in_its_partitions(frame, table):
    model = fitted(table)
    rows = predict_partitions(model, frame, keep=["id"])
    found = pa.Table.from_pylist([row.asDict() for row in rows.collect()]).sort_by("id")
    expected = credo.predict_table(model, table, keep=["id"])
    assert found.column_names == expected.column_names
    assert found["act"].to_pylist() == expected["act"].to_pylist()
    np.testing.assert_allclose(found["p_b"], expected["p_b"], rtol=1e-9)


@pytest.mark.slow
def test_evidence_in_a_frame_is_inferred_in_its_partitions(engine):
    network = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=4)
    rng = np.random.default_rng(0)
    states = {f"x{j}": pa.array(rng.integers(0, 2, 60), mask=rng.random(60) < 0.5) for j in (0, 3)}
    rows = pa.table({"id": range(60), **states})
    frame = engine.session.createDataFrame(rows).repartition(3)
    answers = infer_partitions(network, frame, query=["x1"], keep=["id"]).collect()
    found = {row["id"]: (row["x1=1"], row["ln P(evidence)"]) for row in answers}
    expected = credo.infer_many(network, pa.table(states))
    wanted = np.column_stack([expected.probabilities("x1")[:, 1], expected.log_evidence])
    np.testing.assert_allclose([found[i] for i in range(60)], wanted, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("engine")  # the command finds the session open
def test_the_command_line_fits_on_spark(folder, tmp_path, monkeypatch, capsys):
    command = ["credo", "fit", str(folder), "--target", "y", "--model", "gaussian"]
    options = ["--drop", "id", "--spark", "local[2]", "--out", str(tmp_path / "there.credo")]
    monkeypatch.setattr(sys, "argv", [*command, *options])
    with pytest.raises(SystemExit) as stop:
        cli.run()
    assert stop.value.code == 0, capsys.readouterr().err
    assert_same(credo.load(tmp_path / "there.credo"), fitted(folder))


@pytest.mark.slow
def test_an_open_session_is_used_and_left_open(engine, folder):
    with SparkEngine("local[2]") as second:
        assert second.session is engine.session
    assert_same(fitted(folder, engine), fitted(folder))
    with (
        pytest.raises(InputError, match="session for 'local\\[2\\]' is open"),
        SparkEngine("local"),
    ):
        pass


@pytest.mark.slow
def test_other_errors_are_told_in_one_sentence(engine):
    with pytest.raises(
        CredoError, match="Spark could not do it: ZeroDivisionError: division by zero$"
    ):
        list(engine.map(lambda part: 1 / part, [0]))
