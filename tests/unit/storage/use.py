"""Everything that can be asked of a model, so that what a file must not hold is noticed."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import partial

import numpy as np
from tests.unit.storage.stored_models import codes, questions

import credo
from credo.exceptions import CredoError
from credo.graphs import GridField
from credo.storage import pack, unpack


def use(model):
    """Ask a model all that it can be asked; only errors that are sentences may come of it.

    Gives how many questions were answered. Probabilities are numbers that sum to one.
    """
    asked = [lambda: repr(model), lambda: stored_again(model)]
    if isinstance(model, GridField):
        asked += [lambda: grid(model)]
    elif hasattr(model, "compile"):
        asked += [lambda: network(model), lambda: model.copy().factors[:3]]
    elif isinstance(model, credo.Loss):
        asked += [lambda: loss(model)]
    elif hasattr(model, "get_params"):
        asked += estimator(model)
    else:
        asked += [lambda: model.merge(model)]
        if isinstance(model, credo.ClassSummary):
            asked += [lambda: credo.GaussianClassifier("tied").fit_summary(model)]
    done = 0
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for question in asked:
            with suppress(CredoError):
                question()
                done += 1
    return done


def stored_again(model):
    """Save a model that was loaded: the same comes back."""
    content = pack(model)
    assert pack(unpack(content)) == content


def estimator(model):
    """List what can be asked of an estimator."""
    width = getattr(model, "n_features_in_", None) or 0
    if width > 10_000:
        return []
    X = questions(model)
    if not isinstance(X, list) and X.shape[1] != width:
        X = np.zeros((3, width))
    if hasattr(X, "columns") and hasattr(model, "feature_names_in_"):
        X = X.set_axis(model.feature_names_in_, axis=1)
    n = len(X) if isinstance(X, list) else X.shape[0]
    found = [lambda: model.merge(model)] if hasattr(model, "merge") else []
    return found + (classifier if hasattr(model, "classes_") else regressor)(model, X, n)


def regressor(model, X, n):
    """List what can be asked of a regressor."""
    y, width = np.arange(n, dtype=float), model.n_features_in_
    return [
        lambda: numbers(*model.predict(X, return_std=True)),
        lambda: numbers(model.predict(np.zeros((1, width)))),
        lambda: unpack(pack(model)).partial_fit(np.eye(n, width), y),
        lambda: numbers(model.log_density(X, y)),
    ]


def classifier(model, X, n):
    """List what can be asked of a classifier."""
    y = model.classes_[codes()[:n] % len(model.classes_)]
    taking = "log_density", "mahalanobis", "decision_function", "conditional", "decide", "predict"
    asking = "sample", "coefficient_table", "top_words"
    found = [getattr(model, name) for name in asking if hasattr(model, name)]
    found += [partial(getattr(model, name), X) for name in taking if hasattr(model, name)]
    found += [lambda: probabilities(model.predict_proba(X))]
    if hasattr(model, "partial_fit") and model.classes_.dtype.kind != "f":
        found += [lambda: unpack(pack(model)).partial_fit(X, y)]
    if hasattr(model, "with_priors"):
        found += [lambda: probabilities(model.with_priors("uniform").predict_proba(X))]
    if isinstance(model, credo.GaussianClassifier) and len(model.classes_) > 1:
        found += [lambda: model.boundary(*model.classes_[:2])]
    return found


def numbers(*arrays):
    """Check that answers are numbers."""
    for array in arrays:
        assert not np.isnan(array).any()


def probabilities(table):
    """Check that rows are probabilities."""
    assert (table >= 0).all()
    np.testing.assert_allclose(table.sum(axis=1), 1.0, atol=1e-6)


def network(model):
    """Ask for all marginals and the most probable joint state."""
    found = credo.infer(model)
    for name in list(model.names)[:50]:
        total = float(found[name].probabilities.sum())
        assert abs(total - 1) < 1e-6
    credo.mpe(model)


def grid(model):
    """Ask a field for beliefs and for an energy."""
    labels = np.resize(np.array(model.labels, dtype=object), model.shape)
    assert not np.isnan(model.energy(labels))
    beliefs = credo.infer(model, max_iter=3)
    assert not np.isnan(np.asarray(beliefs[tuple(0 for _ in model.shape)].probabilities)).any()


def loss(model):
    """Decide by a loss."""
    n = len(model.truths)
    credo.decide(np.full((model.matrix.shape[0] if model.matrix.ndim == 3 else 2, n), 1 / n), model)
