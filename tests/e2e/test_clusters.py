"""Clusters of separate processes, of Dask and Spark, learn and answer what one process does."""

import json
import operator
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import dask.dataframe as dd
import distributed
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from sklearn.base import BaseEstimator

import credo
from credo.cli import main as cli
from credo.exceptions import CredoError, FileFormatError, InputError
from credo.tables import DaskEngine, SparkEngine, infer_partitions, predict_partitions

pytestmark = pytest.mark.filterwarnings(
    "ignore:PySpark does not yet fully support pandas:FutureWarning"
)
JAVA = pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java")
N_PARTS = 10
NUMBERS = ["x.0", "x.1", "x.2"]  # Spark takes dots for paths


@contextmanager
def cluster(folder, n_workers=2):
    """Start a scheduler and workers of Dask, each a process of its own, and end them."""
    file = folder / "scheduler.json"
    common = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(file)]
    with ExitStack() as stack:
        scheduler = stack.enter_context(process("dask_scheduler", *common, "--port", "0"))
        workers = [
            stack.enter_context(process("dask_worker", *common, "--no-nanny", "--nthreads", "1"))
            for _ in range(n_workers)
        ]
        address = scheduler_address(file)
        with distributed.Client(address, set_as_default=False) as client:
            client.wait_for_workers(n_workers, timeout=30)
        yield address, workers, scheduler


@contextmanager
def process(name, *options):
    """Run a command of Dask's, and kill it in the end."""
    command = [sys.executable, "-m", f"distributed.cli.{name}", *options]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        yield running
    finally:
        running.kill()
        running.wait()


def scheduler_address(file):
    """Wait for the scheduler to say where it listens."""
    for _ in range(300):
        if file.exists() and (text := file.read_text(encoding="utf-8")):
            return json.loads(text)["address"]
        time.sleep(0.1)
    raise TimeoutError("the scheduler did not start")


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    n = N_PARTS * 1000
    codes = rng.integers(0, 3, n)
    columns = {name: rng.normal(codes * (j + 1), 1 + j) for j, name in enumerate(NUMBERS)}
    colours = np.array(["red", "green", "blue"])[(codes + rng.integers(0, 2, n)) % 3]
    labels = np.array(["a", "b", "c"])[codes]
    return pa.table({**columns, "colour": colours, "id": range(n), "y": labels})


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table):
    """The rows as Parquet files of two row groups each, and as CSV files."""
    folder = tmp_path_factory.mktemp("rows")
    (folder / "parquet").mkdir()
    (folder / "csv").mkdir()
    for i in range(N_PARTS):
        rows = table.slice(i * 1000, 1000)
        pq.write_table(rows, folder / "parquet" / f"{i:02}.parquet", row_group_size=500)
        pyarrow.csv.write_csv(rows, folder / "csv" / f"{i:02}.csv")
    return folder


@pytest.fixture(scope="module")
def dask(tmp_path_factory):
    """Give an engine, what the command line calls its cluster, and ways to and from its frames."""
    with (
        cluster(tmp_path_factory.mktemp("dask")) as (address, *_),
        distributed.Client(address) as client,
        DaskEngine(client=client) as engine,
    ):
        yield SimpleNamespace(
            engine=engine,
            option=["--dask", address],
            frame=lambda rows: dd.from_pandas(rows.to_pandas(), npartitions=N_PARTS),
            rows=lambda frame: pa.Table.from_pandas(frame.compute(), preserve_index=False),
        )


@pytest.fixture(scope="module")
def spark():
    """Give the same for Spark."""
    with SparkEngine("local[2]") as engine:
        yield SimpleNamespace(
            engine=engine,
            option=["--spark", "local[2]"],  # the command finds the session open
            frame=lambda rows: engine.session.createDataFrame(rows).repartition(N_PARTS),
            rows=lambda frame: pa.Table.from_pylist([row.asDict() for row in frame.collect()]),
        )


@pytest.fixture(params=["dask", pytest.param("spark", marks=JAVA)])
def there(request):
    return request.getfixturevalue(request.param)


def fitted(source, engine=None):
    model = credo.GaussianClassifier("full")
    return credo.fit_table(model, source, features=NUMBERS, engine=engine)


def assert_same(found, expected):
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(found.means_, expected.means_, rtol=1e-9)
    np.testing.assert_allclose(found.covariances_, expected.covariances_, rtol=1e-9)
    np.testing.assert_allclose(found.priors_, expected.priors_, rtol=1e-9)


