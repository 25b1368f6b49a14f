"""What maxima say of themselves is true, on random models, and bounds hold where logs are wide."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from tests.oracles.inference import CONTEXT
from tests.properties.graph_strategies import bayesian_networks, factor_graphs, markov_networks
from tests.properties.random_graphs import cases, draw_case

import credo
from credo.exceptions import ImpossibleEvidence, InputError

pytestmark = [
    pytest.mark.filterwarnings("ignore::credo.exceptions.ExpansionWarning"),
    pytest.mark.filterwarnings("ignore::credo.exceptions.ApproximationWarning"),
]


models = st.one_of(
    factor_graphs(),
    factor_graphs(kinds=("wide", "logs"), rules=False),
    markov_networks(),
    bayesian_networks(),
)


@given(models)
def test_bounds_hold_also_where_logs_are_wide_and_are_reached_on_trees(case):
    scores = {place: float(CONTEXT.ln(product)) for place, product in case.configurations}
    best = max(scores.values(), default=-np.inf)
    close = case.tolerance * max(1.0, case.span)
    try:
        found = credo.mpe(case.model, method="tree_reweighted", sweeps=50)
    except InputError:
        assert best == -np.inf
        return
    assert found.log_score <= best + close
    assert found.bound >= best - close
    if case.is_forest and best > -np.inf:
        assert abs(found.bound - best) <= 1e-9 * max(1.0, abs(best)) + close


CLOSE = 1e-9


def assert_refused(case, question, *arguments, **options):
    """Whoever asks is told that nothing is possible, and which findings cannot be true."""
    if not case.joint.is_possible:
        with pytest.raises(InputError, match="allows no configuration"):
            question(*arguments, **options)
        return
    with pytest.raises(ImpossibleEvidence) as caught:
        question(*arguments, **options)
    named = caught.value.conflict
    evidence = {name: case.evidence[name] for name in named if name in case.evidence}
    likelihood = {name: case.likelihood[name] for name in named if name in case.likelihood}
    assert not case.joint.given(evidence, likelihood).is_possible


def all_of(names, marginal):
    """The marginals of all variables, one after the other."""
    return np.concatenate([np.empty(0), *map(marginal, names)])


def assert_close(got, expected):
    """To nine digits; minus infinity is itself."""
    np.testing.assert_allclose(got, expected, rtol=0, atol=CLOSE)


def assert_maxima(case):
    """The best, the next best, the best with each state, the best of some variables."""
    given_ = {"evidence": case.evidence, "likelihood": case.likelihood}
    rng = np.random.default_rng(case.seed)
    names = [case.joint.names[i] for i in rng.permutation(len(case.joint.names))]
    some = names[: int(rng.integers(0, len(names) + 1))]
    if not case.left.is_possible:
        assert_refused(case, credo.mpe, case.model, **given_)
        assert_refused(case, credo.k_best, case.model, 2, **given_)
        assert_refused(case, credo.max_marginals, case.model, **given_)
        assert_refused(case, credo.marginal_map, case.model, some, **given_)
        return
    scores = case.left.scores()
    assert_best(case, credo.mpe(case.model, **given_), scores[0])
    listed = credo.k_best(case.model, 5, **given_)
    assert_close([each.log_score for each in listed], scores[:5])
    assert len({tuple(each.states.items()) for each in listed}) == len(listed)
    for each in listed:
        assert each.log_score == pytest.approx(case.left.score(each.states), abs=CLOSE)
    largest = credo.max_marginals(case.model, **given_)
    assert_best(case, largest.best, scores[0])
    assert_close(all_of(names, largest.log_values), all_of(names, case.left.largest))
    found = credo.marginal_map(case.model, some, **given_)
    assert list(found.states) == some
    assert_best(case, found, case.left.tops(some)[0])


def assert_best(case, found, best):
    """A configuration that is proven to be the best is, and has the score that it says."""
    assert found.is_exact
    assert found.log_score == pytest.approx(best, abs=CLOSE)
    assert found.log_score == pytest.approx(case.left.score(found.states), abs=CLOSE)


@given(cases())
def test_maxima_that_say_so_are_exact(case):
    assert_maxima(case)


@pytest.mark.slow
def test_ten_thousand_graphs():
    for seed in range(10_000):
        case = draw_case(seed)
        try:
            assert_maxima(case)
        except BaseException as error:
            error.add_note(repr(case))
            raise
