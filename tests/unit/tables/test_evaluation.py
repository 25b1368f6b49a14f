"""``evaluate_table``: every number against a slow twin, labels that are wrong, and columns."""

import json
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet
import pytest
from sklearn.base import clone
from sklearn.metrics import brier_score_loss, log_loss

import credo
from credo.exceptions import CredoWarning, InputError, LabelError, TableWarning
from credo.tables import evaluate_table, fit_table, predict_table
from credo.tables.evaluate import measure

LOSS = credo.Loss.from_dict(
    {("good", "lend"): 0, ("good", "refuse"): 1, ("bad", "lend"): 5, ("bad", "refuse"): 0}
).with_reject(0.4, "ask")


def applicants(n=300, seed=0):
    rng = np.random.default_rng(seed)
    bad = rng.random(n) < 0.3
    age = rng.normal(40 - 8 * bad, 6)
    job = rng.choice(["none", "skilled", "manager"], n)
    job[bad & (rng.random(n) < 0.5)] = "none"
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(n) < 0.05),
            "noise": rng.normal(size=n),
            "job": job.tolist(),
            "owner": rng.random(n) < 0.5,
            "y": np.where(bad, "bad", "good").tolist(),
        }
    )


@pytest.fixture(scope="module")
def model():
    return fit_table(credo.NaiveBayes(), applicants(seed=1), target="y")


@pytest.fixture(scope="module")
def found(model):
    return evaluate_table(model, applicants(), loss=LOSS)


def test_scores_agree_with_those_of_scikit_learn(model, found):
    table = applicants()
    scored = predict_table(model, table)
    p, y = scored["p_good"].to_numpy(), np.array(table["y"].to_pylist())
    assert found.log_loss == pytest.approx(log_loss(y, np.stack([1 - p, p], axis=1)), rel=1e-12)
    single = brier_score_loss(y, p, pos_label="good")
    assert found.brier == pytest.approx(2 * single, rel=1e-12)
    assert found.accuracy == np.mean((p > 0.5) == (y == "good"))
    assert found.class_counts == Counter(y.tolist())


def test_the_mean_loss_is_that_of_the_acts_of_predict_table(model, found):
    table = applicants()
    scored = predict_table(model, table, loss=LOSS)
    acts, y = scored["act"].to_pylist(), table["y"].to_pylist()
    lost = np.array([LOSS[truth, act] for truth, act in zip(y, acts, strict=True)])
    assert found.mean_loss == pytest.approx(lost.mean(), rel=1e-12)
    assert found.measures.standard_error == pytest.approx(lost.std(ddof=1) / np.sqrt(300))
    assert found.predicted_loss == pytest.approx(scored["expected_loss"].to_numpy().mean())
    assert found.rejected_share == pytest.approx(np.mean(scored["rejected"].to_numpy()))
    counts = Counter(zip(y, acts, strict=True))
    confusion = found.measures.outcome.confusion
    for k, truth in enumerate(confusion.truths):
        for a, act in enumerate(confusion.acts):
            assert confusion.counts[k, a] == counts[truth, act]
    assert confusion.reject == "ask"


def test_alternatives_are_what_these_rules_would_have_cost(model, found):
    table = applicants()
    scored = predict_table(model, table, loss=LOSS)
    y = table["y"].to_pylist()
    own = np.array([LOSS[t, a] for t, a in zip(y, scored["act"].to_pylist(), strict=True)])
    plain = np.where(scored["p_bad"].to_numpy() >= 0.5, "refuse", "lend").tolist()
    other = np.array([LOSS[t, a] for t, a in zip(y, plain, strict=True)])
    seen = found.measures.most_probable
    assert seen.loss == pytest.approx(other.mean())
    assert seen.saved == pytest.approx((other - own).mean())
    assert seen.standard_error == pytest.approx((other - own).std(ddof=1) / np.sqrt(300))
    always = {act: np.mean([LOSS[t, act] for t in y]) for act in LOSS.acts}
    best = min(always, key=always.get)
    assert found.measures.constant.act == best
    assert found.measures.constant.loss == pytest.approx(always[best])
    assert found.measures.informed.loss == 0


