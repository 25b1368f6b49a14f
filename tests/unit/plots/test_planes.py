"""Figures of classifiers over one feature and two."""

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib import colors, pyplot as plt
from matplotlib.contour import QuadContourSet
from matplotlib.patches import Ellipse
from scipy import special, stats
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import credo
from credo import Loss
from credo.exceptions import InputError, LabelError, ShapeError
from credo.plots.figures import COLOURS

RNG = np.random.default_rng(3)
N = 200
X = np.concatenate(
    [
        RNG.multivariate_normal([0, 0], [[1, 0.5], [0.5, 2]], N),
        RNG.multivariate_normal([4, 1], [[1, -0.3], [-0.3, 0.5]], N),
    ]
)
Y = np.repeat(["a", "b"], N)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def boundary(ax):
    """Return the points of the lines between acts."""
    lines = [shape for shape in ax.collections if isinstance(shape, QuadContourSet)]
    paths = [path for shape in lines if not any(shape.hatches) for path in shape.get_paths()]
    return np.concatenate([path.vertices for path in paths])


@pytest.mark.parametrize("shape", ["full", "tied", "diagonal", "tied_diagonal", "spherical"])
def test_ellipses_are_one_and_two_standard_deviations_of_each_class(shape):
    model = credo.GaussianClassifier(shape).fit(X, Y)
    ax = model.plot(X, Y)
    ellipses = [patch for patch in ax.patches if isinstance(patch, Ellipse)]
    assert len(ellipses) == 4
    for patch, (label, times) in zip(
        ellipses, [("a", 1), ("a", 2), ("b", 1), ("b", 2)], strict=True
    ):
        points = ax.transData.inverted().transform(patch.get_verts())
        density = model.densities_[label]
        gaps = points - density.mean
        squares = np.einsum("ni,ij,nj->n", gaps, np.linalg.inv(density.covariance), gaps)
        np.testing.assert_allclose(np.sqrt(squares), times, rtol=1e-2)  # of a polygon


@pytest.mark.parametrize(
    "shape",
    ["full", "tied", "diagonal", "tied_diagonal", "spherical", "tied_spherical", "proportional"],
)
def test_the_densities_of_classes_give_the_log_joint(shape):
    model = credo.GaussianClassifier(shape).fit(X, Y)
    logs = [
        stats.multivariate_normal(each.mean, each.covariance).logpdf(X) + np.log(0.5)
        for each in model.densities_.values()
    ]
    np.testing.assert_allclose(np.stack(logs, axis=1), model.log_joint(X), rtol=1e-9)
    assert list(model.densities_) == ["a", "b"]


def test_a_constant_feature_has_no_density():
    wide = np.column_stack([X, np.ones(len(X))])
    model = credo.GaussianClassifier("tied").fit(wide, Y)
    with pytest.raises(InputError, match="feature 2 is constant"):
        _ = model.densities_


def test_boundaries_are_where_two_acts_cost_the_same():
    model = credo.GaussianClassifier("full").fit(X, Y)
    loss = Loss([[0, 5], [1, 0]], ["a", "b"], ["treat", "wait"])
    line = boundary(model.plot(X, Y, loss=loss))
    p = model.predict_proba(line)
    np.testing.assert_allclose(p[:, 0], 1 / 6, atol=2e-2)


def test_acts_are_shaded_in_the_colour_of_their_class_and_the_mean_loss_is_told():
    model = credo.GaussianClassifier("tied").fit(X, Y)
    ax = model.plot(X, Y, loss=Loss.zero_one(["a", "b"]).with_reject(0.05))
    shades = np.asarray(ax.images[0].get_array())
    acts = {colors.to_hex(shade[:3]).upper() for shade in shades.reshape(-1, 4)}
    assert acts == {*COLOURS[:2], "#8C8C8C"}
    assert any(any(getattr(shape, "hatches", ())) for shape in ax.collections)
    chosen = credo.decide(model.posterior(X), Loss.zero_one(["a", "b"]).with_reject(0.05)).acts
    mean = np.where(chosen == "reject", 0.05, chosen != Y).mean()
    assert (
        ax.get_title()
        == f"GaussianClassifier(covariance='tied')\nn = 400, mean loss {mean:.3g}; hatched: reject"
    )


