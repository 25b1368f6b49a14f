"""``ManyPosteriors``: the marginals of many rows of evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from credo._types import F64, Label
from credo._validation.arrays import frozen
from credo._validation.labels import listing
from credo.exceptions import InputError
from credo.graphs.wiring import Wiring
from credo.inference._questions import not_asked
from credo.posterior import Posterior

Int64: TypeAlias = npt.NDArray[np.int64]


@final
class ManyPosteriors:
    """Hold the marginals of a graph's variables for many rows of evidence.

    Made by :func:`credo.infer_many`.

    Attributes
    ----------
    status : str
        ``"EXACT"``.
    log_evidence : ndarray of shape (n_rows,)
        Log of the probability of each row's findings, -inf where they are impossible; for a model
        that is not normalised, log of the sum over all configurations that agree with them.
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

    def __init__(
        self, wiring: Wiring, wanted: Int64, beliefs: F64, log_z: F64, which: Int64
    ) -> None:
        self._wiring = wiring
        self._start = np.concatenate([[0], np.cumsum(wiring.n_states[wanted])])
        self._place = {int(v): i for i, v in enumerate(wanted)}
        self._beliefs = frozen(beliefs)
        self._which = which
        self.status = "EXACT"
        self.log_evidence: F64 = frozen(log_z[which])
        self.impossible: Int64 = frozen(np.flatnonzero(np.isneginf(self.log_evidence)))

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
        rows, variables = _counted(self.n_rows, "row"), _counted(len(self), "variable")
        return f"<ManyPosteriors: {rows}{also}, {variables}, {self.status}>"

    def __getitem__(self, name: Any) -> Posterior:
        """Give the marginals of one variable, a row for each row of evidence."""
        if len(self.impossible):
            raise InputError(
                f"ManyPosteriors: rows {listing(self.impossible.tolist())} are impossible and have "
                f"no posterior. Leave them out, or use probabilities({name!r}), where they are NaN."
            )
        states = self._wiring.states[self._wiring.index(name)]
        return Posterior.from_probabilities(self.probabilities(name), states, normalise=True)

    def probabilities(self, name: Any) -> F64:
        """Give the marginals of one variable as an array.

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


def _counted(count: int, what: str) -> str:
    """Write how many there are."""
    return f"{count} {what}{'' if count == 1 else 's'}"
