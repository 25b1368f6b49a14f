"""Engines of other people's making: order, errors, waiting, and frames in partitions."""

import sys
import time
from queue import SimpleQueue
from types import SimpleNamespace

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import credo
from credo.exceptions import (
    CredoError,
    FileFormatError,
    ImpossibleEvidence,
    InputError,
    LabelError,
    MissingExtraError,
    ShapeError,
)
from credo.tables import dask_cluster, dask_engine, spark_frames, spark_session
from credo.tables.dask import DaskEngine
from credo.tables.answers import infer_partitions, predict_partitions
from credo.tables.spark import SparkEngine


class Words:
    """A job whose merging shows the order and the shape of the tree."""

    reducer = SimpleNamespace(columns=("word",))

    def reduce(self, part):
        if part == "bad":
            raise FileFormatError("a cell is no number.", "rows.csv", 7)
        return part

    def merge(self, first, second):
        return f"({first}{second})"


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def engine(client):
    with DaskEngine(client=client, patience=0.2) as engine:
        yield engine


def slow_first(part):
    time.sleep(0.2 if part == 0 else 0.0)
    return part


# --- Dask ------------------------------------------------------------------


@pytest.mark.parametrize("n_parts", [1, 2, 8, 9, 65])
def test_dask_merges_all_parts_in_their_order(engine, n_parts):
    parts = [f"{i}," for i in range(n_parts)]
    found = engine.reduce(Words(), parts)
    assert found.replace("(", "").replace(")", "") == "".join(parts)


def test_dask_merges_by_eights_whatever_finishes_first(engine):
    found = engine.reduce(Words(), list("abcdefghijk"))
    assert found == "((((((((ab)c)d)e)f)g)h)((ij)k))"


def test_dask_reduces_no_parts_to_nothing(engine):
    assert engine.reduce(Words(), []) is None
    assert list(engine.map(len, [])) == []


def test_dask_gives_results_in_the_order_of_the_parts(engine):
    assert list(engine.map(slow_first, range(12))) == list(range(12))


def test_dask_keeps_few_results_waiting(engine):
    started = []
    results = engine.map(started.append, range(50))
    next(results)
    time.sleep(0.3)
    assert len(started) <= 2 * 2
    results.close()


def test_dask_raises_what_a_part_raised(engine):
    with pytest.raises(FileFormatError, match="rows.csv, line 7: a cell is no number.") as caught:
        engine.reduce(Words(), ["a", "bad", "c"])
    assert caught.value.line == 7
    assert caught.value.__cause__ is None
    with pytest.raises(FileFormatError, match="line 7"):
        list(engine.map(Words().reduce, ["a", "bad", "c"]))


def test_dask_tells_how_far_it_is(engine):
    heard = []
    engine.reduce(Words(), list("abcdefghij"), lambda _rows, share: heard.append(share))
    assert heard == sorted(set(heard))
    assert heard[0] == 0.1
    assert heard[-1] == 1.0
    heard.clear()
    list(engine.map(len, list("abcd"), lambda _rows, share: heard.append(share)))
    assert heard == [0.25, 0.5, 0.75, 1.0]


def test_dask_gives_up_when_there_is_no_worker(monkeypatch):
    monkeypatch.setattr(dask_engine, "_LOOK", 0.05)
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(CredoError, match="had no worker for 0.2 seconds"),
    ):
        DaskEngine(client=client, patience=0.2).reduce(Words(), ["a", "b"])


@pytest.mark.parametrize(
    ("status", "error", "message"),
    [
        ("cancelled", None, "connection to the Dask scheduler was lost"),
        (
            "error",
            distributed.KilledWorker("t", None, 4),
            "died again and again with the same part",
        ),
        ("error", RuntimeError("Error during deserialization of"), "need the versions of Credo"),
    ],
    ids=["no-scheduler", "too-large", "not-installed"],
)
def test_dask_says_what_became_of_a_task(status, error, message):
    task = SimpleNamespace(status=status, exception=lambda: error)
    done = SimpleQueue()
    done.put(task)
    with pytest.raises(CredoError, match=message):
        DaskEngine(client=object())._result(task, done)


def test_dask_says_that_nobody_answers(monkeypatch):
    monkeypatch.setattr(dask_cluster, "_CONNECT", 0.2)
    with (
        pytest.raises(InputError, match="No Dask scheduler answers at 'tcp://127.0.0.1:1'"),
        DaskEngine("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"address": "tcp://127.0.0.1:1", "n_workers": 2}, "one of address, client and n_workers"),
        ({"n_workers": 0}, "n_workers of DaskEngine must be 1 or more. Got 0."),
    ],
    ids=["two", "none"],
)
def test_dask_refuses_what_makes_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        DaskEngine(**options)


def test_engines_say_that_they_are_not_open():
    with pytest.raises(InputError, match="DaskEngine is not connected"):
        DaskEngine().reduce(Words(), ["a"])
    with pytest.raises(InputError, match="SparkEngine has no session yet"):
        SparkEngine().reduce(Words(), ["a"])


def test_engines_name_the_extra_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(MissingExtraError, match="credo\\[dask\\]"), DaskEngine(n_workers=1):
        pass
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match="credo\\[spark\\]"), SparkEngine():
        pass


def test_spark_says_that_java_is_missing(monkeypatch):
    monkeypatch.setattr(spark_session, "which", lambda _name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingExtraError, match="Spark needs Java 17 or later"), SparkEngine():
        pass


