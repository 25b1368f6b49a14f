"""``infer_grid``: message passing on a grid field."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from credo._types import F64
from credo._validation.arrays import as_number, positive_int
from credo._validation.labels import one_of
from credo.exceptions import BudgetError, InputError
from credo.graphs import GridField
from credo.inference.grids.grid_result import GridPosterior
from credo.inference.grids.labels import LabelMessages, number_type as label_type
from credo.inference.grids.messages import AbstractMessages, Settings
from credo.inference.grids.ratios import RatioMessages, number_type as ratio_type
from credo.inference.question import Budget, Callback, as_bytes, as_text, check_callback

_WHO = "infer_grid"
#: With less of the new message, thousands of sweeps would not get anywhere.
_LEAST_SHARE = 1e-4


def infer_grid(  # noqa: PLR0913 - one parameter per setting
    field: GridField,
    *,
    method: Literal["sum-product", "max-product"] = "sum-product",
    sweeps: int = 100,
    momentum: float = 0.5,
    schedule: Literal["flooding", "checkerboard", "sweep"] = "flooding",
    tolerance: float | None = None,
    dtype: Any = "float64",
    threads: int = 1,
    budget: Budget = "4GB",
    callback: Callback | None = None,
) -> GridPosterior:
    r"""Find the marginals of every pixel of a field by passing messages between neighbours.

    .. math:: m_{j \to i}(x_i) = \sum_{x_j} \psi_{ij}(x_i, x_j)\, \phi_j(x_j)
              \prod_{k \in N(j) \setminus i} m_{k \to j}(x_j)

    Messages are normalised to sum one and mixed, :math:`\eta\, m^{new} + (1 - \eta)\, m^{old}`.

    Parameters
    ----------
    field : GridField
        A field on a picture or a volume.
    method : {"sum-product", "max-product"}
        Marginals, or max-marginals, whose best labels are those of a good joint configuration.
    sweeps : int
        How many sweeps to make; with a tolerance, at most.
    momentum : float
        The share :math:`\eta` of the new message, from 0.0001 to 1.
    schedule : {"flooding", "checkerboard", "sweep"}
        All messages at once; those of the even pixels and then those of the odd ones (4 neighbours
        in a plane, 6 in a volume); or along each dimension forth and back, which carries news
        through the whole picture in one sweep.
    tolerance : float, optional
        Stop when no message changes by more than this. By default all sweeps are made.
    dtype : {"float64", "float32"} or None
        The type of number; None takes float32 where it is safe.
    threads : int
        Blocks of rows at a time; the answer is the same to the last bit. Not for ``"sweep"``.
    budget : str, int or None
        Memory that may be used, in bytes or as ``"4GB"``; None for no limit.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    GridPosterior
        With ``posterior``, ``best``, ``energy``, ``residuals`` and ``status``.

    Raises
    ------
    InputError
        If a setting is out of range, or edges are too strong for the type of number.
    BudgetError
        If messages and beliefs do not fit the budget; before anything is allocated.

    See Also
    --------
    credo.infer : Exact and other engines, for fields that are small.
    credo.denoise : Restore an image.

    Notes
    -----
    Time is linear in pixels and sweeps, and in the number of labels (truncated quadratics: times
    the labels within the limit). Two labels take one number per
    message, a ratio; nothing in the loop takes an exponential or a logarithm. Several sweeps run
    through the picture one a row behind the other, so that rows stay in the cache. Every
    operation is rounded as IEEE 754 says, and none depends on where a pixel stands: tiles and
    threads give the same bits. Approximate on grids, and over-confident: see the references.
    Max-product messages of more than two labels are logs, and mixed as such.

    References
    ----------
    .. [1] P. F. Felzenszwalb, D. P. Huttenlocher, Efficient belief propagation for early vision,
       *International Journal of Computer Vision* 70 (2006), sections 3 and 4.
    .. [2] Y. Weiss, Correctness of local probability propagation in graphical models with loops,
       *Neural Computation* 12 (2000).

    Examples
    --------
    >>> import numpy as np
    >>> from credo.graphs import GridField
    >>> from credo.inference import infer_grid
    >>> seen = np.array([[1, 1, 1], [1, -1, 1], [1, 1, 1]])
    >>> field = GridField.ising(1.1 * seen, coupling=0.8)
    >>> found = infer_grid(field, sweeps=20)
    >>> found.best
    array([[1, 1, 1],
           [1, 1, 1],
           [1, 1, 1]])
    >>> round(float(found.posterior.of(1)[1, 1]), 2)
    0.98
    """
    settings = settings_for(field, method, momentum, schedule, dtype)
    count = positive_int(sweeps, _WHO, "sweeps", least=0)
    stop = -1.0 if tolerance is None else as_number(tolerance, _WHO, "tolerance")
    if tolerance is not None and stop < 0.0:
        raise InputError(f"The tolerance of {_WHO} must be at least 0, or None. Got {tolerance}.")
    check_callback({"callback": callback}, _WHO)
    check_memory(field, settings, budget, watched=stop >= 0.0 or callback is not None)
    messages = messages_on(field, settings, positive_int(threads, _WHO, "threads"))
    residuals = pass_messages(messages, count, stop, callback)
    is_done = len(residuals) > 0 and residuals[-1] <= stop
    made = len(residuals) or count
    return GridPosterior(field, messages.posterior(), residuals, made, is_converged=is_done)


def pass_messages(
    messages: AbstractMessages, sweeps: int, stop: float = -1.0, callback: Callback | None = None
) -> F64:
    """Make sweeps; if anybody wants to know, one by one until nothing moves by more than ``stop``.

    Gives how much moved in each sweep, if they were made one by one.
    """
    if stop < 0.0 and callback is None:
        messages.advance(sweeps)
        return np.empty(0)
    residuals: list[float] = []
    for number in range(1, sweeps + 1):
        residuals.append(messages.advance_one())
        if callback is not None:
            callback(number, residuals[-1])
        if residuals[-1] <= stop:
            break
    return np.array(residuals)


def check_memory(
    field: GridField, settings: Settings, budget: Budget, who: str = _WHO, *, watched: bool = False
) -> None:
    """Refuse a field whose potentials, messages, weights and beliefs do not fit a budget."""
    size, n = np.dtype(settings.dtype).itemsize, field.n_labels
    lines, directions = 1 if n == 2 else n, 2 * len(field.axes)
    each = lines * size * (directions + 3)
    if not all(isinstance(strength, float) for strength in field.strengths):
        each += directions * (3 * 8 + 2 * size)
    if settings.schedule == "sweep":
        each *= 1 + len(field.shape)
    each += lines * size * directions * watched
    refuse_memory(math.prod(field.shape), each, n, budget, who)


def refuse_memory(pixels: int, each: float, n_labels: int, budget: Budget, who: str) -> None:
    """Raise BudgetError if so many pixels of so many bytes do not fit."""
    needed = float(pixels) * each
    if needed > as_bytes(budget, who):
        raise BudgetError(
            f"{who} needs about {as_text(needed)} for {pixels:.3g} pixels of {n_labels} labels; "
            f"the budget is {budget}. Use fewer labels, dtype='float32' if it is not that, a part "
            "of the picture at a time (of two values: credo.images.denoise_tiled), or raise budget."
        )


def messages_on(field: GridField, settings: Settings, threads: int = 1) -> AbstractMessages:
    """Begin with uniform messages on a field."""
    kind = RatioMessages if field.n_labels == 2 else LabelMessages
    return kind(field, settings, threads)


def settings_for(
    field: GridField,
    method: Any,
    momentum: Any = 0.5,
    schedule: Any = "flooding",
    dtype: Any = None,
    who: str = _WHO,
) -> Settings:
    """Check how messages are to be passed on a field."""
    if not isinstance(field, GridField):
        raise InputError(
            f"{who} needs a GridField. Got {type(field).__name__}. For other models use "
            "credo.infer(model, method='loopy')."
        )
    one_of(method, ("sum-product", "max-product"), who, "method")
    eta = as_share(momentum, who)
    _check_schedule(field, schedule, who)
    maximum, wanted = method == "max-product", as_number_type(dtype, who)
    if field.n_labels == 2:
        number = ratio_type(field, wanted, who)
    else:
        number = label_type(field, wanted, who, maximum=maximum)
    return Settings(maximum, eta, schedule, number)


def as_share(momentum: Any, who: str) -> float:
    """Check the share of the new message."""
    eta = as_number(momentum, who, "momentum")
    if not _LEAST_SHARE <= eta <= 1.0:
        raise InputError(
            f"The momentum of {who} is the share of the new message, at least {_LEAST_SHARE:g} and "
            f"at most 1. Got {momentum!r}."
        )
    return eta


def _check_schedule(field: GridField, schedule: Any, who: str) -> None:
    """Check that a schedule is known, and that the field has it."""
    one_of(schedule, ("flooding", "checkerboard", "sweep"), who, "schedule")
    if schedule == "checkerboard" and any(sum(map(abs, axis)) != 1 for axis in field.axes):
        raise InputError(
            f"{who}: on a checkerboard, pixels that touch at a corner have one colour, so that it "
            f"needs 4 neighbours. Got a field of {field.neighbours}; use schedule='flooding' or "
            "'sweep'."
        )


def as_number_type(dtype: Any, who: str) -> Any:
    """Check a type of number; None leaves the choice."""
    if dtype is None:
        return None
    for known in (np.float64, np.float32):
        if isinstance(dtype, (str, type, np.dtype)) and dtype in (
            known,
            known.__name__,
            np.dtype(known),
        ):
            return known
    raise InputError(f"The dtype of {who} must be 'float64', 'float32' or None. Got {dtype!r}.")