def test_standard_errors_are_those_of_a_weighted_mean(model):
    """The root of n / (n - 1) times the sum of w² (l - m)², over the sum of weights."""
    weight = np.random.default_rng(2).uniform(0, 3, 300)
    table = applicants().append_column("w", pa.array(weight))
    found = evaluate_table(model, table, loss=LOSS, weight="w")
    acts = credo.predict_table(model, table, loss=LOSS)["act"].to_pylist()
    lost = np.array([LOSS[y, act] for y, act in zip(table["y"].to_pylist(), acts, strict=True)])
    n = len(lost)
    mean = np.average(lost, weights=weight)
    error = np.sqrt(n / (n - 1) * (weight**2 * (lost - mean) ** 2).sum()) / weight.sum()
    assert found.mean_loss == pytest.approx(mean, rel=1e-12)
    assert found.measures.standard_error == pytest.approx(error, rel=1e-12)


def test_a_weight_of_two_is_the_row_twice(model):
    table = applicants(80)
    weight = np.arange(80) % 3
    weighted = table.append_column("w", pa.array(weight.astype(float)))
    twice = table.take(np.repeat(np.arange(80), weight))
    a = evaluate_table(model, weighted, loss=LOSS, weight="w")
    b = evaluate_table(model, twice, loss=LOSS)
    assert a.mean_loss == pytest.approx(b.mean_loss)
    assert a.accuracy == pytest.approx(b.accuracy)
    assert a.log_loss == pytest.approx(b.log_loss)
    np.testing.assert_allclose(
        a.measures.outcome.confusion.counts, b.measures.outcome.confusion.counts
    )
    rises = [{c.name: c.rise for c in each.contributions.columns} for each in (a, b)]
    assert rises[0] == pytest.approx(rises[1])


def test_the_result_is_plain_json(found):
    text = json.dumps(found.to_dict(), allow_nan=False)
    read = json.loads(text)
    assert read["n_rows"] == 300
    assert read["error"] == pytest.approx(1 - found.accuracy)
    assert read["loss"]["matrix"] == LOSS.matrix.tolist()
    assert read["alternatives"]["constant"]["act"] == found.measures.constant.act
    assert "NaiveBayes on" in repr(found)
    assert "rejected" in repr(found)


def test_progress_is_told(model):
    calls = []
    evaluate_table(model, applicants(), progress=lambda n, share: calls.append((n, share)))
    columns = [(300, share / 4) for share in range(1, 5)]  # which are hidden, one by one
    assert calls == [(300, 1.0), *columns]


# --- labels and losses ----------------------------------------------------------------------------


@pytest.mark.parametrize("coded", [False, True])
def test_a_missing_label_is_named_with_its_row(model, coded):
    table = applicants(5)
    labels = pa.array([*table["y"].to_pylist()[:3], None, "bad"])
    if coded:
        words = pa.array(["good", "bad", None])
        labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, 2, 1]), words)
    with pytest.raises(InputError, match="row 4 of .* has no label in column 'y'"):
        evaluate_table(model, table.set_column(4, "y", labels))


def with_strangers(n_late=7, n_lost=5):
    """Applicants, some of whom have labels that the model has never seen; and which."""
    table = applicants()
    labels = np.array(table["y"].to_pylist(), dtype=object)
    labels[10 : 10 + n_late], labels[200 : 200 + n_lost] = "late", "lost"
    return table.set_column(4, "y", pa.array(labels.tolist())), labels


