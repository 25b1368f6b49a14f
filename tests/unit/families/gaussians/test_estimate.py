import numpy as np
import pytest
from tests.oracles import gaussians as oracle

from credo.exceptions import InputError
from credo.families.covariances import Names, SingularCovarianceError
from credo.families.covariances import Recipe, check_moments, estimate
from credo.families.moments import ClassMoments

X, Y = oracle.rows_of(10)
WEIGHTS = np.random.default_rng(11).uniform(0.2, 3.0, len(Y))
NAMES = Names("Owner", ("x", "y", "z"), ("a", "b", "c"))


def moments_of(rows=X, weights=WEIGHTS, detail="full"):
    return oracle.as_class_moments(oracle.class_moments(rows, Y, weights), detail)


def second_pass(rows, weights):
    """Give the fourth moments by a loop, as Ledoit-Wolf needs them."""

    def fourth(means, scales):
        result = np.zeros(3)
        for x, k, w in zip(rows, Y, weights, strict=True):
            result[k] += w * float((((x - means[k]) * scales[k]) ** 2).sum()) ** 2
        return result

    return fourth


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_the_model_is_that_of_the_formulas(shape):
    found = estimate(moments_of(), Recipe(shape), NAMES)
    expected = oracle.fit(X, Y, shape, WEIGHTS)
    rtol = 1e-5 if shape == "proportional" else 1e-11  # the twin is found by a search
    np.testing.assert_allclose(found.model.means, expected.means, rtol=1e-12)
    for k in range(3):
        np.testing.assert_allclose(
            found.model.covariance_of(k), expected.covariances[k], rtol=rtol, atol=rtol
        )
        own = np.linalg.slogdet(found.model.covariance_of(k))[1]
        assert found.model.log_determinants[k] == pytest.approx(own, rel=1e-11)
    assert found.model.shape == shape
    assert found.model.active.all()
    assert not found.amounts.any()
    assert found.repair is None


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_a_given_amount_shrinks_correlations_only(shape):
    plain = estimate(moments_of(), Recipe(shape), NAMES).model
    found = estimate(moments_of(), Recipe(shape, 0.3), NAMES)
    assert found.amounts.shape == ((3,) if shape == "full" else ())
    assert (found.amounts == 0.3).all()
    for k in range(3):
        np.testing.assert_allclose(
            found.model.covariance_of(k), oracle.shrunk(plain.covariance_of(k), 0.3), rtol=1e-12
        )


def standardised(rows, centres, scales):
    return (rows - centres) / scales


def test_auto_is_ledoit_wolf_of_each_class_if_each_has_a_covariance():
    ones = np.ones(len(Y))
    found = estimate(moments_of(weights=ones), Recipe("full", "auto"), NAMES, second_pass(X, ones))
    for k in range(3):
        rows = X[k == Y]
        Z = standardised(rows, rows.mean(axis=0), rows.std(axis=0))
        assert found.amounts[k] == pytest.approx(oracle.ledoit_wolf(Z), rel=1e-10)


def test_auto_is_ledoit_wolf_of_all_rows_about_their_means_if_it_is_shared():
    ones = np.ones(len(Y))
    found = estimate(moments_of(weights=ones), Recipe("tied", "auto"), NAMES, second_pass(X, ones))
    gaps = X - np.array([X[k == Y].mean(axis=0) for k in range(3)])[Y]
    expected = oracle.ledoit_wolf(gaps / np.sqrt((gaps**2).mean(axis=0)))
    assert float(found.amounts) == pytest.approx(expected, rel=1e-10)


def test_auto_divides_by_the_factor_of_each_class_if_proportional():
    ones = np.ones(len(Y))
    found = estimate(
        moments_of(weights=ones), Recipe("proportional", "auto"), NAMES, second_pass(X, ones)
    )
    shared, alphas = oracle.proportional(
        np.array([m.scatter for m in oracle.class_moments(X, Y).values()]), np.bincount(Y) * 1.0
    )
    gaps = X - np.array([X[k == Y].mean(axis=0) for k in range(3)])[Y]
    Z = gaps / np.sqrt(np.diag(shared)) / np.sqrt(alphas)[Y][:, None]
    S, n = Z.T @ Z / len(Z), len(Z)
    b2 = sum(np.linalg.norm(np.outer(z, z) - S) ** 2 for z in Z) / n**2
    d2 = np.linalg.norm(S - np.eye(3)) ** 2
    assert float(found.amounts) == pytest.approx(min(b2, d2) / d2, rel=1e-4)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_oas_needs_moments_only(shape):
    found = estimate(moments_of(), Recipe(shape, "oas"), NAMES)
    plain = estimate(moments_of(), Recipe(shape), NAMES).model
    total = WEIGHTS.sum()
    for k, weight in enumerate(np.bincount(Y, WEIGHTS)):
        covariance = plain.covariance_of(k)
        scale = np.sqrt(np.diag(covariance))
        amount = oracle.oas(
            covariance / np.outer(scale, scale), weight if shape == "full" else total
        )
        own = found.amounts[k] if shape == "full" else float(found.amounts)
        assert own == pytest.approx(amount, rel=1e-10)


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_auto_without_rows_is_refused_with_a_way_out(shape):
    with pytest.raises(InputError, match="needs fourth moments.*shrinkage='oas'"):
        estimate(moments_of(), Recipe(shape, "auto"), NAMES)


