"""Passes over tables, here and by other people's engines: order, errors, waiting, partitions."""

import operator
import pickle  # noqa: TID251 - jobs travel by whatever a cluster uses
import sys
import threading
import time
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any

import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet
import pyarrow.parquet as pq
import pytest
from sklearn.base import BaseEstimator, clone
from tests.alike import assert_alike
from threadpoolctl import threadpool_info

import credo
from credo._types import F64
from credo.classifiers._base import LearnsFromSummary, ScoredClassifier
from credo.cli import main as cli
from credo.exceptions import (
    CredoError,
    FileFormatError,
    ImpossibleEvidence,
    InputError,
    LabelError,
    MissingExtraError,
)
from credo.tables import TableJob, open_source
from credo.tables.answers import infer_partitions, predict_partitions
from credo.tables.dask import DaskEngine
from credo.tables.passes import map_batches
from credo.tables.spark import SparkEngine


class Words:
    """A job whose merging shows the order and the shape of the tree."""

    columns = ("word",)

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


@pytest.mark.parametrize("n_parts", [1, 2, 8, 9, 65])
def test_dask_merges_all_parts_in_their_order(engine, n_parts):
    parts = [f"{i}," for i in range(n_parts)]
    found = engine.reduce(Words(), parts)
    assert found.replace("(", "").replace(")", "") == "".join(parts)


def test_dask_merges_by_eights_whatever_finishes_first(engine):
    found = engine.reduce(Words(), list("abcdefghijk"))
    assert found == "((((((((ab)c)d)e)f)g)h)((ij)k))"
    assert engine.reduce(Words(), []) is None


def test_dask_gives_results_in_the_order_of_the_parts(engine):
    assert list(engine.map(slow_first, range(12))) == list(range(12))
    assert list(engine.map(len, [])) == []


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


def test_dask_gives_up_when_there_is_no_worker():
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        pytest.raises(CredoError, match="had no worker for 0.2 seconds"),
    ):
        DaskEngine(client=client, patience=0.2).reduce(Words(), ["a", "b"])


def raising(error):
    raise error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            distributed.KilledWorker("t", SimpleNamespace(address="tcp://127.0.0.1:2"), 4),
            "died again and again with the same part",
        ),
        (RuntimeError("Error during deserialization of"), "need the versions of Credo"),
    ],
    ids=["too-large", "not-installed"],
)
def test_dask_says_what_became_of_a_task(engine, error, message):
    with pytest.raises(CredoError, match=message):
        list(engine.map(raising, [error]))