def test_labels_unseen_in_fit_are_errors_that_cost_one(model):
    table, labels = with_strangers()
    told = (
        r"the Table has labels unseen in fit in 12 rows: 'late' 7, 'lost' 5. They cost one each, "
        r"as any error does\.$"
    )
    with pytest.warns(TableWarning, match=told):
        found = evaluate_table(model, table)
    guesses = np.array(predict_table(model, table)["act"].to_pylist(), dtype=object)
    assert (found.n_rows, found.n_left_out) == (300, 0)
    assert found.unseen == {"late": 7, "lost": 5}
    assert found.accuracy == pytest.approx(np.mean(guesses == labels))
    assert found.mean_loss == pytest.approx(1 - found.accuracy)
    assert found.class_counts == dict(Counter(labels[np.isin(labels, ["good", "bad"])]))
    counts = Counter(zip(labels, guesses, strict=True))
    confusion = found.measures.outcome.confusion
    assert {
        (truth, act): n
        for truth, row in zip(confusion.truths, confusion.counts.tolist(), strict=True)
        for act, n in zip(confusion.acts, row, strict=True)
        if n
    } == counts
    known = table.filter(pa.array(np.isin(labels, ["good", "bad"])))
    apart = evaluate_table(model, known)
    assert found.log_loss == pytest.approx(apart.log_loss)
    assert found.brier == pytest.approx(apart.brier)
    assert found.measures.cost_curve.to_dict() == apart.measures.cost_curve.to_dict()
    assert found.to_dict()["unseen"] == {"late": 7, "lost": 5}


def test_labels_unseen_in_fit_cost_what_the_loss_says_or_are_left_out(model):
    table, labels = with_strangers()
    matrix = [[0, 1, 0.4], [5, 0, 0.4], [9, 3, 0.4]]
    loss = credo.Loss(matrix, ["good", "bad", "late"], ["lend", "refuse", "ask"], reject="ask")
    told = "They cost what the loss says, but for 5 left out: it has no row for them"
    with pytest.warns(TableWarning, match=told):
        found = evaluate_table(model, table, loss=loss)
    acts = predict_table(model, table, loss=LOSS)["act"].to_pylist()
    costs = [loss[a, b] for a, b in zip(labels, acts, strict=True) if a != "lost"]
    assert (found.n_rows, found.n_left_out) == (295, 5)
    assert found.mean_loss == pytest.approx(np.mean(costs))
    best = min((np.mean([loss[a, act] for a in labels if a != "lost"]), act) for act in loss.acts)
    assert found.measures.constant.loss == pytest.approx(best[0])
    assert found.measures.constant.act == best[1]
    with pytest.warns(TableWarning, match="but for 12 left out"):
        plain = evaluate_table(model, table, loss=LOSS)
    known = table.filter(pa.array(np.isin(labels, ["good", "bad"])))
    assert plain.mean_loss == evaluate_table(model, known, loss=LOSS).mean_loss
    with pytest.raises(LabelError, match="differ in 'bad'"):
        evaluate_table(model, table, loss=credo.Loss.zero_one(["good", "late", "lost"]))


def test_unseen_labels_of_many_batches_weights_and_a_slip_are_told_too(model, monkeypatch):
    monkeypatch.setattr("credo.tables.source.rows_at_once", lambda _: 16)
    table, labels = with_strangers()
    weights = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    table = table.append_column("w", pa.array(weights))
    with pytest.warns(TableWarning, match="unseen in fit in 12 rows: 'late' 7, 'lost' 5"):
        found = evaluate_table(model, table, weight="w")
    guesses = np.array(predict_table(model, table)["act"].to_pylist(), dtype=object)
    assert found.mean_loss == pytest.approx(np.average(guesses != labels, weights=weights))
    few = applicants(5)
    slip = few.set_column(4, "y", pa.array([*few["y"].to_pylist()[:3], "godo", "bad"]))
    with pytest.warns(TableWarning, match="in 1 row: 'godo' 1. .* Did you mean 'good'"):
        evaluate_table(model, slip)
    other = applicants().append_column("z", pa.array(["ham"] * 300))
    with pytest.raises(LabelError, match="no row of .* has a label in column 'z' that the model"):
        evaluate_table(model, other, target="z")