def test_one_feature_shows_the_posteriors_and_where_the_act_changes():
    frame = pd.DataFrame(X, columns=["height", "weight"])
    model = credo.GaussianClassifier("full").fit(frame, Y)
    ax = model.plot(frame, Y, features="height")
    assert ax.get_xlabel() == "height"
    x, p = ax.lines[1].get_data()
    own = [
        stats.norm(d.mean[0], d.covariance[0, 0] ** 0.5).pdf(x) for d in model.densities_.values()
    ]
    np.testing.assert_allclose(p, own[1] / (own[0] + own[1]), rtol=1e-9, atol=1e-12)
    edges = {round(patch.get_x(), 9) for patch in ax.patches} - {round(float(x[0]), 9)}
    crossing = x[np.flatnonzero(np.diff(p > 0.5))]
    np.testing.assert_allclose(sorted(edges), crossing, atol=1.5 * (x[1] - x[0]))


def test_other_classifiers_name_their_classes_at_the_middle_of_their_rows():
    for model in (credo.NaiveBayes("gaussian"), credo.LogisticClassifier(penalty="l2")):
        ax = model.fit(X, Y).plot(X, Y)
        assert [text.get_text() for text in ax.texts] == ["a", "b"]
        np.testing.assert_allclose(ax.texts[1].xy, np.median(X[N:], axis=0))


def test_rows_without_labels_and_many_rows():
    model = credo.GaussianClassifier("tied").fit(X, Y)
    many = np.tile(X, (11, 1))
    ax = model.plot(many)
    assert "n = 4,400" in ax.get_title()
    assert "loss" not in ax.get_title()
    points = next(shape for shape in ax.collections if len(shape.get_offsets()) > 100)
    assert len(points.get_offsets()) == 880


def test_linear_models_of_one_feature_say_their_sigmoid():
    x = X[:, :1]
    for model in (credo.GaussianClassifier("tied"), credo.LogisticClassifier(penalty="l2")):
        ax = model.fit(x, Y).plot(x, Y)
        told = ax.get_title().split("\n")[2]
        slope, sign, start = re.fullmatch(
            r"p\(b \| x\) = sigmoid\((\S+) x (.) (\S+)\)", told
        ).groups()
        at = np.linspace(-2, 6, 50)
        line = float(slope) * at + (float(start) if sign == "+" else -float(start))
        np.testing.assert_allclose(
            model.predict_proba(at[:, None])[:, 1], special.expit(line), atol=0.01
        )
    curved = credo.NaiveBayes("gaussian").fit(x, Y).plot(x, Y)
    assert "sigmoid" not in curved.get_title()


def test_rare_classes_are_on_top_and_keep_some_of_their_rows():
    many = np.repeat(X[:N], 30, axis=0)
    rows = np.concatenate([X[N : N + 30], many])
    labels = np.r_[np.repeat("b", 30), np.repeat("a", len(many))]
    ax = credo.GaussianClassifier("tied").fit(rows, labels).plot(rows, labels)
    points = next(shape for shape in ax.collections if len(shape.get_offsets()) > 100)
    np.testing.assert_array_equal(points.get_offsets()[-30:], X[N : N + 30])
    assert len(points.get_offsets()) <= 1030


def test_acts_that_are_no_classes_are_named_in_their_areas():
    loss = Loss([[0, 5], [1, 0]], ["a", "b"], ["treat", "wait"])
    model = credo.GaussianClassifier("tied").fit(X, Y)
    ax = model.plot(X, Y, loss=loss)
    places = {text.get_text(): text.xy for text in ax.texts if text.get_text().startswith("act")}
    for name, place in places.items():
        assert credo.decide(model.posterior([place]), loss).acts == [name.removeprefix("act: ")]
    assert len(places) == 2


