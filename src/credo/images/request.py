"""What is asked of a restoration, plane by plane, checked at the door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from credo import _checks as check
from credo._validation.arrays import as_floats, positive_int
from credo._validation.labels import one_of
from credo.decisions import Loss
from credo.exceptions import InputError
from credo.graphs import GridField
from credo.inference.grids.engine import (
    GridSettings,
    Run,
    as_number_type,
    as_share,
    check_memory,
    messages_on,
    settings_for,
)
from credo.inference.question import check_callback
from credo.posterior import PosteriorMap

Method: TypeAlias = Literal["sum-product", "max-product", "graph-cut"]
WHO = "denoise"
_METHODS = ("sum-product", "max-product", "graph-cut")
_SCHEDULES = ("flooding", "checkerboard", "sweep")


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """How a plane is to be restored."""

    flip_probability: Any
    coupling: Any
    sweeps: int
    tolerance: float | None
    momentum: float
    method: Method
    loss: Loss | float | None
    sigma: Any
    levels: Any
    neighbours: int
    schedule: str
    dtype: Any
    threads: int
    budget: Any
    callback: Any

    def check(self) -> None:
        """Refuse what no plane could be restored with."""
        one_of(self.method, _METHODS, WHO, "method")
        one_of(self.schedule, _SCHEDULES, WHO, "schedule")
        as_share(self.momentum, WHO)
        as_number_type(self.dtype, WHO)
        positive_int(self.threads, WHO, "threads")
        if self.tolerance is not None:
            check.number(self.tolerance, f"tolerance of {WHO}", 0)
        check_callback({"callback": self.callback}, WHO)
        given = {"flip_probability": self.flip_probability, "coupling": self.coupling}
        for what, value in given.items():
            if value is None or isinstance(value, str):
                one_of(value, ("estimate",), WHO, what)
        if not isinstance(self.flip_probability, str):
            _check_probability(self.flip_probability)
        if self.method != "sum-product" and self.loss is not None:
            raise InputError(
                f"{WHO}: {self.method} looks for the best image as a whole and does not know how "
                "sure a pixel is, so it cannot weigh a loss. Use method='sum-product' or loss=None."
            )

    def pass_messages(self, field: GridField) -> tuple[PosteriorMap, GridSettings, Run]:
        """Pass messages on a field as was asked for; return beliefs, settings and how it ended."""
        settings = settings_for(field, self.method, self.momentum, self.schedule, self.dtype, WHO)
        is_watched = self.callback is not None or self.tolerance is not None
        check_memory(field, settings, self.budget, WHO, is_watched=is_watched)
        messages = messages_on(field, settings, self.threads)
        run = messages.run(self.sweeps, self.tolerance, self.callback)
        return messages.posterior(), settings, run


def _check_probability(flip: Any) -> None:
    """Check a probability, or a map of them."""
    values = as_floats(flip, WHO, "flip_probability")
    good = (values >= 0) & (values <= 1)
    if not good.all():
        bad = values[~good].flat[0]
        raise InputError(
            f"The flip_probability of {WHO} must be between 0 and 1, or 'estimate'. Got {bad:g}."
        )