def test_another_column_may_hold_the_labels(model, found):
    table = applicants().rename_columns(["age", "noise", "job", "owner", "truth"])
    assert evaluate_table(model, table, target="truth", loss=LOSS).mean_loss == found.mean_loss
    with pytest.raises(LabelError, match="'y'"):
        evaluate_table(model, table)


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
def test_a_loss_from_a_file_speaks_of_numbers(tmp_path):
    table = applicants()
    codes = [2 if label == "bad" else 1 for label in table["y"].to_pylist()]
    numbers = table.set_column(4, "y", pa.array(codes))
    fitted = fit_table(credo.NaiveBayes(), numbers, target="y")
    path = tmp_path / "loss.csv"
    path.write_text("truth,1,2,ask\n1,0,1,0.4\n2,5,0,0.4\n")
    result = evaluate_table(fitted, numbers, loss=credo.Loss.from_csv(path, reject="ask"))
    assert result.measures.loss.truths == (1, 2)
    assert result.measures.loss.acts == (1, 2, "ask")
    assert result.measures.outcome.confusion.accuracy is not None
    with pytest.raises(LabelError):
        evaluate_table(fitted, numbers, loss=LOSS)


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
@pytest.mark.parametrize(
    ("labels", "written"),
    [([1, 2], ["1", "2"]), ([False, True], ["false", "true"]), (["1", "2"], [1.0, 2.0])],
)
def test_labels_are_found_by_their_text(labels, written):
    table = pa.table({"x": [1.0, 5.0, 2.0, 6.0], "y": labels * 2})
    fitted = fit_table(credo.NaiveBayes(), table)
    other = table.set_column(1, "y", pa.array(written * 2))
    assert evaluate_table(fitted, other).class_counts == dict.fromkeys(labels, 2)
    with pytest.raises(LabelError, match="no row of the Table has a label .* that the model knows"):
        evaluate_table(fitted, table.set_column(1, "y", pa.array(["1.0"] * 4)))


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
def test_the_loss_of_a_decision_classifier_is_its_own():
    table = applicants()
    policy = fit_table(credo.DecisionClassifier(credo.NaiveBayes(), LOSS), table, target="y")
    assert evaluate_table(policy, table).measures.loss == LOSS
    plain = evaluate_table(policy, table, loss=credo.Loss.zero_one(["bad", "good"]))
    assert plain.mean_loss == pytest.approx(1 - plain.accuracy)
    assert plain.measures.most_probable.saved == 0
    policy.loss = lambda _: LOSS
    with pytest.raises(InputError, match="a function of the rows"):
        evaluate_table(policy, table)


def test_models_without_classes_or_columns_are_refused(model):
    table = applicants().select(["noise", "age"]).drop_null()
    line = fit_table(credo.GaussianRegressor(), table, target="age")
    with pytest.raises(InputError, match="GaussianRegressor predicts numbers"):
        evaluate_table(line, table)
    bare = credo.NaiveBayes().fit([["u"], ["v"]], ["a", "b"])
    with pytest.raises(InputError, match="fit_table"):
        evaluate_table(bare, table)
    with pytest.raises(InputError, match="no rows"):
        evaluate_table(model, applicants()[:0])


def test_more_rows_than_fit_are_refused(model, monkeypatch):
    monkeypatch.setattr("credo.tables.evaluate._MOST_NUMBERS", 500)
    with pytest.raises(InputError, match="more than 250 rows"):
        evaluate_table(model, applicants())


# --- curves ---------------------------------------------------------------------------------------


def uncertain(n, n_classes, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(n_classes), n)
    truth = (p.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1).clip(max=n_classes - 1)
    return truth, np.log(p)


def test_a_long_curve_is_thinned_and_keeps_its_ends_and_area():
    labels, loss = ("a", "b", "c"), credo.Loss.zero_one(["a", "b", "c"])
    truth, log_p = uncertain(3000, 3)
    whole = credo.decisions.evaluate(
        np.array(labels)[truth], credo.Posterior(log_p, labels), loss
    ).risk_coverage
    thin = measure(labels, truth, log_p, loss).outcome.risk_coverage
    assert len(whole.coverage) == 3000
    assert len(thin.coverage) == 400
    assert thin.area == whole.area
    for name in ("coverage", "risk", "threshold"):
        ends = getattr(whole, name)[[0, -1]]
        np.testing.assert_array_equal(getattr(thin, name)[[0, -1]], ends)
    assert np.isin(thin.risk, whole.risk).all()


