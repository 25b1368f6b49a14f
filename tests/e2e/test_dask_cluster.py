"""A Dask cluster of separate processes learns and answers what one process does."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from types import SimpleNamespace

import dask.dataframe as dd
import distributed
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import credo
from credo.cli import main as cli
from credo.exceptions import CredoError, FileFormatError
from credo.tables import DaskEngine, infer_partitions, predict_partitions

N_PARTS = 20


@contextmanager
def cluster(folder, n_workers=2):
    """Start a scheduler and workers, each a process of its own, and end them."""
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


def slowed(job):
    """Take time over each part, so that there is a middle to be disturbed in."""

    def reduce(part):
        time.sleep(0.1)
        return job.reduce(part)

    return SimpleNamespace(columns=job.columns, reduce=reduce, merge=job.merge)


def watched(engine, watch):
    """Give an engine that is handed slow jobs, and watched."""

    def reduce(job, parts, _progress):
        assert len(parts) == N_PARTS
        return engine.reduce(slowed(job), parts, watch)

    return SimpleNamespace(open=engine.open, reduce=reduce)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(7)
    n = N_PARTS * 1000
    codes = rng.integers(0, 3, n)
    columns = {f"x{j}": rng.normal(codes * (j + 1), 1 + j) for j in range(3)}
    colours = np.array(["red", "green", "blue"])[(codes + rng.integers(0, 2, n)) % 3]
    return pa.table({**columns, "colour": colours, "y": np.array(["a", "b", "c"])[codes]})


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
def address(tmp_path_factory):
    with cluster(tmp_path_factory.mktemp("dask")) as (address, *_):
        yield address


@pytest.fixture
def engine(address):
    with DaskEngine(address) as engine:
        yield engine


def gaussian():
    return credo.GaussianClassifier("full")


NUMBERS = ["x0", "x1", "x2"]


def assert_same(found, expected):
    assert found.classes_.tolist() == expected.classes_.tolist()
    np.testing.assert_allclose(found.means_, expected.means_, rtol=1e-9)
    np.testing.assert_allclose(found.covariances_, expected.covariances_, rtol=1e-9)
    np.testing.assert_allclose(found.priors_, expected.priors_, rtol=1e-9)


@pytest.mark.parametrize("kind", ["parquet", pytest.param("csv", marks=pytest.mark.slow)])
def test_two_processes_fit_what_one_does(engine, folder, kind):
    path = folder / kind
    here = credo.fit_table(gaussian(), path, features=NUMBERS)
    assert_same(credo.fit_table(gaussian(), path, features=NUMBERS, engine=engine), here)


@pytest.mark.slow
def test_two_processes_fit_naive_bayes_with_categories(engine, folder, table):
    here = credo.fit_table(credo.NaiveBayes(), folder / "csv")
    there = credo.fit_table(credo.NaiveBayes(), folder / "csv", engine=engine)
    features = table.drop_columns(["y"]).to_pandas()
    np.testing.assert_allclose(
        there.predict_proba(features), here.predict_proba(features), rtol=1e-9
    )


@pytest.mark.slow
def test_the_answer_is_the_same_to_the_last_bit_in_every_run(engine, folder):
    path = folder / "parquet"
    first, second = (
        credo.fit_table(gaussian(), path, features=NUMBERS, engine=engine) for _ in range(2)
    )
    assert np.array_equal(first.covariances_, second.covariances_)


@pytest.mark.slow
def test_the_command_line_fits_on_a_cluster(address, folder, tmp_path, monkeypatch, capsys):
    command = ["credo", "fit", str(folder / "parquet"), "--target", "y", "--model", "gaussian"]
    options = ["--drop", "colour", "--dask", address, "--out", str(tmp_path / "there.credo")]
    monkeypatch.setattr(sys, "argv", [*command, *options])
    with pytest.raises(SystemExit) as stop:
        cli.run()
    assert stop.value.code == 0, capsys.readouterr().err
    here = credo.fit_table(gaussian(), folder / "parquet", features=NUMBERS)
    assert_same(credo.load(tmp_path / "there.credo"), here)


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
        slow = watched(engine, killing(first, seen))
        found = credo.fit_table(gaussian(), path, features=NUMBERS, engine=slow)
        assert first.wait(10) == -signal.SIGKILL
        assert seen[-1] == 1.0
        assert_same(found, credo.fit_table(gaussian(), path, features=NUMBERS))

        slow = watched(engine, killing(second, []))
        with pytest.raises(CredoError, match="has had no worker for 1 seconds"):
            credo.fit_table(gaussian(), path, features=NUMBERS, engine=slow)
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


@pytest.mark.slow
def test_a_cluster_of_our_own_is_private_and_ends_with_its_engine():
    before = children()
    with DaskEngine(n_workers=2) as engine:
        assert list(engine.map(len, ["a", "bcd"])) == [1, 3]
        started = children() - before
        listening = [
            each.laddr.ip
            for process in (psutil.Process(), *started)
            for each in process.net_connections("tcp")
            if each.status == "LISTEN"
        ]
        assert len(started) >= 2
        assert set(listening) == {"127.0.0.1"}
    assert children() <= before


def children():
    """Give the processes started here, but for Python's own, which ends with this one."""
    return {
        child
        for child in psutil.Process().children(recursive=True)
        if "resource_tracker" not in " ".join(child.cmdline())
    }


