"""Laws of logistic regression, on small problems of any kind."""

import warnings

import numpy as np
from hypothesis import given, strategies as st
from tests.oracles import logistic as oracle

from credo.classifiers.logistic import LogisticClassifier
from credo.exceptions import CredoWarning


@st.composite
def problems(draw, least=2):
    """Rows on a coarse grid, so that ties and separation happen; every class occurs."""
    n_classes = draw(st.integers(least, 3))
    n_features = draw(st.integers(1, 3))
    n = draw(st.integers(3 * n_classes, 25))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(n, n_features)).astype(float)
    X[0], X[1] = -2.0, 2.0  # no column is constant
    noise = draw(st.sampled_from([0.0, 0.5, 2.0, 8.0]))
    scores = X @ rng.normal(size=(n_features, n_classes)) + noise * rng.normal(size=(n, n_classes))
    y = scores.argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    return X, y, rng


def fitted(X, y, weights=None, penalty="l2", strength=0.5):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CredoWarning)
        amount = None if penalty is None else strength
        return LogisticClassifier(penalty, strength=amount).fit(X, y, weights)


penalties = st.sampled_from(["l2", "l1"])


@given(problems(), penalties)
def test_a_weight_is_so_many_rows_and_none_is_absence(problem, penalty):
    X, y, rng = problem
    counts = rng.integers(0, 3, len(y))
    counts[: y.max() + 1] = 1
    weighted = fitted(X, y, counts.astype(float), penalty)
    repeated = fitted(np.repeat(X, counts, axis=0), np.repeat(y, counts), None, penalty)
    some = X[counts > 0]  # elsewhere an L1 penalty need not determine anything
    np.testing.assert_allclose(
        weighted.predict_proba(some), repeated.predict_proba(some), atol=1e-6
    )


@given(problems(), penalties)
def test_order_of_rows_columns_and_labels_is_no_matter(problem, penalty):
    X, y, rng = problem
    rows, columns = rng.permutation(len(y)), rng.permutation(X.shape[1])
    renamed = np.array(["c", "a", "b"])
    one = fitted(X, y, None, penalty)
    other = fitted(X[rows][:, columns], renamed[y][rows], None, penalty)
    places = [other.classes_.tolist().index(renamed[k]) for k in one.classes_]
    np.testing.assert_allclose(
        other.predict_proba(X[:, columns])[:, places], one.predict_proba(X), atol=1e-6
    )


@given(problems())
def test_units_are_no_matter_without_a_penalty(problem):
    X, y, rng = problem
    units = 10.0 ** rng.integers(-3, 4, X.shape[1])
    one, other = fitted(X, y, None, None), fitted(X * units, y, None, None)
    assert (one.separation_ is None) == (other.separation_ is None)
    if one.separation_ is None:
        np.testing.assert_allclose(other.predict_proba(X * units), one.predict_proba(X), atol=1e-7)


@given(problems())
def test_separation_is_claimed_if_and_only_if_there_is_any(problem):
    X, y, _ = problem
    found = fitted(X, y, None, None).separation_
    assert (None if found is None else found.kind) == oracle.separation(X, y)


@given(problems())
def test_the_gradient_vanishes_where_there_is_a_maximum(problem):
    X, y, _ = problem
    model = fitted(X, y, None, None)
    if model.separation_ is None:
        slope = oracle.gradient(X, y, model.coef_, model.intercept_)
        assert np.abs(slope).max() < 1e-7


@given(problems(), penalties, st.integers(1, 6))
def test_batches_are_one_fit(problem, penalty, n_parts):
    X, y, _ = problem
    parts = np.array_split(np.arange(len(y)), n_parts)
    model = LogisticClassifier(penalty, strength=0.5)
    model.fit_batches([(X[part], y[part]) for part in parts])
    whole = fitted(X, y, None, penalty)
    np.testing.assert_allclose(model.predict_proba(X), whole.predict_proba(X), atol=1e-6)


@given(problems(), penalties)
def test_a_stronger_penalty_never_raises_the_likelihood(problem, penalty):
    X, y, _ = problem
    path = LogisticClassifier(penalty).path(X, y, [0.1, 1.0, 10.0])
    assert path.converged.all()
    assert (np.diff(path.log_likelihoods) >= -1e-6).all()


@given(problems())
def test_mean_probabilities_are_the_frequencies(problem):
    X, y, _ = problem
    model = fitted(X, y, None, "l1", 0.3)
    np.testing.assert_allclose(
        model.predict_proba(X).mean(axis=0), np.bincount(y) / len(y), atol=1e-7
    )