@pytest.mark.parametrize("shape", oracle.SHAPES)
def test_a_feature_that_is_constant_everywhere_has_no_part(shape):
    wide = np.column_stack([X[:, :1], np.full(len(Y), 0.1), X[:, 1:]])
    found = oracle.class_moments(wide, Y)
    names = Names("Owner", ("x", "y", "z"), ("a", "flat", "b", "c"))
    model = estimate(oracle.as_class_moments(found, "full"), Recipe(shape), names).model
    if "spherical" in shape:
        assert model.active.all()
        return
    assert model.active.tolist() == [True, False, True, True]
    narrow = estimate(moments_of(weights=None), Recipe(shape), NAMES).model
    np.testing.assert_allclose(model.log_determinants, narrow.log_determinants, rtol=1e-10)
    rows = wide.copy()
    rows[:, 1] = 77.0
    np.testing.assert_allclose(model.log_densities(rows), narrow.log_densities(X), rtol=1e-9)


def test_moments_of_too_little_detail_are_refused():
    with pytest.raises(InputError, match="'full' cannot be estimated from a summary of detail"):
        estimate(moments_of(detail="tied"), Recipe("full"), NAMES)
    with pytest.raises(InputError, match="Summarise with covariance='full'"):
        estimate(moments_of(detail="diagonal"), Recipe("tied"), NAMES)


def test_a_class_that_never_saw_a_column_is_named_with_it():
    some = moments_of(detail="diagonal")
    seen = np.ones((3, 3))
    seen[2, 1] = 0.0
    blind = ClassMoments(some.counts, some.weights, some.means, some.scatter, "diagonal", seen)
    with pytest.raises(InputError, match="class 'z' has no observed value in column 'b'"):
        check_moments(blind, NAMES)


# --- singular covariances --------------------------------------------------------------------


def flat_rows():
    rows = X.copy()
    rows[Y == 1, 2] = 0.7
    return rows


@pytest.mark.parametrize("shape", ["full", "diagonal"])
def test_a_flat_feature_is_refused_or_repaired(shape):
    moments = moments_of(flat_rows())
    with pytest.raises(SingularCovarianceError, match="'y'.*constant in its 19 rows: 'c'"):
        estimate(moments, Recipe(shape), NAMES)
    found = estimate(moments, Recipe(shape, repair=True), NAMES)
    assert "constant in its 19 rows: 'c'" in found.repair
    pooled = moments.pooled_diagonal()[2] / moments.weights.sum()
    share = 1 / (moments.weights[1] + 1)
    if shape == "full":  # or the amount by which the other correlations would shrink, if more
        others = moments.scatter[1][:2, :2]
        scale = np.sqrt(np.diag(others))
        share = max(share, oracle.oas(others / np.outer(scale, scale), moments.weights[1]))
    assert found.model.covariance_of(1)[2, 2] == pytest.approx(share * pooled, rel=1e-10)


def twin_rows():
    rows = X.copy()
    rows[Y == 0, 2] = 3 * rows[Y == 0, 0] - 1
    return rows


def test_redundant_columns_of_one_class_are_refused_or_shrunk():
    moments = moments_of(twin_rows(), weights=None)
    with pytest.raises(SingularCovarianceError, match="'x' is singular: column '[ac]'"):
        estimate(moments, Recipe("full"), NAMES)
    found = estimate(moments, Recipe("full", repair=True), NAMES)
    plain = np.cov(twin_rows()[Y == 0].T, bias=True)
    scale = np.sqrt(np.diag(plain))
    amount = oracle.oas(plain / np.outer(scale, scale), 14)
    np.testing.assert_allclose(found.amounts, [amount, 0, 0], rtol=1e-10)
    np.testing.assert_allclose(
        found.model.covariance_of(0), oracle.shrunk(plain, amount), rtol=1e-9
    )
    assert f"Repaired with shrinkage {amount:.3g}" in found.repair


@pytest.mark.parametrize("shape", ["tied", "proportional"])
def test_redundant_columns_of_all_classes_are_refused_or_shrunk(shape):
    rows = X.copy()
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    moments = moments_of(rows)
    with pytest.raises(SingularCovarianceError, match="the shared covariance is singular"):
        estimate(moments, Recipe(shape), NAMES)
    found = estimate(moments, Recipe(shape, repair=True), NAMES)
    assert "the shared covariance is singular" in found.repair
    assert np.isfinite(found.model.log_densities(rows)).all()


@pytest.mark.parametrize("shape", oracle.CORRELATED)
def test_an_amount_of_shrinkage_is_repair_enough(shape):
    rows = X.copy()
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    found = estimate(moments_of(rows), Recipe(shape, 0.1), NAMES)
    assert found.repair is None or shape == "proportional"
    assert np.isfinite(found.model.log_densities(rows)).all()


def test_faults_of_several_classes_are_counted():
    rows = X.copy()
    rows[:, 2] = rows[:, 0] + rows[:, 1]
    found = estimate(moments_of(rows), Recipe("full", repair=True), NAMES)
    assert "'x' is singular" in found.repair
    assert found.repair.endswith("(And 2 more.)")
