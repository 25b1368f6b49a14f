"""A slow twin of ``NaiveBayes``: one cell at a time, with SciPy's distributions."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import optimize, special, stats

#: Kinds of columns whose cells are one event.


def is_missing(cell):
    return cell is None or (isinstance(cell, float) and math.isnan(cell))


@dataclass
class Options:
    """The options of the estimator, by the same names."""

    smoothing: Any = 1.0
    smoothing_target: Any = "uniform"
    unknown: str = "ignore"
    variance_floor: float = 1e-9
    variance_smoothing: float = 0.0
    #: Categories that a column has, though a row that is left out may be the only one of its own.
    seen: Any = None
    #: Variance that is added to that of each class.
    added: float = 0.0


@dataclass
class Model:
    """Labels, priors, and a log density per key of families and label."""

    classes: list[Any]
    priors: list[float]
    densities: dict[Any, list[Callable[[Any], float]]]
    smoothing: dict[Any, Any]

    def feature(self, row, key, k):
        """Give log p(x_j | k); 0 if something of it is missing."""
        cells = [row[j] for j in key] if isinstance(key, tuple) else [row[key]]
        if any(is_missing(cell) for cell in cells):
            return 0.0
        event = cells if isinstance(key, tuple) else cells[0]
        return float(self.densities[key][k](event))

    def log_joint(self, rows):
        """Give log p(x, k), the prior counted once."""
        return np.array(
            [
                [
                    (math.log(prior) if prior else -math.inf)
                    + sum(self.feature(row, key, k) for key in self.densities)
                    for k, prior in enumerate(self.priors)
                ]
                for row in rows
            ]
        )

    def log_density(self, rows):
        return special.logsumexp(self.log_joint(rows), axis=1)

    def log_posterior(self, rows):
        joint = self.log_joint(rows)
        return joint - special.logsumexp(joint, axis=1, keepdims=True)


def fit(rows, labels, families, weights=None, **options):
    """Fit to rows of cells; keys of ``families`` are columns, or tuples of columns."""
    o = Options(**options)
    weights = [1.0] * len(labels) if weights is None else list(weights)
    labels = [label.item() if isinstance(label, np.generic) else label for label in labels]
    kept = [
        (list(row), label, w) for row, label, w in zip(rows, labels, weights, strict=True) if w > 0
    ]
    classes = sorted({label for _, label, _ in kept})
    total = sum(w for _, _, w in kept)
    priors = [sum(w for _, label, w in kept if label == k) / total for k in classes]
    densities, smoothing, groups_of = {}, {}, {}
    for key in families:
        observed = [(_event(row, key), label, w) for row, label, w in kept]
        observed = [each for each in observed if each[0] is not None]
        groups_of[key] = [[(x, w) for x, label, w in observed if label == k] for k in classes]
    numbers = [_all(groups_of[key]) for key, family in families.items() if family == "gaussian"]
    added = o.variance_smoothing * max((_moments(x)[1] for x in numbers if x), default=0.0)
    for key, family in families.items():
        groups, target = groups_of[key], o.smoothing_target
        seen = list(dict.fromkeys(x for x, _ in _all(groups))) if family == "categorical" else None
        own = replace(o, seen=seen, added=added)
        if not isinstance(target, str):
            own.smoothing_target = target.get(key, "uniform")
        if isinstance(o.smoothing, dict):
            own.smoothing = o.smoothing.get(key, 1.0)
        elif o.smoothing == "auto":
            own.smoothing = _best(family, groups, own) if family in _COUNTED else 1.0
        smoothing[key] = own.smoothing
        densities[key] = [_FITS[family](group, groups, own) for group in groups]
    return Model(classes, priors, densities, smoothing)


_COUNTED = ("bernoulli", "categorical", "multinomial")
CANDIDATES = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)


def _best(family, groups, o):
    """Leave each row out, one after the other, for each candidate: the best, and nearest to 1."""
    order = sorted(CANDIDATES, key=lambda alpha: abs(math.log(alpha)))
    return max(order, key=lambda alpha: round(_left_out(family, groups, o, alpha), 9))


def _left_out(family, groups, o, alpha):
    """Add up log p of each row given the others; of counts, of each single count."""
    total = 0.0
    for k, group in enumerate(groups):
        for i, (x, w) in enumerate(group):
            for event, rest, times in _units(family, x, w):
                less = [*group[:i], *rest, *group[i + 1 :]]
                others = [less if j == k else each for j, each in enumerate(groups)]
                log = _FITS[family](less, others, replace(o, smoothing=alpha))(event)
                total += times * log if math.isfinite(log) else 0.0
    return total


def _units(family, x, w):
    """Give what is left out, what is left of the row, and how often this happens."""
    if family != "multinomial":
        yield x, [(x, w - 1)], w
        return
    for c, n in enumerate(x):
        if n:
            single = [int(c == j) for j in range(len(x))]
            yield single, [([a - b for a, b in zip(x, single, strict=True)], w)], n


def _event(row, key):
    """Give the value of a row, or None if a part of it is missing."""
    if not isinstance(key, tuple):
        return None if is_missing(row[key]) else row[key]
    cells = [row[j] for j in key]
    return None if any(is_missing(cell) for cell in cells) else cells


def _all(groups):
    """Give the values of all classes."""
    return [pair for group in groups for pair in group]


def _share(mine, target, n, alpha, size):
    """(n_c + α C t_c) / (n + α C)."""
    total = n + alpha * size
    return (mine + alpha * size * target) / total if total else 0.0


def _goal(o, value, size, frequency):
    """Give the probability of a value that is smoothed towards."""
    if o.smoothing_target == "uniform":
        return 1 / size
    if o.smoothing_target in ("marginal", "frequencies"):
        return frequency(o.smoothing if o.smoothing_target == "marginal" else 0.0)
    known = [o.smoothing_target[each] for each in (o.seen or o.smoothing_target)]
    if o.unknown == "smooth" and o.seen:
        return o.smoothing_target[value] if value in o.seen else 1 - sum(known)
    return o.smoothing_target[value] / sum(known)


def _log(p):
    return math.log(p) if p > 0 else -math.inf


def _bernoulli(group, groups, o):
    everything = _all(groups)

    def probability(pairs, target, alpha):
        ones = sum(w for x, w in pairs if x)
        return _share(ones, target, sum(w for _, w in pairs), alpha, 2)

    target = _goal(o, 1, 2, lambda alpha: probability(everything, 0.5, alpha))
    p = probability(group, target, o.smoothing)
    return lambda x: _log(p) if x else _log(1 - p)


def _categorical(group, groups, o):
    everything = _all(groups)
    size = len(o.seen) + (o.unknown == "smooth")

    def probability(pairs, category, target, alpha):
        n = sum(w for x, w in pairs if x == category)
        return _share(n, target, sum(w for _, w in pairs), alpha, size)

    def log_probability(x):
        if x not in o.seen and o.unknown == "ignore":
            return 0.0
        target = _goal(o, x, size, lambda alpha: probability(everything, x, 1 / size, alpha))
        return _log(probability(group, x, target, o.smoothing))

    return log_probability


def _multinomial(group, groups, o):
    everything = _all(groups)
    size = len(everything[0][0])

    def probability(pairs, c, target, alpha):
        counts = [sum(w * x[j] for x, w in pairs) for j in range(size)]
        return _share(counts[c], target, sum(counts), alpha, size)

    def target(c):
        return _goal(o, c, size, lambda alpha: probability(everything, c, 1 / size, alpha))

    p = [probability(group, c, target(c), o.smoothing) for c in range(size)]

    def log_density(x):
        result = math.lgamma(sum(x) + 1)
        for n, share in zip(x, p, strict=True):
            result += (n * _log(share) if n else 0.0) - math.lgamma(n + 1)
        return result

    return log_density


def _pulled_mean(group, everything, alpha, extra):
    """Give the mean with alpha more observations of the mean of all."""
    overall = (sum(w * x for x, w in everything) + extra) / (sum(w for _, w in everything) + extra)
    return (sum(w * x for x, w in group) + alpha * overall) / (sum(w for _, w in group) + alpha)


def _poisson(group, groups, o):
    everything = _all(groups)
    rate = _pulled_mean(group, everything, o.smoothing, o.smoothing)
    if rate == 0:
        return lambda x: 0.0 if x == 0 else -math.inf
    return lambda x: stats.poisson.logpmf(x, rate)


def _exponential(group, groups, o):
    everything = _all(groups)
    mean = _pulled_mean(group, everything, o.smoothing, 0.0)
    return lambda x: stats.expon.logpdf(x, scale=mean)


def _moments(pairs):
    total = sum(w for _, w in pairs)
    mean = sum(w * x for x, w in pairs) / total
    return mean, sum(w * (x - mean) ** 2 for x, w in pairs) / total


def _spare(groups, overall):
    """Give the variance within classes, or that over all rows if there is none."""
    seen = [(_moments(group)[1], sum(w for _, w in group)) for group in groups if group]
    return sum(v * n for v, n in seen) / sum(n for _, n in seen) or overall


def _gaussian(group, groups, o):
    mean, variance = _moments(_all(groups)) if _all(groups) else (0.0, 0.0)
    if variance == 0:
        return lambda _: 0.0
    if not group:
        variance += o.added
    else:
        mean, own = _moments(group)
        if not o.added:
            own = own or _spare(groups, variance) / (sum(w for _, w in group) + 1)
        variance = max(own + o.added, o.variance_floor * variance)
    return lambda x: stats.norm.logpdf(x, mean, math.sqrt(variance))


def _median_and_deviation(pairs):
    """For whole weights: repeat the values."""
    values = [x for x, w in pairs for _ in range(int(w))]
    median = np.median(values)
    return median, np.abs(np.array(values) - median).mean()


def _laplace(group, groups, o):
    everything = _all(groups)
    median, deviation = _median_and_deviation(group)
    least = math.sqrt(o.variance_floor) * _median_and_deviation(everything)[1]
    return lambda x: stats.laplace.logpdf(x, median, max(deviation, least))


def _gamma(group, _groups, _o):
    total = sum(w for _, w in group)
    mean = sum(w * x for x, w in group) / total
    gap = math.log(mean) - sum(w * math.log(x) for x, w in group) / total
    a = optimize.brentq(lambda a: math.log(a) - special.psi(a) - gap, 1e-6, 1e8, xtol=1e-13)
    return lambda x: stats.gamma.logpdf(x, a, scale=mean / a)


def dirichlet_parameters(vectors, weights):
    """Solve psi(a_i) - psi(sum a) = mean log x_i."""
    goal = np.average(np.log(vectors), axis=0, weights=weights)

    def equations(logs):
        a = np.exp(logs)
        return special.psi(a) - special.psi(a.sum()) - goal

    found = optimize.root(equations, np.zeros(len(goal)), tol=1e-13)
    assert np.abs(equations(found.x)).max() < 1e-9
    return np.exp(found.x)


def _dirichlet(group, _groups, _o):
    a = dirichlet_parameters([x for x, _ in group], [w for _, w in group])
    return lambda x: stats.dirichlet.logpdf(np.asarray(x) / sum(x), a)


def _beta(group, _groups, _o):
    a, b = dirichlet_parameters([(x, 1 - x) for x, _ in group], [w for _, w in group])
    return lambda x: stats.beta.logpdf(x, a, b)


def _multivariate_gaussian(group, _groups, _o):
    x, w = np.array([x for x, _ in group]), np.array([w for _, w in group])
    mean = np.average(x, axis=0, weights=w)
    covariance = (x - mean).T @ ((x - mean) * w[:, None]) / w.sum()
    return lambda x: stats.multivariate_normal.logpdf(x, mean, covariance)


_FITS = {
    "bernoulli": _bernoulli,
    "categorical": _categorical,
    "multinomial": _multinomial,
    "poisson": _poisson,
    "exponential": _exponential,
    "gaussian": _gaussian,
    "laplace": _laplace,
    "gamma": _gamma,
    "beta": _beta,
    "dirichlet": _dirichlet,
    "multivariate_gaussian": _multivariate_gaussian,
}


# --- rows ------------------------------------------------------------------------------------

COLOURS = ["red", "green", "blue", "ash"]
#: One column of each family of one number; then a group of counts and one of shares.
EVERY_FAMILY = {
    0: "gaussian",
    1: "laplace",
    2: "bernoulli",
    3: "categorical",
    4: "poisson",
    5: "exponential",
    6: "gamma",
    7: "beta",
    (8, 9, 10): "multinomial",
    (11, 12, 13): "dirichlet",
    (14, 15): "multivariate_gaussian",
}
N_COLUMNS = 16


def mixed_row(rng, k):
    """Draw a row of all families for class k."""
    shares = rng.dirichlet([2 + k, 3, 1 + k / 2])
    return [
        float(rng.normal(k, 1 + k / 3)),
        float(rng.laplace(-k, 1)),
        int(rng.random() < 0.2 + 0.25 * k),
        COLOURS[int(rng.integers(0, 3 + (k > 0)))],
        int(rng.poisson(1 + 2 * k)),
        float(rng.exponential(1 + k)),
        float(rng.gamma(2 + k, 1.5)),
        float(rng.beta(2 + k, 3)),
        *rng.multinomial(6, [0.5 - 0.1 * k, 0.3, 0.2 + 0.1 * k]).tolist(),
        *shares.tolist(),
        *rng.multivariate_normal([k, -k], [[1 + k, 0.5], [0.5, 1]]).tolist(),
    ]


def mixed_rows(n, seed=0, n_classes=3, holes=0.0):
    """Draw rows of all families, labels as text, and cells that are missing."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    rows = [mixed_row(rng, int(k)) for k in codes]
    for row in rows:
        for j in range(N_COLUMNS - 2):  # full covariances need complete rows
            if rng.random() < holes:
                row[j] = None
    return rows, np.array(["ant", "bee", "cat", "dog"])[codes]