def test_dask_says_that_nobody_answers(monkeypatch):
    monkeypatch.setattr("credo.tables.dask._CONNECT", 0.2)
    with (
        pytest.raises(InputError, match="No Dask scheduler answers at 'tcp://127.0.0.1:1'"),
        DaskEngine("tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.slow
def test_a_cluster_of_our_own_is_private_and_ends_with_its_engine():
    before, open_before = children(), listening()
    with DaskEngine(n_workers=2) as engine:
        assert list(engine.map(len, ["a", "bcd"])) == [1, 3]
        assert len(children() - before) >= 2
        assert {place.ip for place in listening() - open_before} == {"127.0.0.1"}
    assert children() <= before


def children():
    """Give the processes started here, but for Python's own, which ends with this one."""
    return {
        child
        for child in psutil.Process().children(recursive=True)
        if "resource_tracker" not in " ".join(child.cmdline())
    }


def listening():
    """Give the places at which this process and those started here can be reached."""
    return {
        each.laddr
        for process in (psutil.Process(), *children())
        for each in process.net_connections("tcp")
        if each.status == "LISTEN"
    }


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
    monkeypatch.setattr("credo.tables.spark.which", lambda _name: None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(MissingExtraError, match="Spark needs Java 17 or later"), SparkEngine():
        pass


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


def test_a_table_is_scored_on_an_engine_as_it_is_here(engine, rows, model, tmp_path):
    loss, heard = credo.Loss.zero_one(["no", "yes"]).with_reject(0.2), []
    for i in range(3):
        rows[100 * i : 100 * i + 100].to_parquet(tmp_path / f"{i}.parquet")
    here = credo.predict_table(model, tmp_path, loss=loss, keep=["id"])
    options = {"loss": loss, "keep": ["id"], "engine": engine}
    there = credo.predict_table(model, tmp_path, **options, progress=lambda *x: heard.append(x))
    assert there.equals(here)
    assert heard == [(0, 1 / 3), (0, 2 / 3), (0, 1.0)]
    frame = dd.from_pandas(rows, npartitions=4)
    assert credo.predict_table(model, frame, **options).equals(here)
    out = tmp_path.parent / "scored.parquet"
    credo.predict_table(model, tmp_path, out, **options)
    assert pa.parquet.read_table(out).equals(here.combine_chunks())
    nothing = credo.predict_table(model, frame[frame["n"] < 0], **options)
    assert (nothing.num_rows, nothing.schema) == (0, here.schema)


@pytest.mark.filterwarnings("ignore::credo.exceptions.TableWarning")
def test_marks_among_numbers_are_missing_on_an_engine_as_they_are_here(engine, rows, tmp_path):
    marked = rows.assign(x=rows["x"].astype(object).where(rows["n"] % 40 != 39, "?"))
    for i in range(3):
        marked[100 * i : 100 * i + 100].to_csv(tmp_path / f"{i}.csv", index=False)
    learned = credo.fit_table(credo.NaiveBayes(), tmp_path, features=["x", "id"], engine=engine)
    here = credo.fit_table(credo.NaiveBayes(), tmp_path, features=["x", "id"])
    assert learned.families_["x"] == "gaussian"
    there = credo.predict_table(learned, tmp_path, engine=engine)
    np.testing.assert_allclose(there["p_yes"], credo.predict_table(here, tmp_path)["p_yes"])


def test_a_wrong_row_is_an_error_on_an_engine_too(engine, rows, model):
    frame = dd.from_pandas(rows.assign(x=rows["x"].where(rows["n"] != 260, np.inf)), npartitions=3)
    for act in (credo.predict_table, credo.evaluate_table):
        with pytest.raises(InputError, match="'x' has infinity in row 61. Rows are counted from"):
            act(model, frame, engine=engine)


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
@pytest.mark.parametrize("most", [2000, 50])
def test_a_table_is_evaluated_on_an_engine_as_it_is_here(engine, rows, model, most, monkeypatch):
    monkeypatch.setattr("credo.tables.evaluate._MOST_SAMPLED", most)
    options = {"loss": credo.Loss.class_costs({"no": 1, "yes": 4}), "weight": "n"}
    whole = pa.Table.from_pandas(rows, preserve_index=False)
    here = credo.evaluate_table(
        model, pa.Table.from_batches(whole.to_batches(max_chunksize=75)), **options
    ).to_dict()
    frame = dd.from_pandas(rows, npartitions=4)
    there = credo.evaluate_table(model, frame, engine=engine, **options).to_dict()
    assert {each["contributions"]["n_sample"] for each in (here, there)} == {min(300, most)}
    there["source"] = here["source"]
    if most < 300:  # rows are drawn by their number, which is that in a part there
        there["contributions"] = here["contributions"]
    assert_alike(there, here)


class Totals(BaseEstimator):
    """A model that asks its rows twice: their weight and sums, then squares about the mean."""

    kind, Summary = "numbers", None

    def _fit_passes(self, passes, names):
        assert not passes.in_memory
        self.n_features_in_, self.feature_names_in_ = len(names), np.array(names, dtype=object)
        self.weight_, sums, self.classes_ = passes.reduce(weigh, add)
        self.mean_ = sums / self.weight_
        self.squares_ = passes.reduce(Squares(self.mean_), operator.add)
        return self


def weigh(batch):
    rows, classes = batch
    weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    return weights.sum(), weights @ rows.X[:], classes


def add(one, other):
    return one[0] + other[0], one[1] + other[1], np.union1d(one[2], other[2])


@dataclass(frozen=True)
class Squares:
    mean: Any

    def __call__(self, batch):
        rows, _ = batch
        weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
        return weights @ (rows.X[:] - self.mean) ** 2


@pytest.mark.parametrize("weight", [None, "n"])
@pytest.mark.parametrize("there", [False, True])
def test_a_model_of_passes_asks_all_rows_wherever_they_are(engine, rows, there, weight):
    heard = []
    source = dd.from_pandas(rows, npartitions=7) if there else rows
    model = credo.fit_table(
        Totals(),
        source,
        features=["x", "age"],
        weight=weight,
        engine=engine if there else None,
        progress=lambda *seen: heard.append(seen),
    )
    w, x = np.ones(300) if weight is None else rows["n"], rows[["x", "age"]]
    mean = np.average(x, axis=0, weights=w)
    assert model.weight_ == w.sum()
    np.testing.assert_allclose(model.mean_, mean, rtol=1e-12)
    np.testing.assert_allclose(model.squares_, w @ (x - mean) ** 2, rtol=1e-12)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.schema_.names == ("x", "age")
    assert [share for _, share in heard].count(1.0) == 2  # at the end of each pass


def test_logistic_regression_is_learned_on_an_engine_as_it_is_here(engine, rows):
    table = rows.assign(band=np.array(["low", "mid", "high"])[rows["n"] % 3])
    options = {"features": ["x", "age", "band"], "weight": "n"}
    here = credo.fit_table(credo.LogisticClassifier(), table, **options)
    frame = dd.from_pandas(table, npartitions=4)
    there = credo.fit_table(credo.LogisticClassifier(), frame, **options, engine=engine)
    assert there.categories_ == here.categories_ == {"band": ("high", "low", "mid")}
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-9)


def test_logistic_regression_learns_from_missing_cells_on_an_engine_as_it_does_here(engine, rows):
    bands = np.array(["low", "mid", None], dtype=object)[rows["n"] % 3]
    table = rows.assign(age=rows["age"].where(rows["n"] % 4 > 0), band=bands)
    options = {"features": ["x", "age", "band"]}
    model = credo.LogisticClassifier("l2", missing_cells="indicator")
    here = credo.fit_table(clone(model), table, **options)
    frame = dd.from_pandas(table, npartitions=4)
    there = credo.fit_table(clone(model), frame, **options, engine=engine)
    names = ["x", "age", "band=mid", "age is missing", "band is missing"]
    assert there.coefficient_names_.tolist() == names
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-6, atol=1e-9)
    scored = credo.predict_table(there, frame, engine=engine)
    np.testing.assert_allclose(
        scored["p_yes"], here.predict_proba(table[["x", "age", "band"]])[:, 1]
    )


@dataclass(frozen=True, eq=False)
class Means:
    """What ``NearestMean`` learns from."""

    classes: Annotated[Any, "K"]
    weights: Annotated[F64, "K", ">= 0"]
    sums: Annotated[F64, "K D"]

    def merge(self, other):
        classes = np.union1d(self.classes, other.classes)
        weights, sums = np.zeros(len(classes)), np.zeros((len(classes), self.sums.shape[1]))
        for each in (self, other):
            places = np.searchsorted(classes, each.classes)
            weights[places] += each.weights
            sums[places] += each.sums
        return Means(classes, weights, sums)


class NearestMean(LearnsFromSummary, ScoredClassifier):
    """A new model, as somebody would write one: it is nowhere else in the library."""

    kind, command, Summary = "numbers", "nearest-mean", Means

    def __init__(self, smoothing=1.0):
        self.smoothing = smoothing

    def _check_parameters(self, seen=None):
        pass

    def _read(self, X, y, sample_weight, *, reset):
        raise NotImplementedError

    def _rows(self, X):
        return np.asarray(X, dtype=float)

    def _summarise(self, batch):
        rows, classes = batch
        members = np.eye(len(classes))[rows.codes].T
        members = members if rows.weights is None else members * rows.weights
        return Means(classes, members.sum(axis=1), members @ rows.X[:])

    def _learn(self, summary, batch=None):  # noqa: ARG002 - as others
        self.summary_, self.classes_, self._problem = summary, summary.classes, None
        self.means_ = summary.sums / summary.weights[:, None]

    def _scores(self, rows, *, densities=False):  # noqa: ARG002 - has none
        apart = ((rows[:, None] - self.means_) ** 2).sum(axis=2)
        yield slice(0, len(rows)), -apart.T / self.smoothing


def test_a_new_model_is_one_class(engine, rows, tmp_path, monkeypatch, capsys):
    rows.drop(columns=["id", "n"]).to_parquet(tmp_path / "t.parquet", index=False)
    here = credo.fit_table(NearestMean(), tmp_path / "t.parquet")
    np.testing.assert_allclose(here.means_, rows.groupby("y")[["x", "age"]].mean())
    there = credo.fit_table(NearestMean(), tmp_path / "t.parquet", engine=engine)
    np.testing.assert_allclose(there.means_, here.means_)
    scored = credo.predict_table(here, rows)["act"].to_pylist()
    assert credo.evaluate_table(here, rows).accuracy == np.mean(np.array(scored) == rows["y"])
    here.save(tmp_path / "m.credo")
    assert credo.predict_table(credo.load(tmp_path / "m.credo"), rows)["act"].to_pylist() == scored
    monkeypatch.setattr(credo.classifiers, "NearestMean", NearestMean, raising=False)
    command = ["credo", "fit", str(tmp_path / "t.parquet"), "--target", "y", "--out"]
    options = [str(tmp_path / "c.credo"), "--model", "nearest-mean", "--smoothing", "2"]
    monkeypatch.setattr(sys, "argv", [*command, *options])
    with pytest.raises(SystemExit) as stop:
        cli.run()
    assert stop.value.code == 0, capsys.readouterr().err
    assert credo.load(tmp_path / "c.credo").smoothing == 2.0
    monkeypatch.setattr(sys, "argv", [*command, *options[:-2], "--penalty", "l2"])
    with pytest.raises(SystemExit) as stop:
        cli.run()
    assert stop.value.code == 2
    told = "--penalty is an option of --model logistic, not of nearest-mean."
    assert told in capsys.readouterr().err


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
        (["x0", "who"], {}, LabelError, "column 'who' is not a variable.*keep=\\['who'\\]"),
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
    for answer, asked in ((predict_partitions, model), (infer_partitions, network)):
        with pytest.raises(InputError, match="_partitions needs a data frame of Dask or Spark. Go"):
            answer(asked, rows)


def places(batch, start):
    """Each value with the number of its row."""
    return [(start + i, x) for i, x in enumerate(batch["x"].to_pylist())]


def broken(batch, start):
    if seven := [i for i, x in enumerate(batch["x"].to_pylist()) if x == 7]:
        raise LabelError(f"row {start + seven[0] + 1} is wrong.")


@pytest.fixture
def path(tmp_path):
    table = pa.table({"x": range(200_000), "y": ["a", "b"] * 100_000})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=50_000)
    return tmp_path / "t.parquet"


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_a_job_sees_every_row_once_and_in_order(path, threads):
    job = TableJob(("x",), places, operator.add)
    heard = []
    found = job.over(open_source(path), lambda *seen: heard.append(seen), threads)
    assert found == [(i, i) for i in range(200_000)]
    assert heard[-1] == (200_000, 1.0)


