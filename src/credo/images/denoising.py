"""``denoise``: restore an image from its noise."""

from __future__ import annotations

from typing import Any, Literal

from credo._validation.arrays import positive_int
from credo._validation.labels import one_of
from credo.decisions import Loss
from credo.graphs.grid_coordinates import neighbours_in
from credo.images.coding import CodedImage, read_image
from credo.images.request import WHO, Method, Request
from credo.images.restoration import Channel, Restoration


def denoise(  # noqa: PLR0913, PLR0917 - one parameter per setting
    image: Any,
    flip_probability: Any = "estimate",
    coupling: Any = "estimate",
    sweeps: int = 20,
    momentum: float = 0.5,
    method: Method = "sum-product",
    loss: Loss | float | None = None,
    *,
    noise: Literal["auto", "flip", "gaussian"] = "auto",
    sigma: Any = "estimate",
    levels: Any = None,
    neighbours: int = 4,
    schedule: str = "flooding",
    dtype: Any = None,
    threads: int = 1,
    budget: str | float | None = "4GB",
    tolerance: float | None = None,
    callback: Any = None,
) -> Restoration:
    r"""Restore an image whose pixels were flipped, or have Gaussian noise.

    .. math:: p(x \mid y) \propto \exp\Bigl( J \sum_{ij} x_i x_j + \beta \sum_i y_i x_i \Bigr),
              \qquad \beta = \tfrac12 \log \frac{1 - \epsilon}{\epsilon}

    Parameters
    ----------
    image : array-like of shape (H, W) or (H, W, C), or Pillow image
        A binary image of any two values; a grey one; or a colour one, channel by channel.
    flip_probability : float, array-like of shape (H, W), or "estimate"
        Probability :math:`\epsilon` that a pixel was flipped, for all or pixel by pixel; of a grey
        image, that it was replaced by any level. Learnt from the image by default.
    coupling : float, one per axis, arrays per edge, or "estimate"
        Coupling J of neighbours; of a grey image, the slope of its truncated linear smoothness, per
        level. Learnt from the image by default.
    sweeps : int
        Sweeps of messages, with a tolerance at most; 10 to 20 suffice as a rule.
    momentum : float
        Share of the new message, from 0.0001 to 1.
    method : {"sum-product", "max-product", "graph-cut"}
        The marginals of the pixels; max-marginals; or the one best binary image, exactly.
    loss : Loss, float or None
        What a wrong pixel costs. A number is the cost of rejecting a pixel, where a wrong one costs
        one. None takes the most probable label.
    noise : {"auto", "flip", "gaussian"}
        Flips for images of two values, Gaussian noise with some replaced pixels for others.
    sigma : float or "estimate"
        Standard deviation of Gaussian noise, in the image's own units.
    levels : int, optional
        How many grey levels are told apart, from 2 to 256.
    neighbours : {4, 8}
        Which pixels are neighbours.
    schedule : {"flooding", "checkerboard", "sweep"}
        In which order messages are sent.
    dtype : {"float32", "float64"} or None
        Type of number; None takes float32 where it is safe.
    threads : int
        Blocks of rows at a time; the answer is the same to the last bit.
    budget : str, int or None
        Memory that may be used for a plane, in bytes or as ``"4GB"``; None for no limit.
    tolerance : float, optional
        Stop when no message changes by more than this. By default all sweeps are made.
    callback : callable, optional
        Called after each sweep with its number and its residual.

    Returns
    -------
    Restoration
        With ``image``, ``posterior``, ``rejected``, ``energy``, ``trace``, ``flip_probability``,
        ``coupling``, ``status`` (how the messages ended) and ``learning_status``.

    Raises
    ------
    InputError
        If it is no image, or a setting is out of range.
    ShapeError
        If a map has not the shape of the image.
    BudgetError
        If a plane does not fit the budget; before its messages are allocated.

    See Also
    --------
    credo.add_noise : The opposite.
    credo.segment : Smooth the posterior of a classifier.
    credo.images.denoise_tiled : The same for images that do not fit into memory.

    Notes
    -----
    Some 2 ns per pixel and sweep for binary images on one thread, and some 10 ns for each level of
    grey ones. Memory in float32 is 28 bytes per pixel, beside the field's own 8, or for each level
    of a grey image. The marginals are approximate, and surer than they
    should be: see :func:`credo.bounds`. ``"graph-cut"`` is exact for the image as a whole.
    Estimates are deterministic; they trust that neighbours tend to be alike and that flips are
    independent, and mislead where neither holds.

    References
    ----------
    .. [1] S. Geman, D. Geman, Stochastic relaxation, Gibbs distributions, and the Bayesian
       restoration of images, *IEEE Transactions on Pattern Analysis and Machine Intelligence* 6
       (1984).

    Examples
    --------
    >>> import credo
    >>> face = credo.images.portrait(128)
    >>> noisy = credo.add_noise(face, 0.1, seed=0)
    >>> clean = credo.denoise(noisy)
    >>> float((noisy != face).mean()) > 3 * float((clean.image != face).mean())
    True
    """
    one_of(noise, ("auto", "flip", "gaussian"), WHO, "noise")
    count = positive_int(sweeps, WHO, "sweeps", least=0)
    around = neighbours_in(2, neighbours, WHO)
    request = Request(
        flip_probability, coupling, count, tolerance, momentum, method, loss, sigma, levels, around,
        schedule, dtype, threads, budget, callback,
    )  # fmt: skip
    request.check()
    wanted: Any = {"auto": None, "flip": "binary", "gaussian": "grey"}[noise]
    coded = read_image(image, WHO, wanted)
    channels = tuple(_restored(plane, coded, request) for plane in coded.planes)
    return Restoration(coded, channels, method)


def _restored(plane: Any, coded: CodedImage, request: Request) -> Channel:
    """Restore a plane."""
    if coded.kind == "binary":
        from credo.images.flip_planes import restore_flips  # noqa: PLC0415 - one kind or the other

        return restore_flips(plane, coded, request)
    from credo.images.grey_planes import restore_grey  # noqa: PLC0415

    return restore_grey(plane, request)