# --- files and frames, on both --------------------------------------------------------------------


def test_files_are_learned_from_as_in_one_process_and_each_time_the_same(there, folder):
    path = folder / "parquet"
    first = fitted(path, there.engine)
    assert_same(first, fitted(path))
    assert np.array_equal(first.covariances_, fitted(path, there.engine).covariances_)


@pytest.mark.slow
def test_text_files_and_their_categories_are_learned_from(there, folder, table):
    models = [
        credo.fit_table(credo.NaiveBayes(), folder / "csv", engine=engine)
        for engine in (there.engine, None)
    ]
    rows = table.drop_columns(["y"]).to_pandas()
    found, expected = (model.predict_proba(rows) for model in models)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
@pytest.mark.slow
def test_files_are_scored_and_evaluated_as_in_one_process(there, folder):
    path = folder / "parquet"
    model = fitted(path)
    scored = credo.predict_table(model, path, keep=["colour"], engine=there.engine)
    assert scored.equals(credo.predict_table(model, path, keep=["colour"]))
    found, expected = (
        credo.evaluate_table(model, path, engine=engine).to_dict()
        for engine in (there.engine, None)
    )
    for name in ("n_rows", "accuracy", "log_loss", "brier", "mean_loss", "predicted_loss"):
        assert found[name] == pytest.approx(expected[name], rel=1e-12)
    assert found["reliability"] == expected["reliability"]
    assert found["class_counts"] == expected["class_counts"]
    assert found["contributions"]["n_sample"] == expected["contributions"]["n_sample"]


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
@pytest.mark.slow
def test_a_frame_is_learned_from_scored_and_evaluated_in_its_partitions(there, table):
    frame, model = there.frame(table), fitted(table)
    assert_same(fitted(frame, there.engine), model)
    expected = credo.predict_table(model, table, keep=["id"])
    for found in (
        credo.predict_table(model, frame, keep=["id"], engine=there.engine),
        there.rows(predict_partitions(model, frame, keep=["id"])),
    ):
        assert found.column_names == expected.column_names
        ordered = found.sort_by("id")
        assert ordered["act"].to_pylist() == expected["act"].to_pylist()
        np.testing.assert_allclose(ordered["p_b"], expected["p_b"], rtol=1e-9)
    evaluated = credo.evaluate_table(model, frame, engine=there.engine)
    assert evaluated.log_loss == pytest.approx(
        credo.evaluate_table(model, table).log_loss, rel=1e-12
    )


class Sums(BaseEstimator):
    """A model that asks for the sum of its rows."""

    kind, Summary = "numbers", None

    def _fit_passes(self, passes, names):
        self.feature_names_in_ = np.array(names, dtype=object)
        self.sums_ = passes.reduce(lambda batch: batch[0].X[:].sum(axis=0), operator.add)


@pytest.mark.slow
def test_a_model_of_passes_asks_all_rows_of_files_and_frames(there, folder, table):
    wanted = [np.sum(table[name].to_numpy()) for name in NUMBERS]
    for source in (folder / "parquet", there.frame(table)):
        found = credo.fit_table(Sums(), source, features=NUMBERS, engine=there.engine)
        np.testing.assert_allclose(found.sums_, wanted, rtol=1e-12)


@pytest.mark.slow
def test_evidence_in_a_frame_is_inferred_in_its_partitions(there):
    network = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=4)
    rng = np.random.default_rng(0)
    states = {f"x{j}": pa.array(rng.integers(0, 2, 60), mask=rng.random(60) < 0.5) for j in (0, 3)}
    frame = there.frame(pa.table({"id": range(60), **states}))
    found = there.rows(infer_partitions(network, frame, query=["x1"], keep=["id"])).sort_by("id")
    expected = credo.infer_many(network, pa.table(states))
    np.testing.assert_allclose(found["x1=1"], expected.probabilities("x1")[:, 1], rtol=1e-9)
    np.testing.assert_allclose(found["ln P(evidence)"], expected.log_evidence, rtol=1e-9)


@pytest.mark.slow
def test_a_wrong_cell_is_the_same_error_as_without_a_cluster(there, tmp_path):
    many = "x,y\n" + "1,a\n2,b\n" * 40_000  # more rows than are looked at before the work begins
    (tmp_path / "0.csv").write_text(many, encoding="utf-8")
    (tmp_path / "1.csv").write_text("x,y\n3,a\noops,b\n", encoding="utf-8")
    told = []
    for engine in (there.engine, None):
        with pytest.raises(FileFormatError, match="1.csv, line 3") as caught:
            credo.fit_table(credo.GaussianClassifier(), tmp_path, engine=engine)
        told.append(str(caught.value))
    assert told[0] == told[1]