@pytest.mark.slow
def test_a_wrong_cell_is_the_same_error_as_without_a_cluster(engine, tmp_path):
    many = "x0,y\n" + "1,a\n2,b\n" * 40_000  # more rows than are looked at before the work begins
    (tmp_path / "0.csv").write_text(many, encoding="utf-8")
    (tmp_path / "1.csv").write_text("x0,y\n3,a\noops,b\n", encoding="utf-8")
    with pytest.raises(FileFormatError) as here:
        credo.fit_table(gaussian(), tmp_path)
    with pytest.raises(FileFormatError, match="1.csv, line 3") as there:
        credo.fit_table(gaussian(), tmp_path, engine=engine)
    assert str(there.value) == str(here.value)


@pytest.mark.slow
def test_parts_are_scored_and_evaluated_as_in_one_process(engine, folder, table):
    model = credo.fit_table(gaussian(), table, features=NUMBERS)
    scored = credo.predict_table(model, folder / "parquet", keep=["colour"], engine=engine)
    assert scored.equals(credo.predict_table(model, folder / "parquet", keep=["colour"]))
    here, there = (
        credo.evaluate_table(model, folder / "parquet", engine=each).to_dict()
        for each in (None, engine)
    )
    assert there["n_rows"] == table.num_rows
    for name in ("accuracy", "log_loss", "brier", "mean_loss", "predicted_loss"):
        assert there[name] == pytest.approx(here[name], rel=1e-12)
    assert there["reliability"] == here["reliability"]


@pytest.mark.slow
def test_a_dask_frame_is_learned_from_and_answered_in_its_partitions(address, table):
    frame = dd.from_pandas(table.to_pandas(), npartitions=11)
    with distributed.Client(address) as client, DaskEngine(client=client) as engine:
        model = credo.fit_table(gaussian(), frame, features=NUMBERS, engine=engine)
        assert_same(model, credo.fit_table(gaussian(), table, features=NUMBERS))
        scored = predict_partitions(model, frame, keep=["colour"])
        assert scored.npartitions == 11
        found = pa.Table.from_pandas(scored.compute(), preserve_index=False)
    expected = credo.predict_table(model, table, keep=["colour"])
    assert found.column_names == expected.column_names
    np.testing.assert_allclose(found["p_b"], expected["p_b"], rtol=1e-9)
    assert found["act"].to_pylist() == expected["act"].to_pylist()


@pytest.mark.slow
def test_evidence_in_a_dask_frame_is_inferred_in_its_partitions(address):
    network = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=4)
    rng = np.random.default_rng(0)
    rows = pa.table(
        {f"x{j}": pa.array(rng.integers(0, 2, 60), mask=rng.random(60) < 0.5) for j in (0, 3)}
    )
    frame = dd.from_pandas(rows.to_pandas(), npartitions=3)
    with distributed.Client(address):
        found = infer_partitions(network, frame, query=["x1"]).compute()
    expected = credo.infer_many(network, rows)
    np.testing.assert_allclose(found["x1=1"], expected.probabilities("x1")[:, 1], rtol=1e-9)
    np.testing.assert_allclose(found["ln P(evidence)"], expected.log_evidence, rtol=1e-9)
