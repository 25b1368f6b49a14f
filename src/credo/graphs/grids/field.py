"""``GridField``: a Markov random field on the pixels of a picture or a volume."""

from __future__ import annotations

from typing import Any, Self, final

from credo.graphs.grids import posteriors, potentials
from credo.graphs.grids._grid import AbstractGrid
from credo.graphs.grids.nodes import as_plane
from credo.graphs.grids.smoothness import AbstractSmoothness, Ising

_OWNER = "GridField"


@final
class GridField(AbstractGrid):
    r"""Model a picture by log potentials of its pixels and of neighbouring pairs.

    .. math:: p(x) \propto \exp U(x), \qquad
              U(x) = \sum_i \log \phi_i(x_i) + \sum_{ij} s_{ij}\, u(x_i, x_j)

    Parameters
    ----------
    log_potentials : array_like of shape (height, width, K) or (depth, height, width, K)
        :math:`\log \phi_i`, finite or minus infinity; float32 is kept.
    smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
        The log potential of an edge, with its strength.
    labels : sequence of K Hashable, optional
        Names of the labels; 0, …, K - 1 if not given.
    neighbours : int, optional
        4 or 8 in two dimensions, 6 in three; 4 or 6 if not given.

    Attributes
    ----------
    shape : tuple of int
        Number of pixels along each dimension.
    labels : tuple
        The labels, in order.
    n_labels : int
        Their number K.
    neighbours : int
        Number of neighbours of a pixel inside.
    axes : tuple of tuple of int
        The step from the lower pixel of an edge to the upper one, for each direction.
    smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
        As given.
    strengths : tuple of float or ndarray
        For each axis one number, or one per edge: entry [r, c] is the edge from pixel (r, c), or
        along (1, -1) from pixel (r, c + 1).
    log_potentials : ndarray of shape (…, K)
        Log potentials of the pixels, read-only.
    log_odds : ndarray
        Log potential of the second label minus that of the first, if there are two.

    Raises
    ------
    ShapeError
        If the arrays do not fit together.
    InputError
        If a log potential is NaN or plus infinity, or a pixel allows no label.

    See Also
    --------
    MarkovNetwork : Any graph of pairs.

    Notes
    -----
    A field is a complete MarkovNetwork: its variables are the pixels, named by their coordinates,
    its factors those of the pixels in row-major order, then those of the edges axis by axis. They
    are laid out when an engine asks for them. What is given is copied once, and not if it is
    read-only already.

    References
    ----------
    .. [1] D. Koller, N. Friedman, *Probabilistic Graphical Models*, MIT Press, 2009, box 4.B.

    Examples
    --------
    >>> import credo
    >>> from credo.graphs import GridField, Potts
    >>> field = GridField([[[0.0, 1.0], [0.2, 0.0]]], Potts(0.5), labels=["sky", "sea"])
    >>> field
    <GridField: 1x2 pixels, 2 labels, 4 neighbours, Potts(0.5)>
    >>> field.energy([["sea", "sea"]])
    1.5
    >>> credo.infer(field)[0, 1]
    Posterior(sky 0.4932, sea 0.5068)
    """

    @classmethod
    def ising(
        cls, field: Any, coupling: Any, *, labels: Any = (-1, 1), neighbours: int | None = None
    ) -> Self:
        r"""Make a field of two labels from one number per pixel.

        .. math:: U(x) = J \sum_{ij} x_i x_j + \sum_i h_i x_i, \qquad x_i \in \{-1, +1\}

        Parameters
        ----------
        field : array_like of shape (height, width) or (depth, height, width)
            Half the log odds h of the second label; float32 is kept. Infinite where the label is
            certain.
        coupling : float, sequence of float, or sequence of array_like
            The coupling J, as ``Ising`` takes it.
        labels : sequence of two Hashable, default (-1, 1)
            What -1 and +1 are called.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field; it holds one plane, and makes ``log_potentials`` when they are asked for.

        Raises
        ------
        InputError
            If a number is NaN.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> GridField.ising([[0.25, -0.5]], 1.0).log_potentials
        array([[[-0.25,  0.25],
                [ 0.5 , -0.5 ]]])
        """
        plane = as_plane(field, f"{_OWNER}.ising")
        return cls(plane, Ising(coupling), labels=labels, neighbours=neighbours)

    @classmethod
    def from_flips(
        cls,
        image: Any,
        flip_probability: Any,
        smoothness: Any,
        *,
        labels: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from a two-valued image whose pixels were flipped by chance.

        .. math:: h_i = \beta_i y_i, \qquad
                  \beta_i = \tfrac12 \log \frac{1 - \epsilon_i}{\epsilon_i}

        Here y is -1 where the image shows the first label, +1 where it shows the second.

        Parameters
        ----------
        image : array_like of shape (height, width) or (depth, height, width)
            The label that each pixel shows.
        flip_probability : float or array_like of the shape of the image
            Probability :math:`\epsilon` that a pixel shows the other label; at 0 and 1 the label
            is certain, at 0.5 nothing is known.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic; or a coupling
            A coupling J stands for ``Ising(J)``.
        labels : sequence of two Hashable, optional
            The two values; those found in the image, in order, if not given.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field; it holds one plane.

        Raises
        ------
        LabelError
            If the image has another value; names the pixel.
        InputError
            If the image has one value only, or a probability is not between 0 and 1.

        Examples
        --------
        >>> from credo.graphs import GridField
        >>> field = GridField.from_flips([[0, 255]], 0.1, 0.8)
        >>> field.labels, field.log_odds.round(3)
        ((0, 255), array([[-2.197,  2.197]]))
        """
        owner = f"{_OWNER}.from_flips"
        plane, names = potentials.from_flips(image, flip_probability, labels, owner)
        is_one = isinstance(smoothness, AbstractSmoothness)
        edges = smoothness if is_one else Ising(smoothness)
        return cls(plane, edges, labels=names, neighbours=neighbours)

    @classmethod
    def from_gaussian(
        cls,
        image: Any,
        levels: Any,
        sigma: Any,
        smoothness: AbstractSmoothness,
        *,
        labels: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from an image with Gaussian noise.

        .. math:: \log \phi_i(k) = -\frac{(y_i - \mu_k)^2}{2 \sigma_i^2}

        Parameters
        ----------
        image : array_like of shape (height, width) or (depth, height, width)
            What was observed, y; NaN where nothing was. The potentials are float32 if it is.
        levels : sequence of K float
            The value :math:`\mu_k` of each label without noise.
        sigma : float or array_like of the shape of the image
            Standard deviation of the noise.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
            The log potential of an edge.
        labels : sequence of K Hashable, optional
            Names of the labels; the levels themselves if not given.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field.

        Raises
        ------
        InputError
            If the image is infinite somewhere, or a standard deviation is not above 0.

        Examples
        --------
        >>> from credo.graphs import GridField, TruncatedLinear
        >>> noisy = [[12.0, 31.0, float("nan")]]
        >>> field = GridField.from_gaussian(noisy, [10, 20, 30], 2.0, TruncatedLinear(0.5))
        >>> field.labels, field.log_potentials[0, 0]
        ((10, 20, 30), array([ -0.5,  -8. , -40.5]))
        """
        owner = f"{_OWNER}.from_gaussian"
        planes, names = potentials.from_gaussian(image, levels, sigma, labels, owner)
        return cls(planes, smoothness, labels=names, neighbours=neighbours)

    @classmethod
    def from_confusion(
        cls,
        image: Any,
        confusion: Any,
        smoothness: AbstractSmoothness,
        *,
        labels: Any,
        observed: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from an image of labels that were mistaken for each other.

        .. math:: \log \phi_i(k) = \log p(y_i \mid x_i = k)

        Parameters
        ----------
        image : array_like of shape (height, width) or (depth, height, width)
            The label that each pixel shows.
        confusion : array_like of shape (K, K) or (K, number of observed values)
            ``confusion[k, j]`` is the probability that label k shows as value j; rows sum to 1.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
            The log potential of an edge.
        labels : sequence of K Hashable
            Names of the labels.
        observed : sequence of Hashable, optional
            The values that the image may have, in the order of the columns; the labels if not
            given.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field.

        Raises
        ------
        LabelError
            If the image has another value; names the pixel.
        InputError
            If a row of the confusion is no distribution.

        Examples
        --------
        >>> from credo.graphs import GridField, Potts
        >>> field = GridField.from_confusion(
        ...     [["sea", "sky"]], [[0.9, 0.1], [0.2, 0.8]], Potts(1.0), labels=["sky", "sea"])
        >>> field.log_odds.round(3)
        array([[ 2.079, -1.504]])
        """
        owner = f"{_OWNER}.from_confusion"
        planes, names = potentials.from_confusion(image, confusion, labels, observed, owner)
        return cls(planes, smoothness, labels=names, neighbours=neighbours)

    @classmethod
    def from_posterior(
        cls,
        posterior: Any,
        smoothness: AbstractSmoothness,
        *,
        shape: Any = None,
        priors: Any = None,
        neighbours: int | None = None,
    ) -> Self:
        r"""Make a field from the posterior that a classifier gave for each pixel.

        .. math:: \log \phi_i(k) = \log p(k \mid y_i) - \log \pi_k

        Parameters
        ----------
        posterior : PosteriorMap, Posterior, or array_like of shape (…, K) or (n, K)
            Probabilities of the labels at each pixel; those of an array are named 0, …, K - 1.
        smoothness : Ising, Potts, TruncatedLinear or TruncatedQuadratic
            The log potential of an edge.
        shape : tuple of int, optional
            Shape of the picture whose pixels, in row-major order, are the rows of a Posterior or
            of an array of shape (n, K).
        priors : dict or sequence of K float, optional
            The priors :math:`\pi` that the posterior was made with: they are divided out, and the
            field's own takes their place. If not given, they stay.
        neighbours : int, optional
            4 or 8 in two dimensions, 6 in three.

        Returns
        -------
        GridField
            The field, with the labels of the posterior.

        Raises
        ------
        ShapeError
            If the rows do not fit the shape.
        InputError
            If a prior is zero and the posterior gives its label some probability.

        Examples
        --------
        >>> from credo import Posterior
        >>> from credo.graphs import GridField, Potts
        >>> rows = Posterior.from_probabilities([[0.9, 0.1], [0.5, 0.5]], ["sky", "sea"])
        >>> field = GridField.from_posterior(rows, Potts(1.0), shape=(1, 2), priors=[0.9, 0.1])
        >>> field.log_odds.round(3)
        array([[0.   , 2.197]])
        """
        owner = f"{_OWNER}.from_posterior"
        planes, names = posteriors.from_posterior(posterior, shape, priors, owner)
        return cls(planes, smoothness, labels=names, neighbours=neighbours)
