"""Messages: what one node of a graph tells another, as objects one can print."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

from credo._types import F64, Label, Labels


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Message:
    r"""Hold a message between two nodes of a graph.

    .. math:: m_{i \to j}(x_j) = \sum_{x_i} \psi_{ij}(x_i, x_j) \, \psi_i(x_i)
              \prod_{k \in N(i) \setminus j} m_{k \to i}(x_i)
              = \text{values}(x_j) \, e^{\text{log\_scale}}

    with the evidence in :math:`\psi_i`. For maxima the sum is a maximum. A factor of three
    variables or more is a node of its own: a variable sends it the product of what it hears from
    others, and the factor sends the sum of its table times what it hears from others.

    Attributes
    ----------
    source : Hashable
        Name of the variable or factor that sends.
    target : Hashable
        Name of the variable or factor that hears.
    states : tuple
        States of the variable that the message is about: the target, or the source if the target
        is a factor.
    values : ndarray of shape (len(states),)
        One number per state, scaled to sum one; for maxima, to largest one. Read-only.
    log_scale : float
        Log of the scale that was taken out.

    See Also
    --------
    credo.inference.tree.run_tree : Makes them.

    Notes
    -----
    ``values * exp(log_scale)`` is the message exactly, up to rounding. It may be too large or too
    small for float64, which is why the two are apart.

    References
    ----------
    .. [1] D. Koller, N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009, section 10.2.

    Examples
    --------
    >>> import numpy as np
    >>> Message(5, 3, (0, 1), np.array([0.42, 0.58]), log_scale=-0.7)
    m[5 -> 3] = (0: 0.42, 1: 0.58)
    """

    source: Label
    target: Label
    states: Labels
    values: F64
    log_scale: float

    def __repr__(self) -> str:
        cells = zip(self.states, self.values.tolist(), strict=True)
        inside = ", ".join(f"{state}: {value:.6g}" for state, value in cells)
        return f"m[{self.source} -> {self.target}] = ({inside})"

    def to_dict(self) -> dict[str, Any]:
        """Give all fields as plain lists and numbers.

        Returns
        -------
        dict
            Keys ``source``, ``target``, ``states``, ``values`` and ``log_scale``.

        Examples
        --------
        >>> import numpy as np
        >>> Message("a", "b", ("no", "yes"), np.array([0.25, 0.75]), 0.0).to_dict()["values"]
        [0.25, 0.75]
        """
        return {
            "source": self.source,
            "target": self.target,
            "states": list(self.states),
            "values": self.values.tolist(),
            "log_scale": self.log_scale,
        }
