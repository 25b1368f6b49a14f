"""How summaries of Gaussian models are stored."""

from __future__ import annotations

from credo.classifiers.summary import ClassSummary
from credo.families.moments import ClassMoments
from credo.storage._kinds import CLASSES, Choice, Kind, Labels, Maybe, Numbers, Record

#: K classes, D features.
MOMENTS = Record(
    ClassMoments,
    {
        "counts": Numbers("K", "<i8", least=0),
        "weights": Numbers("K", least=0),
        "means": Numbers("K D"),
        "detail": Choice("full", "tied", "diagonal"),
        "scatter": Numbers({"full": "K D D", "tied": "D D", "diagonal": "K D"}, by="detail"),
        "observed": Maybe(Numbers("K D", least=0)),
        "rests": Maybe(Numbers("K D")),
    },
)

CLASS_SUMMARY = Record(
    ClassSummary,
    {
        "classes": CLASSES,
        "moments": MOMENTS,
        "feature_names": Maybe(Labels("D", tuple)),
    },
)

KINDS: dict[type, Kind] = {ClassSummary: CLASS_SUMMARY}