def test_truths_and_acts_keep_their_names_whatever_the_order_of_the_loss():
    labels = ("x", "y")
    loss = credo.Loss([[3, 0], [0, 1]], ["y", "x"], ["no", "yes"])
    truth, log_p = uncertain(200, 2)
    found = measure(labels, truth, log_p, loss)
    wanted = credo.decisions.evaluate(np.array(labels)[truth], credo.Posterior(log_p, labels), loss)
    assert found.outcome.expected_loss.value == pytest.approx(wanted.expected_loss.value)
    assert found.outcome.by_act == wanted.by_act
    assert found.outcome.confusion.truths == labels
    np.testing.assert_array_equal(found.outcome.confusion.counts, wanted.confusion.counts[::-1])
    assert found.cost_curve.positive == "y"
    assert found.reliability.label == "y"


def test_there_is_no_cost_curve_without_two_classes_that_occur():
    truth, log_p = uncertain(50, 3)
    three = measure(("a", "b", "c"), truth, log_p, credo.Loss.zero_one(["a", "b", "c"]))
    assert three.cost_curve is None
    assert "this model has 3" in three.no_cost_curve
    assert three.reliability.label is None
    truth, log_p = uncertain(50, 2)
    one = measure(("a", "b"), np.zeros(50, dtype=int), log_p, credo.Loss.zero_one(["a", "b"]))
    assert one.cost_curve is None
    assert "none of 'b'" in one.no_cost_curve
    single = measure(("a", "b"), truth[:1], log_p[:1], credo.Loss.zero_one(["a", "b"]))
    assert single.standard_error == 0.0
    useless = credo.Loss([[0, 1], [0, 1]], ["a", "b"], ["a", "b"])
    assert "never worse" in measure(("a", "b"), truth, log_p, useless).no_cost_curve


# --- contributions --------------------------------------------------------------------------------


def rises_of(result):
    return {each.name: each.rise for each in result.contributions.columns}