@pytest.mark.slow
def test_a_missing_label_in_a_frame_is_an_error_of_ours(there, table):
    rows = table.slice(0, 100).to_pylist()
    rows[70]["y"] = None
    with pytest.raises(InputError, match="the label 'y' is missing"):
        fitted(there.frame(pa.Table.from_pylist(rows)), there.engine)


@pytest.mark.slow
def test_the_command_line_fits_on_a_cluster(there, folder, tmp_path, monkeypatch, capsys):
    command = ["credo", "fit", str(folder / "parquet"), "--target", "y", "--model", "gaussian"]
    options = ["--drop", "id,colour", "--out", str(tmp_path / "there.credo")]
    monkeypatch.setattr(sys, "argv", [*command, *options, *there.option])
    with pytest.raises(SystemExit) as stop:
        cli.run()
    assert stop.value.code == 0, capsys.readouterr().err
    assert_same(credo.load(tmp_path / "there.credo"), fitted(folder / "parquet"))


# --- Dask: processes that die ---------------------------------------------------------------------


def watched(engine, watch):
    """Give an engine that takes time over each part, and is watched."""

    def reduce(job, parts, _progress):
        def slowly(part):
            time.sleep(0.1)
            return job.reduce(part)

        slow = SimpleNamespace(columns=job.columns, reduce=slowly, merge=job.merge)
        return engine.reduce(slow, parts, watch)

    return SimpleNamespace(open=engine.open, reduce=reduce)


def killing(worker, seen):
    """Give a watch that kills a worker when a third of the parts are done."""

    def watch(_rows, share):
        seen.append(share)
        if len(seen) == N_PARTS // 3:
            os.kill(worker.pid, signal.SIGKILL)

    return watch


@pytest.mark.slow
def test_a_killed_worker_changes_nothing_and_the_last_one_is_missed(tmp_path, folder):
    path, seen = folder / "parquet", []
    with (
        cluster(tmp_path) as (address, (first, second), _),
        DaskEngine(address, patience=1.0) as engine,
    ):
        found = fitted(path, watched(engine, killing(first, seen)))
        assert first.wait(10) == -signal.SIGKILL
        assert len(seen) >= N_PARTS
        assert seen[-1] == 1.0
        assert_same(found, fitted(path))
        with pytest.raises(CredoError, match="has had no worker for 1 seconds"):
            fitted(path, watched(engine, killing(second, [])))
        assert second.wait(10) == -signal.SIGKILL


@pytest.mark.slow
def test_a_killed_scheduler_is_an_error_and_no_wait(tmp_path):
    with (
        cluster(tmp_path, 1) as (address, _, scheduler),
        DaskEngine(address, patience=2.0) as engine,
    ):
        results = engine.map(time.sleep, [0.1, 30.0])
        next(results)
        scheduler.kill()
        with pytest.raises(CredoError, match="connection to the Dask scheduler was lost"):
            next(results)


# --- Spark: sessions, and what it says ------------------------------------------------------------


@JAVA
@pytest.mark.slow
def test_spark_tells_how_far_it_is(spark, folder, monkeypatch):
    monkeypatch.setattr("credo.tables.spark._LOOK", 0.02)
    heard = []
    credo.fit_table(
        credo.GaussianClassifier("tied"),
        folder / "parquet",
        features=NUMBERS,
        engine=spark.engine,
        progress=lambda _rows, share: heard.append(share),
    )
    assert heard == sorted(heard)
    assert len(heard) > 1
    assert heard[-1] == 1.0


@JAVA
@pytest.mark.slow
def test_an_open_session_is_used_and_left_open(spark, folder):
    with SparkEngine("local[2]") as second:
        assert second.session is spark.engine.session
    assert_same(fitted(folder / "parquet", spark.engine), fitted(folder / "parquet"))
    with (
        pytest.raises(InputError, match="session for 'local\\[2\\]' is open"),
        SparkEngine("local"),
    ):
        pass


@JAVA
@pytest.mark.slow
def test_other_errors_are_told_in_one_sentence(spark):
    told = "Spark could not do it: ZeroDivisionError: division by zero$"
    with pytest.raises(CredoError, match=told):
        list(spark.engine.map(lambda part: 1 / part, [0]))