def test_a_job_travels_to_the_parts_of_a_table(path):
    job = TableJob(("y", "x"), places, operator.add, words=("y",))
    there = pickle.loads(pickle.dumps(job))  # noqa: S301
    parts = pickle.loads(pickle.dumps(open_source(path).parts()))  # noqa: S301
    assert len(parts) == 2
    found = there.merge(None, there.merge(there.reduce(parts[0]), there.reduce(parts[1])))
    assert [x for _, x in found] == list(range(200_000))


def test_a_job_without_rows_has_no_result():
    job = TableJob(("x",), places, operator.add)
    assert job.over(open_source(pa.table({"x": pa.array([], pa.int64())}))) is None
    assert job.merge(None, None) is None


def test_an_error_of_a_part_says_where_its_rows_are_counted_from(path):
    job = TableJob(("x",), broken, operator.add)
    with pytest.raises(LabelError, match="^row 8 is wrong.$"):
        job.over(open_source(path))
    with pytest.raises(LabelError, match=r"row 8 is wrong. Rows are counted from .* one part of"):
        job.reduce(open_source(path).parts()[0])


def threads_of_algebra():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


def slowly(number):
    time.sleep(0.002 * (number % 3))
    return number**2


@pytest.mark.parametrize("threads", [None, 1, 2, 5])
def test_results_come_in_the_order_of_the_items(threads):
    assert list(map_batches(slowly, range(20), threads)) == [n**2 for n in range(20)]


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_ends_it(threads):
    def broken(number):
        if number == 4:
            raise ValueError(number)
        return number

    found = []
    with pytest.raises(ValueError, match="4"):
        found.extend(map_batches(broken, range(1000), threads))
    assert len(found) <= 4


def test_items_are_not_made_far_ahead():
    made = []

    def items():
        for number in range(100):
            made.append(number)
            yield number

    results = map_batches(slowly, items(), 2)
    next(results)
    assert len(made) <= 4
    results.close()


def test_nothing_is_left_running_and_algebra_has_its_threads_again():
    before, algebra = threading.active_count(), threads_of_algebra()
    first, second = (map_batches(slowly, range(50), 2) for _ in range(2))
    next(first), next(second)
    assert threads_of_algebra() <= {1}
    first.close()
    assert threads_of_algebra() <= {1}
    second.close()
    assert threads_of_algebra() == algebra
    assert threading.active_count() == before
