"""Engines that sweep until nothing changes: a bar meanwhile, and the compiler if it takes long."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from credo.cli.networks import Network

Answer = TypeVar("Answer")
Callback: TypeAlias = Callable[[int, float], None]

#: Sweeps that engines usually took on grids of 9 to 64 variables and on networks of 8 to 76; for
#: mean field as many as take the same time, which goes into where it starts.
USUAL = {
    "loopy": 10,
    "mean_field": 100,
    "structured_mean_field": 150,
    "generalised": 250,
    "tree_reweighted": 250,
    "double_loop": 250,
    "gibbs": 10_000,  # these are draws
}
#: The same for the best configuration.
USUAL_FOR_BEST = {"loopy": 10, "tree_reweighted": 10, "icm": 5, "graph_cut": 10}


class _SlowError(Exception):
    """Plain Python has swept for as long as loading the compiler takes."""


def sweep(network: Network, usual: float, run: Callable[[Callback | None], Answer]) -> Answer:
    """Run an engine that takes a callback; begin again, compiled, if sweeps are many after all.

    What is counted is sweeps, not seconds, so that digits do not depend on how busy a machine is.
    """
    from credo.cli.progress import sweep_progress

    start = network.start
    start.settle_sweeps(network.model, usual)
    with sweep_progress() as shown:
        if start.is_plain:
            try:
                return run(_allowing(start.most_sweeps(network.model), shown))
            except _SlowError:
                start.end()
        return run(shown)


def _allowing(sweeps: int, shown: Callback | None) -> Callback:
    """Give a callback that stops a run after so many sweeps."""
    left = sweeps

    def heard(number: int, residual: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _SlowError
        if shown is not None:
            shown(number, residual)

    return heard