def test_classifiers_of_scikit_learn_and_decisions_are_drawn_too():
    near = KNeighborsClassifier(5).fit(X, Y)
    costs = Loss([[0, 5], [1, 0]], ["a", "b"], ["treat", "wait"])
    policy = credo.DecisionClassifier(near, costs).fit(X, Y)
    first, second = credo.plots.compare([near, policy], X, Y)
    wrong = (near.predict(X) != Y).mean()
    assert first.get_title() == f"KNeighborsClassifier()\nn = 400, mean loss {wrong:.3g}"
    assert "act: treat" in [text.get_text() for text in second.texts]
    frame = pd.DataFrame(X, columns=["height", "weight"])
    named = KNeighborsClassifier().fit(frame, Y)
    assert credo.plots.compare([named], frame, Y)[0].get_xlabel() == "height"
    for odd in (LinearSVC(), KNeighborsClassifier()):
        with pytest.raises(InputError, match="needs a fitted classifier with predict_proba"):
            credo.plots.compare([odd], X, Y)


def test_compare_draws_side_by_side():
    models = [credo.GaussianClassifier(shape).fit(X, Y) for shape in ("lda", "qda")]
    axes = credo.plots.compare(models, X, Y)
    assert [ax.get_title().split("\n")[0] for ax in axes] == [
        "GaussianClassifier(covariance='lda')",
        "GaussianClassifier(covariance='qda')",
    ]
    assert axes[0].get_xlim() == axes[1].get_xlim()
    for odd in ([], models[0], {"lda": models[0]}):
        with pytest.raises(InputError, match="compare needs a list of fitted classifiers. Got"):
            credo.plots.compare(odd, X, Y)


def test_what_cannot_be_drawn_is_said():
    wide = np.column_stack([X, X[:, 0]])
    model = credo.GaussianClassifier("diagonal").fit(wide, Y)
    with pytest.raises(InputError, match="one feature or two. Got 3; pass features"):
        model.plot(wide, Y)
    with pytest.raises(InputError, match="knows no feature 'age'"):
        model.plot(wide, Y, features=("age", 1))
    with pytest.raises(InputError, match="needs all of its 3 features"):
        credo.LogisticClassifier(penalty="l2").fit(wide, Y).plot(wide, Y, features=(0, 1))
    with pytest.raises(LabelError):
        model.plot(wide, Y, features=(0, 1), loss=Loss.zero_one(["x", "y"]))
    mixed = pd.DataFrame({"x": X[:, 0], "colour": np.where(Y == "a", "red", "blue")})
    with pytest.raises(InputError, match="'colour' has others"):
        credo.NaiveBayes().fit(mixed, Y).plot(mixed, Y)


def test_wrong_labels_are_said_and_a_constant_feature_is_no_obstacle():
    model = credo.GaussianClassifier("tied").fit(X, Y)
    with pytest.raises(ShapeError, match="a label for each of 400 rows"):
        model.plot(X, Y[:10])
    with pytest.raises(LabelError, match="'c'"):
        model.plot(X, np.where(Y == "a", "c", "b"))
    flat = np.column_stack([X[:, 0], np.ones(len(X))])
    ax = credo.GaussianClassifier("tied").fit(flat, Y).plot(flat, Y)
    assert not [patch for patch in ax.patches if isinstance(patch, Ellipse)]


def test_a_model_that_is_long_to_write_is_called_by_its_type():
    known = credo.GaussianClassifier.from_parameters(
        {"a": [0, 0], "b": [1, 1]}, np.eye(2), {"a": 0.6, "b": 0.4}
    )
    ax = known.plot(*known.sample(50, random_state=0))
    assert ax.get_title().startswith("GaussianClassifier\nn = 50, mean loss ")