def test_a_hidden_column_is_marginalised(model, found):
    frame = applicants().to_pandas()
    y = frame.pop("y").to_numpy()
    place = (np.arange(len(y)), model.classes_.searchsorted(y))
    known = model.predict_log_proba(frame)[place]
    assert found.contributions.how == "hidden"
    assert found.contributions.n_sample == 300
    for name in frame:
        hidden = frame.copy()
        hidden[name] = np.nan if name != "job" else None
        rise = known - model.predict_log_proba(hidden)[place]
        seen = next(each for each in found.contributions.columns if each.name == name)
        assert seen.rise == pytest.approx(rise.mean(), abs=1e-12)
        assert seen.standard_error == pytest.approx(rise.std(ddof=1) / np.sqrt(300), abs=1e-12)
    assert list(rises_of(found).values()) == sorted(rises_of(found).values(), reverse=True)


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
def test_gaussian_columns_are_hidden_with_their_correlations():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b"], 150)
    x = rng.normal(size=(300, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    x[:, 0] += 2 * (y == "b")
    table = pa.table({"tells": x[:, 0], "helps": x[:, 1], "y": y})
    fitted = fit_table(credo.GaussianClassifier(), table, target="y")
    rises = rises_of(evaluate_table(fitted, table))
    assert rises["tells"] > rises["helps"] > 0  # alone it tells nothing, with the other it does


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
def test_logistic_regression_is_asked_with_shuffled_columns():
    table = applicants().drop_null()
    fitted = fit_table(credo.LogisticClassifier(penalty="l2"), table, target="y")
    first, again = (evaluate_table(fitted, table, random_state=3) for _ in range(2))
    assert first.contributions == again.contributions
    assert first.contributions.how == "shuffled"
    rises = rises_of(first)
    assert max(rises, key=rises.get) == "age"
    assert abs(rises["noise"]) < 0.1 * rises["age"]
    assert evaluate_table(fitted, table, random_state=4).contributions != first.contributions


def test_missing_cells_and_new_categories_of_logistic_regression_are_scored_as_predicted():
    table = applicants()
    fitted = fit_table(credo.LogisticClassifier("l2", missing_cells="indicator"), table, target="y")
    place = table.schema.names.index("job")
    other = table.set_column(place, "job", pa.array(["pilot"] * len(table)))
    with pytest.warns(CredoWarning, match="column 'job' has 'pilot', which fit has not seen"):
        found = evaluate_table(fitted, other)
    scored = credo.predict_table(fitted, other)
    labels = np.array(table["y"].to_pylist())
    own = sum(np.where(labels == k, scored[f"p_{k}"], 0.0) for k in np.unique(labels))
    assert found.log_loss == pytest.approx(-np.log(own).mean())


def test_too_many_columns_are_not_hidden(model, monkeypatch):
    monkeypatch.setattr("credo.tables.evaluate._MOST_COLUMNS", 3)
    found = evaluate_table(model, applicants()).contributions
    assert found.columns == ()
    assert "4 columns, too many" in found.reason


def test_words_are_listed_for_documents_and_scored_in_logarithms():
    mail = ["win cash now"] * 9 + ["lunch at noon"] * 9 + ["win " * 900]
    table = pa.table({"text": mail, "y": ["spam"] * 9 + ["ham"] * 10})
    fitted = fit_table(credo.TextClassifier(), table, target="y")
    found = evaluate_table(fitted, table)
    assert np.isfinite(found.log_loss)
    words = {(each.label, each.word): each.weight for each in found.contributions.words}
    w, _ = fitted.log_odds_weights("spam", "ham")
    assert words["spam", "cash"] == pytest.approx(w[fitted.words_.index("cash")])
    assert found.columns[0].greatest == 3600
    assert found.contributions.how is None


def test_rows_of_impossible_truths_are_left_out_of_the_rises():
    table = pa.table({"x": ["u", "u", "v"], "y": ["a", "a", "b"]})
    fitted = fit_table(credo.NaiveBayes(smoothing=0), table, target="y")
    found = evaluate_table(fitted, pa.table({"x": ["u", "v"], "y": ["b", "b"]}))
    assert found.log_loss == np.inf
    assert found.to_dict()["log_loss"] is None
    assert (found.contributions.n_sample, found.contributions.n_left_out) == (1, 1)
    assert found.contributions.columns[0].rise == pytest.approx(np.log(3))


# --- what passes by -------------------------------------------------------------------------------


def test_a_sample_is_fair_however_the_rows_come(model, monkeypatch):
    table = applicants(40)
    whole = rises_of(evaluate_table(model, table))["age"]
    monkeypatch.setattr("credo.tables.evaluate._MOST_SAMPLED", 5)
    pieces = pa.Table.from_batches(table.to_batches(max_chunksize=7))
    found = [evaluate_table(model, pieces, random_state=seed) for seed in range(30)]
    assert {each.contributions.n_sample for each in found} == {5}
    rises = np.array([rises_of(each)["age"] for each in found])
    assert len(set(rises.tolist())) > 25
    assert abs(rises.mean() - whole) < 4 * rises.std() / np.sqrt(30)
    assert rises_of(evaluate_table(model, table, random_state=3)) == rises_of(found[3])


def test_columns_are_counted_over_batches(model, found):
    table = applicants()
    columns = {each.name: each for each in found.columns}
    age = table["age"].drop_null().to_numpy()
    assert columns["age"].n_missing == 300 - len(age)
    assert columns["age"].mean == pytest.approx(age.mean())
    assert columns["age"].deviation == pytest.approx(age.std())
    assert (columns["age"].least, columns["age"].greatest) == (age.min(), age.max())
    counts = Counter(table["job"].to_pylist())
    assert columns["job"].n_values == 3
    assert dict(columns["job"].most_frequent) == counts
    assert columns["owner"].mean == pytest.approx(np.mean(table["owner"].to_pylist()))
    pieces = pa.Table.from_batches(table.to_batches(max_chunksize=37))
    for whole, parts in zip(found.columns, evaluate_table(model, pieces).columns, strict=True):
        assert parts.most_frequent == whole.most_frequent
        for name in ("mean", "deviation", "shift"):
            there, here = getattr(parts, name), getattr(whole, name)
            assert there == (here if here is None else pytest.approx(here, rel=1e-12))


def test_a_shift_is_measured_against_the_rows_of_fit(model):
    table, before = applicants(), applicants(seed=1)
    older = table.set_column(0, "age", pa.compute.add(table["age"], 100.0))
    jobs = ["pilot" if job == "none" else job for job in table["job"].to_pylist()]
    moved = older.set_column(2, "job", pa.array(jobs))
    columns = {each.name: each for each in evaluate_table(model, moved).columns}
    age, then = moved["age"].drop_null().to_numpy(), before["age"].drop_null().to_numpy()
    assert columns["age"].shift == pytest.approx((age.mean() - then.mean()) / then.std())
    now, past = Counter(jobs), Counter(before["job"].to_pylist())
    apart = [abs(now[job] - past[job]) / 300 for job in {*now, *past}]
    assert columns["job"].shift == pytest.approx(sum(apart) / 2)
    assert columns["job"].n_unknown == now["pilot"]


@pytest.mark.filterwarnings("ignore:evaluate_table. these are the rows")
def test_a_column_without_values_or_with_many_or_long_ones_is_told_so(monkeypatch):
    words = pa.array(["a", "b", "c", None, "d", None], pa.string()).dictionary_encode()
    table = pa.table({"n": [1.0, 2.0, 3.0, 5.0, 4.0, 7.0], "word": words, "y": ["u", "v"] * 3})
    fitted = fit_table(credo.NaiveBayes(), table)
    monkeypatch.setattr("credo.tables.column_report._MOST_VALUES", 2)
    nothing = table.set_column(0, "n", pa.nulls(6, pa.float64()))
    pieces = pa.Table.from_batches(nothing.to_batches(max_chunksize=2))
    number, word = evaluate_table(fitted, pieces).columns
    assert (number.n_missing, number.mean, number.shift) == (6, None, None)
    assert (word.n_rows, word.n_missing, word.n_values) == (6, 2, None)
    assert (word.most_frequent, word.shift, word.n_unknown) == ((), None, None)
    long = pa.table({"x": ["z" * 5000, "u"], "y": ["a", "b"]})
    found = evaluate_table(fit_table(credo.NaiveBayes(), long), long).columns[0]
    assert found.most_frequent == (("u", 1), ("z" * 200 + "…", 1))


# --- rows of the fit ------------------------------------------------------------------------------

MODELS = {
    "naive Bayes": credo.NaiveBayes(),
    "Gaussian": credo.GaussianClassifier(),
    "tied": credo.GaussianClassifier("tied"),
    "logistic": credo.LogisticClassifier(),
    "ridge": credo.LogisticClassifier("l2"),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_rows_of_the_fit_are_told_in_any_order_and_format_and_no_others(name, tmp_path):
    columns = ["age", "noise", "y"]
    table = applicants(400).select(columns).drop_null()
    fitted = fit_table(clone(MODELS[name]), table, target="y")
    order = np.random.default_rng(0).permutation(len(table))
    pyarrow.parquet.write_table(table.take(order), tmp_path / "t.parquet")
    fitted.save(tmp_path / "m.credo")
    for model in (fitted, credo.load(tmp_path / "m.credo")):
        for rows in (table, tmp_path / "t.parquet"):
            with pytest.warns(TableWarning, match="these are the rows that the model was fitted"):
                assert evaluate_table(model, rows).is_of_fit
    ages = table["age"].to_numpy().copy()
    ages[7] += 0.01
    changed = table.set_column(0, "age", pa.array(ages))
    older = table.set_column(0, "age", pa.array(table["age"].to_numpy() + 1.0))
    others = applicants(400, seed=5).select(columns).drop_null()
    for rows in (changed, older, others, table.slice(1), pa.concat_tables([table, table])):
        assert not evaluate_table(fitted, rows).is_of_fit


def test_the_rows_of_fit_and_update_are_told_together_and_categories_too():
    table = applicants(60).select(["job", "y"])
    fitted = fit_table(credo.NaiveBayes(), table.slice(0, 30), target="y")
    credo.update_table(fitted, table.slice(30))
    with pytest.warns(TableWarning, match="these are the rows"):
        found = evaluate_table(fitted, table)
    assert found.to_dict()["is_of_fit"]
    assert not evaluate_table(fitted, table.slice(30)).is_of_fit
