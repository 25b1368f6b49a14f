"""What a fit says of separation: the direction in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, final

import numpy as np

from credo._types import F64, Label, Labels
from credo._validation.arrays import frozen
from credo._validation.labels import listing
from credo.classifiers.softmax.scaling import Scaling
from credo.classifiers.softmax.separation import Direction, Kind
from credo.exceptions import InputError

#: Features named in a message, and the least share that is, relative to the largest.
_SHOWN, _WORTH_NAMING = 3, 0.01
#: A share below this takes no part in the direction.
_NO_PART = 1e-9


@final
@dataclass(frozen=True, slots=True, eq=False)
class Separation:
    r"""Tell that the likelihood has no maximum, and along which direction it rises for ever.

    With scores :math:`s_k(x) = d_k^T x + c_k` of the direction, every row's own class scores at
    least as high as every other: strictly higher if ``kind`` is ``"complete"``, else with ties.
    Adding any multiple of the direction to the coefficients raises the likelihood.

    Attributes
    ----------
    kind : {"complete", "quasi-complete"}
        Whether all rows are strictly on their own side, or some on the boundary.
    pairs : tuple of (label, label)
        Pairs of classes that the direction parts.
    features : tuple of label
        Features that take part, the largest share first.
    shares : ndarray
        Share of each of them in the absolute direction, columns at one scale; they sum to one.
    coef : ndarray of shape (1, D) or (K, D)
        The direction d, as ``coef_`` is.
    intercept : ndarray of shape (1,) or (K,)
        Its offset c.

    Notes
    -----
    Proven on all rows, up to rounding: the direction is checked row by row.

    References
    ----------
    .. [1] A. Albert and J. A. Anderson, "On the existence of maximum likelihood estimates in
       logistic regression models", Biometrika 71, 1984, section 2.
    """

    kind: Kind
    pairs: Annotated[tuple[tuple[Label, Label], ...], "P"]
    features: Annotated[Labels, "S"]
    shares: Annotated[F64, "S"]
    coef: Annotated[F64, "L D"]
    intercept: Annotated[F64, "L"]

    def _check(self) -> None:
        """Refuse what is no pair."""
        if any(not isinstance(pair, tuple) or len(pair) != 2 for pair in self.pairs):
            raise InputError("The separation parts something else than pairs of classes.")

    @classmethod
    def of(
        cls, found: Direction, scaling: Scaling, classes: Labels, features: Labels
    ) -> Separation:
        """Put a direction of scaled columns into the user's words and units."""
        sizes = np.abs(found.theta[:, : len(features)]).sum(axis=0)
        sizes /= sizes.sum()
        order = [int(j) for j in np.argsort(-sizes, kind="stable") if sizes[j] > _NO_PART]
        coef, intercept = scaling.coefficients(found.theta)
        return cls(
            found.kind,
            tuple((classes[a], classes[b]) for a, b in found.pairs),
            tuple(features[j] for j in order),
            frozen(sizes[order]),
            frozen(coef),
            frozen(intercept),
        )

    @property
    def classes(self) -> Labels:
        """Labels of the classes that the direction parts."""
        return tuple(dict.fromkeys(label for pair in self.pairs for label in pair))

    def __str__(self) -> str:
        return (
            f"{self.kind} separation: {self._whom()} by {self._what()}. The likelihood rises for "
            "ever along this direction and has no maximum"
        )

    def __repr__(self) -> str:
        return f"Separation({self.kind}, {self._whom()} by {self._what()})"

    def _whom(self) -> str:
        """Name the classes that are parted from each other."""
        for label in self.classes:
            if all(label in pair for pair in self.pairs):
                rest = [other for other in self.classes if other != label]
                return f"{label!r} from {listing(rest)}"
        return f"{listing(self.classes)} from each other"

    def _what(self) -> str:
        """Name the features with the largest shares."""
        shown: list[Any] = [
            f"{name!r} ({100 * share:.3g}%)"
            for name, share in zip(self.features[:_SHOWN], self.shares, strict=False)
            if share >= _WORTH_NAMING * self.shares[0]
        ]
        more = len(self.features) - len(shown)
        return ", ".join(shown) + (f" and {more} more" if more else "")