# --- frames in partitions --------------------------------------------------


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, 300)
    columns = {"x": rng.normal(codes, 1.0), "age": rng.integers(20, 60, 300), "n": range(300)}
    return pd.DataFrame(
        {**columns, "id": [f"r{i}" for i in range(300)], "y": np.array(["no", "yes"])[codes]},
        index=pd.Index(range(1000, 1300), name="place"),
    )


@pytest.fixture(scope="module")
def model(rows):
    return credo.fit_table(credo.GaussianClassifier("tied"), rows, features=["x", "age"])


@pytest.fixture
def network():
    return credo.chain([0.5, 0.5], [[0.9, 0.1], [0.0, 1.0]], length=3)


def test_a_dask_frame_has_the_columns_and_rows_of_its_partitions(engine, rows):
    source = engine.open(dd.from_pandas(rows, npartitions=4))
    assert source.schema.names == ["x", "age", "n", "id", "y"]
    assert [str(kind) for kind in source.schema.types[:2]] == ["double", "int64"]
    assert len(source.parts()) == 4
    read = pa.Table.from_batches(source.batches(["id", "x"]))
    assert read["id"].to_pylist() == rows["id"].tolist()
    assert source.head(["x"], 5)["x"].to_pylist() == rows["x"].tolist()[:5]
    first = source.parts()[0].open().batches(["id"])
    assert next(first)["id"][0].as_py() == "r0"


def test_a_dask_frame_with_empty_partitions_is_learned_from(engine, rows, model):
    frame = dd.from_pandas(rows, npartitions=10)
    few = frame[frame["n"] >= 290]
    found = credo.fit_table(
        credo.GaussianClassifier("tied"), few, features=["x", "age"], engine=engine
    )
    wanted = credo.GaussianClassifier("tied").fit(rows[["x", "age"]][290:], rows["y"][290:])
    np.testing.assert_allclose(found.means_, wanted.means_, rtol=1e-12)
    added = credo.update_table(found, frame[frame["n"] < 290], engine=engine)
    np.testing.assert_allclose(added.means_, model.means_, rtol=1e-12)


def test_scored_partitions_keep_their_index_and_what_is_kept(rows, model):
    frame = dd.from_pandas(rows, npartitions=3)
    loss = credo.Loss.zero_one(["no", "yes"]).with_reject(0.2)
    scored = predict_partitions(model, frame, loss, keep=["id", "age"])
    found = scored.compute()
    wanted = credo.predict_table(model, rows, loss=loss, keep=["id", "age"]).to_pandas()
    assert scored.columns.tolist() == wanted.columns.tolist()
    assert scored.dtypes.tolist() == found.dtypes.tolist()
    assert found.index.equals(rows.index)
    assert found["id"].tolist() == rows["id"].tolist()
    assert found["act"].tolist() == wanted["act"].tolist()
    np.testing.assert_allclose(found["p_yes"], wanted["p_yes"], rtol=1e-12)


def test_inferred_partitions_are_what_infer_many_gives(network):
    evidence = pd.DataFrame(
        {"who": ["a", "b", "c", "d"], "x0": [0, 1, None, 0], "x2": [1, None, 0, None]}
    )
    frame = dd.from_pandas(evidence, npartitions=2)
    found = infer_partitions(network, frame, query=["x1"], keep=["who"]).compute()
    assert found.columns.tolist() == ["who", "x1=0", "x1=1", "ln P(evidence)"]
    wanted = credo.infer_many(network, evidence[["x0", "x2"]], query=["x1"])
    np.testing.assert_allclose(found[["x1=0", "x1=1"]], wanted.probabilities("x1"), rtol=1e-12)
    np.testing.assert_allclose(found["ln P(evidence)"], wanted.log_evidence, rtol=1e-12)


def test_impossible_rows_are_nan_if_asked_for_and_an_error_if_not(network):
    frame = dd.from_pandas(pd.DataFrame({"x0": [1, 1], "x1": [0, 1]}), npartitions=1)
    found = infer_partitions(network, frame, query=["x2"], on_impossible="nan").compute()
    assert np.isnan(found["x2=0"]).tolist() == [True, False]
    with pytest.raises(ImpossibleEvidence, match="row 0"):
        infer_partitions(network, frame).compute()


@pytest.mark.parametrize(
    ("columns", "options", "error", "message"),
    [
        (["x0", "who"], {}, LabelError, "column 'who' is no variable.*keep=\\['who'\\]"),
        (["who"], {"keep": ["who"]}, InputError, "no column of the frame is a variable"),
        (["x0"], {"ignore": ["who"]}, LabelError, "who"),
        (["x0", "x1=0"], {"keep": ["x1=0"]}, InputError, "two columns 'x1=0'"),
    ],
    ids=["unknown", "no-evidence", "not-there", "twice"],
)
def test_columns_that_mean_nothing_to_a_network_are_refused(
    network, columns, options, error, message
):
    frame = dd.from_pandas(pd.DataFrame(np.eye(2, len(columns)), columns=columns), npartitions=1)
    with pytest.raises(error, match=message):
        infer_partitions(network, frame, **options)


def test_frames_without_partitions_are_refused(rows, model, network):
    with pytest.raises(InputError, match="needs a data frame of Dask or Spark. Got DataFrame."):
        predict_partitions(model, rows)
    with pytest.raises(InputError, match="infer_partitions needs a data frame of Dask or Spark"):
        infer_partitions(network, rows)


@pytest.mark.parametrize(
    "error",
    [
        InputError("wrong"),
        ShapeError("too long"),
        LabelError("no such name"),
        FileFormatError("damaged.", "a.csv", 3, 4),
        ImpossibleEvidence("cannot be.", {"x0": 1}),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_as_text(error):
    found = spark_frames.read(spark_frames.written(error))
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert vars(found) == vars(error)
