"""Diagnostics of Markov chains: whether they agree, and what their draws are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from credo import _checks as check
from credo._types import F64, Bool, Int
from credo.exceptions import ShapeError
from credo.inference.gibbs.kernels import Record

#: Fewer draws than this cannot be split into halves that have a variance.
LEAST_DRAWS = 4
#: Numbers that are worked on at a time: half a megabyte and a few copies, which stay in the cache.
_CHUNK = 2**16


def r_hat(draws: Any) -> F64:
    r"""Compare the spread between chains with the spread within them.

    .. math:: \hat R = \sqrt{\frac{\frac{n-1}{n} W + \frac{1}{n} B}{W}}

    of rank-normalised halves of chains of length n, where W is the mean of their variances and
    B / n the variance of their means. The larger of two is given: that of the draws, and that of
    how far they are from their median, which sees chains of different spread.

    Parameters
    ----------
    draws : array_like of shape (chains, draws) or (chains, draws, quantities)
        What the chains went through, at least four draws each.

    Returns
    -------
    ndarray of shape () or (quantities,)
        About one if the chains agree; above 1.01 they should run longer. One where nothing ever
        moved; infinity where no chain moved and they are at different places. Never NaN.

    Raises
    ------
    ShapeError
        If there are too few draws, or the array has another number of axes.
    InputError
        If a draw is not a finite number.

    See Also
    --------
    split_r_hat : The same of the draws as they are.
    effective_sample_size : How many independent draws they are worth.

    Notes
    -----
    For a quantity of two values, such as whether a variable is in a state, ranks are a straight
    line of the values: it equals ``split_r_hat``. Time is that of sorting. Agreement is necessary,
    not sufficient: chains that all miss the same part of the space agree.

    References
    ----------
    .. [1] A. Vehtari, A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner, "Rank-normalization,
       folding, and localization: an improved R-hat", *Bayesian Analysis* 16(2), 2021, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> good = np.random.default_rng(0).normal(size=(4, 500))
    >>> stuck = good + np.arange(4)[:, None]
    >>> print(f"{r_hat(good):.2f} {r_hat(stuck):.2f}")
    1.00 1.54
    """
    values = _as_draws(draws, "r_hat")
    middle = np.median(values, axis=(1, 2), keepdims=True)
    folded = np.abs(values - middle)
    worst = np.maximum(
        _ratio(*_variances(_halves(_normal_scores(values)))),
        _ratio(*_variances(_halves(_normal_scores(folded)))),
    )
    return np.asarray(worst.reshape(np.shape(draws)[2:]))


def split_r_hat(draws: Any) -> F64:
    """Compare halves of chains as ``r_hat`` does, without ranks.

    Parameters
    ----------
    draws : array_like of shape (chains, draws) or (chains, draws, quantities)
        What the chains went through, at least four draws each.

    Returns
    -------
    ndarray of shape () or (quantities,)
        As ``r_hat``, whose formula it applies to the draws as they are.

    Raises
    ------
    ShapeError
        If there are too few draws, or the array has another number of axes.
    InputError
        If a draw is not a finite number.

    See Also
    --------
    r_hat : The same of ranks, which also holds where variances are infinite.

    Notes
    -----
    Time is linear in the number of draws.

    References
    ----------
    .. [1] A. Gelman et al., *Bayesian Data Analysis*, 3rd ed., CRC Press, 2013, section 11.4.

    Examples
    --------
    >>> print(split_r_hat([[0, 0, 0, 0], [1, 1, 1, 1]]), split_r_hat([[7, 7, 7, 7]]))
    inf 1.0
    """
    worst = _ratio(*_variances(_halves(_as_draws(draws, "split_r_hat"))))
    return np.asarray(worst.reshape(np.shape(draws)[2:]))


def effective_sample_size(draws: Any) -> F64:
    r"""Tell how many independent draws the draws of chains are worth.

    .. math:: n_\text{eff} = \frac{m n}{\tau}, \qquad \tau = 1 + 2 \sum_{t \ge 1} \hat\rho_t

    for m chains of n draws, whose halves are rank-normalised: the bulk effective sample size. The
    autocorrelations ρ of all chains together are summed in pairs as long as these are positive,
    each taken at most as large as the one before it (Geyer's initial monotone sequence).

    Parameters
    ----------
    draws : array_like of shape (chains, draws) or (chains, draws, quantities)
        What the chains went through, at least four draws each.

    Returns
    -------
    ndarray of shape () or (quantities,)
        At least about one, at most m n log10(m n), which only draws reach that balance each other.
        Where nothing ever moved it is m n, by convention. Never NaN.

    Raises
    ------
    ShapeError
        If there are too few draws, or the array has another number of axes.
    InputError
        If a draw is not a finite number.

    See Also
    --------
    r_hat : Whether the chains agree. Where they do not, this is small, too.

    Notes
    -----
    Autocorrelations come from a fast Fourier transform: O(m n log n) per quantity.

    References
    ----------
    .. [1] A. Vehtari et al., "Rank-normalization, folding, and localization: an improved R-hat",
       *Bayesian Analysis* 16(2), 2021, sections 3.2 and 4.1.
    .. [2] C. J. Geyer, "Practical Markov chain Monte Carlo", *Statistical Science* 7(4), 1992,
       section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> walk = np.random.default_rng(0).normal(size=(4, 1000))
    >>> for t in range(1, 1000):
    ...     walk[:, t] += 0.5 * walk[:, t - 1]
    >>> bool(1000 < effective_sample_size(walk) < 1700)  # 4000 (1 - 0.5) / (1 + 0.5) = 1333
    True
    """
    values = _as_draws(draws, "effective_sample_size")
    found = _ess(_halves(_normal_scores(values)), values.shape[1] * values.shape[2])
    return np.asarray(found.reshape(np.shape(draws)[2:]))


def describe(records: list[Record], start: Int, draws: int) -> dict[str, Any]:
    """Tell of each state whether the chains agree, and what the draws are worth."""
    visits = np.concatenate([record.visits for record in records])
    agreement = _indicator_r_hat(visits, draws // 2)
    worth, never_moved = _indicator_worth([record.trace for record in records], start)
    worth[never_moved] = draws * len(records)
    return {
        "r_hat": agreement,
        "effective_sample_size": worth,
        "standard_error": _standard_error([record.sums for record in records], draws),
        "never_moved": never_moved,
        "worst_r_hat": float(agreement.max(initial=1.0)),
        "least_effective_sample_size": float(worth.min()),
        "draws": draws * len(records),
        "kept": len(records[0].trace),
    }


def _indicator_r_hat(visits: Int, n: int) -> F64:
    """Compute split R-hat of indicators from counts; ranks would change nothing."""
    means = visits / n
    within = (means * (1.0 - means)).mean(axis=0) * n / (n - 1)
    differ = (visits != visits[:1]).any(axis=0)
    between = np.where(differ, means.var(axis=0, ddof=1), 0.0)
    return _ratio(within, (n - 1) / n * within + between)


def _indicator_worth(traces: list[Any], start: Int) -> tuple[F64, Bool]:
    """Compute effective sample sizes of indicators, and which were the same in all draws."""
    sizes = np.diff(start)
    owner = np.repeat(np.arange(len(sizes)), sizes)
    state = np.arange(start[-1]) - start[owner]
    kept = len(traces[0])
    worth, moved = np.empty(len(state)), np.empty(len(state), np.bool_)
    twin = np.flatnonzero((sizes[owner] == 2) & (state == 0))  # one minus that of the other state
    wanted = np.delete(np.arange(len(state)), twin)
    step = max(1, _CHUNK // (kept * len(traces)))
    for i in range(0, len(wanted), step):
        some = wanted[i : i + step]
        states = np.stack([trace[:, owner[some]].T for trace in traces], axis=1)
        draws = (states == state[some, None, None]).astype(np.float64)
        worth[some] = _ess(_halves(draws), kept * len(traces))
        moved[some] = (draws != draws[:, :1, :1]).any(axis=(1, 2))
    worth[twin], moved[twin] = worth[twin + 1], moved[twin + 1]
    return worth, ~moved


def _standard_error(sums: list[F64], draws: int) -> F64:
    """Compute the standard errors of averaged conditional probabilities, from those of batches."""
    n_batches, n_states = sums[0].shape
    of_batch = np.bincount(np.arange(draws) * n_batches // draws)
    errors = np.empty(n_states)
    step = max(1, _CHUNK // (n_batches * len(sums)))
    for i in range(0, n_states, step):
        means = np.stack([one[:, i : i + step].T for one in sums], axis=1) / of_batch
        split = _halves(means)
        worth = _ess(split, n_batches * len(sums))
        errors[i : i + step] = np.sqrt(_variances(split)[1] / worth)
    return errors


def _halves(draws: F64) -> F64:
    """Cut each chain in two; the middle one of an odd number of draws is left out.

    Here and below draws are (quantities, chains, draws), so that a chain lies in one piece.
    """
    n = draws.shape[2] // 2
    return np.concatenate([draws[:, :, :n], draws[:, :, -n:]], axis=1)


def _ratio(within: F64, pooled: F64) -> F64:
    """Return the root of a quotient of variances: one for 0/0, infinity for the rest over zero."""
    safe = np.where(within > 0.0, within, 1.0)
    at_rest = np.where(pooled > 0.0, np.inf, 1.0)
    return np.asarray(np.sqrt(np.where(within > 0.0, pooled / safe, at_rest)))


def _ess(split: F64, count: int) -> F64:
    """Compute the effective sample size of chains that are cut already, for so many draws."""
    within, pooled = _variances(split)
    moved = pooled > 0.0
    safe = np.where(moved, pooled, 1.0)
    rho = 1.0 - (within[:, None] - _autocovariances(split)) / safe[:, None]
    tau = np.maximum(_autocorrelation_time(rho), 1.0 / np.log10(count))
    return np.asarray(np.where(moved, count / tau, float(count)))


def _variances(split: F64) -> tuple[F64, F64]:
    """Return the variance within chains, and that of all together; zero for what never moved."""
    n = split.shape[2]
    moves = (split != split[:, :, :1]).any(axis=2)
    within = np.where(moves, split.var(axis=2, ddof=1), 0.0).mean(axis=1)
    means = np.where(moves, split.mean(axis=2), split[:, :, 0])
    differ = (means != means[:, :1]).any(axis=1)
    between = np.where(differ, means.var(axis=1, ddof=1), 0.0)
    return within, (n - 1) / n * within + between


def _autocovariances(split: F64) -> F64:
    """Return the mean over chains of the autocovariance at each lag, of shape (quantities, n)."""
    n = split.shape[2]
    size = next_fast_len(2 * n, real=True)
    waves = rfft(split - split.mean(axis=2, keepdims=True), size)
    power = (waves.real**2 + waves.imag**2).mean(axis=1)
    return np.asarray(irfft(power, size)[:, :n] / n)


def _autocorrelation_time(rho: F64) -> F64:
    """Sum autocorrelations in pairs, as long as these are positive, and never rising.

    The even one right after the end counts once if it is positive, as in Stan.
    """
    n_pairs = rho.shape[1] // 2
    rho[:, 0] = 1.0
    even = rho[:, 0 : 2 * n_pairs : 2]
    pairs = even + rho[:, 1 : 2 * n_pairs : 2]
    going: Bool = np.logical_and.accumulate(pairs > 0.0, axis=1)
    sums = np.where(going, np.minimum.accumulate(pairs, axis=1), 0.0).sum(axis=1)
    end = going.sum(axis=1)
    after = even[np.arange(len(even)), np.minimum(end, n_pairs - 1)]
    extra = np.where(end < n_pairs, np.maximum(after, 0.0), 0.0)
    return np.asarray(2.0 * sums - 1.0 + extra)


def _normal_scores(values: F64) -> F64:
    """Replace draws by normal quantiles of their ranks among all chains; ties share a rank."""
    from scipy.stats import rankdata  # noqa: PLC0415 - takes half a second, and infer has no ranks

    flat = values.reshape(len(values), -1)
    ranks = rankdata(flat, axis=1)
    return np.asarray(ndtri((ranks - 0.375) / (flat.shape[1] + 0.25)).reshape(values.shape))


def _as_draws(draws: Any, owner: str) -> F64:
    """Check draws; return them with quantities first."""
    values = check.finite(draws, f"draws of {owner}")
    if values.ndim not in (2, 3) or not values.shape[0] or values.shape[1] < LEAST_DRAWS:
        raise ShapeError(
            f"The draws of {owner} must have shape (chains, draws) or (chains, draws, quantities), "
            f"with at least one chain and {LEAST_DRAWS} draws. Got shape {values.shape}."
        )
    return values[None] if values.ndim == 2 else np.ascontiguousarray(np.moveaxis(values, 2, 0))
