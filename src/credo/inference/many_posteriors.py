"""``ManyPosteriors``: the marginals of many rows of evidence."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo import _checks as check
from credo._types import F64, Label
from credo.exceptions import InputError
from credo.graphs.wiring import Wiring
from credo.inference.question import not_asked
from credo.posterior.posterior import Posterior, trusted

Int64: TypeAlias = npt.NDArray[np.int64]
#: What may be said of a result, the worst first; the first that a row has is said of all.
_WORST_FIRST = ("MAX_SWEEPS", "CONVERGED", "SATISFIED", "EXACT")


@final
class ManyPosteriors:
    """Hold the marginals of a graph's variables for many rows of evidence.

    Made by :func:`credo.infer_many`.

    Attributes
    ----------
    status : str
        ``"EXACT"``; for ``method="loopy"`` the worst status of a possible row: ``"MAX_SWEEPS"``,
        ``"CONVERGED"`` or ``"SATISFIED"``.
    statuses : ndarray of str
        The status of each row; ``"IMPOSSIBLE"`` where the findings cannot all be true.
    sweeps : ndarray of int64
        How often all messages passed, for each row; 0 for exact answers.
    residuals : ndarray of float64
        Largest change of a message in the last sweep of each row; 0 for exact answers.
    log_evidence : ndarray of shape (n_rows,)
        Log of the probability of each row's findings, -inf where they are impossible; for a model
        that is not normalised, log of the sum over all configurations that agree with them. NaN
        if it was not asked for.
    log_evidence_is : str
        ``"EXACT"`` or ``"ESTIMATE"``.
    impossible : ndarray of int64
        The rows, counted from zero, whose findings cannot all be true. Their marginals are NaN.

    See Also
    --------
    credo.infer_many : Makes one.
    credo.infer : One row, with messages, joints and samples.

    Notes
    -----
    Rows that are alike are held once.

    Examples
    --------
    >>> import credo
    >>> from credo.inference.many import infer_many
    >>> net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], length=3)
    >>> many = infer_many(net, [{"x0": 0}, {"x0": 1, "x2": 0}])
    >>> many
    <ManyPosteriors: 2 rows, 3 variables, EXACT>
    >>> many["x1"].probabilities.round(3).tolist()
    [[0.9, 0.1], [0.529, 0.471]]
    """

    def __init__(  # noqa: PLR0913 - what is known of the rows that differ, and which each row is
        self,
        wiring: Wiring,
        wanted: Int64,
        beliefs: F64,
        log_z: F64,
        which: Int64,
        *,
        statuses: npt.NDArray[np.str_] | None = None,
        sweeps: Int64 | None = None,
        residuals: F64 | None = None,
        log_evidence_is: str = "EXACT",
    ) -> None:
        self._wiring = wiring
        self._start = np.concatenate([[0], np.cumsum(wiring.n_states[wanted])])
        self._place = {int(v): i for i, v in enumerate(wanted)}
        self._beliefs = check.frozen(beliefs)
        self._which = which
        self.log_evidence: F64 = check.frozen(log_z[which])
        self.impossible: Int64 = check.frozen(np.flatnonzero(np.isneginf(self.log_evidence)))
        if statuses is None:
            statuses = np.where(np.isneginf(log_z), "IMPOSSIBLE", "EXACT")
        none = np.zeros(len(log_z), np.int64)
        self.statuses: npt.NDArray[np.str_] = check.frozen(statuses[which])
        self.sweeps: Int64 = check.frozen((none if sweeps is None else sweeps)[which])
        self.residuals: F64 = check.frozen((none / 1.0 if residuals is None else residuals)[which])
        self.log_evidence_is = log_evidence_is
        found = set(statuses.tolist())
        self.status = next((status for status in _WORST_FIRST if status in found), "EXACT")

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self._which)

    @property
    def variables(self) -> tuple[Label, ...]:
        """The names of the variables whose marginals are here."""
        return tuple(self._wiring.names[v] for v in self._place)

    def __iter__(self) -> Iterator[Label]:
        return iter(self.variables)

    def __contains__(self, name: object) -> bool:
        try:
            return self._wiring.index(name) in self._place
        except InputError:
            return False

    def __len__(self) -> int:
        return len(self._place)

    def __repr__(self) -> str:
        bad = len(self.impossible)
        also = f", {bad} of them impossible" if bad else ""
        rows, variables = _count_text(self.n_rows, "row"), _count_text(len(self), "variable")
        return f"<ManyPosteriors: {rows}{also}, {variables}, {self.status}>"

    def __getitem__(self, name: Any) -> Posterior:
        """Return the marginals of one variable, a row for each row of evidence."""
        if len(self.impossible):
            raise InputError(
                f"Rows {check.listing(self.impossible.tolist())} are impossible and have no "
                f"posterior. Leave them out, or use probabilities({name!r}): they are NaN."
            )
        states = self._wiring.states[self._wiring.index(name)]
        p = self.probabilities(name)
        return trusted(states, p / p.sum(axis=-1, keepdims=True))

    def probabilities(self, name: Any) -> F64:
        """Return the marginals of one variable as an array.

        Parameters
        ----------
        name : Hashable
            The variable.

        Returns
        -------
        ndarray of shape (n_rows, n_states)
            Columns in the order of the states; NaN in impossible rows.

        Raises
        ------
        LabelError
            If there is no such variable.
        InputError
            If it was not asked for.
        """
        place = self._place.get(self._wiring.index(name))
        if place is None:
            raise not_asked(name, self.variables)
        columns = self._beliefs[:, self._start[place] : self._start[place + 1]]
        return np.asarray(columns[self._which])

    def most_probable(self) -> Int64:
        """Return the most probable state of each variable, taken by itself, in each row.

        Returns
        -------
        ndarray of shape (n_rows, n_variables)
            Indices of states, the first of equals; -1 in impossible rows. Columns in the order of
            ``variables``.
        """
        sizes = np.diff(self._start)
        if len(sizes) and (sizes == sizes[0]).all():
            best = self._beliefs.reshape(len(self._beliefs), len(sizes), -1).argmax(axis=2)
        else:
            parts = (self._beliefs[:, a:b] for a, b in pairwise(self._start))
            none = np.empty((len(self._beliefs), 0), np.int64)
            best = np.column_stack([none, *(part.argmax(axis=1) for part in parts)])
        chosen: Int64 = best.astype(np.int64)[self._which]
        chosen[self.impossible] = -1
        return chosen


def _count_text(count: int, what: str) -> str:
    """Write how many there are."""
    return f"{count} {what}{'' if count == 1 else 's'}"
