"""Credo: from evidence to decisions.

The lobby. Names are loaded from their rooms when they are first used, so that ``import credo``
costs next to nothing.
"""

from __future__ import annotations

from credo._lazy import doors
from credo._version import __version__ as __version__

__getattr__, __dir__ = doors(
    __name__,
    {
        "credo.classifiers": ["DecisionClassifier", "expected_loss_scorer"],
        "credo.decisions": ["Decisions", "Loss", "decide", "decide_value"],
        "credo.posterior": ["JointTable", "Posterior", "PriorEstimate"],
    },
    rooms=["classifiers", "decisions", "exceptions", "plots", "posterior", "tables"],
)
