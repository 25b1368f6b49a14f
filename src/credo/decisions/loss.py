"""``Loss``: what each act costs under each truth."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, final

import numpy as np
import scipy

from credo import _checks as check
from credo._files import local_path, written_whole
from credo._results import SHOWN, Immutable, Storable, html_table, number
from credo._types import F64, Int, Label, Labels
from credo.exceptions import FileFormatError, InputError, LabelError, ShapeError

#: The largest loss. A sum of a hundred million of them is still below the largest float64.
_MOST = 1e300
#: The largest matrix that ``zero_one`` makes, and the largest file: larger ones are mistakes.
_MOST_BYTES, _MOST_FILE = 2**30, 2**24
#: Far above the rounding of float64, and far below any difference between losses that is meant.
_NEXT_TO_NOTHING = 1e-12


@final
class Loss(Immutable, Storable):
    r"""Hold the loss :math:`L_{ka}` of taking act :math:`a` when the truth is :math:`k`.

    Rows are true classes, columns are acts (actions), both named; their numbers may differ.

    Parameters
    ----------
    matrix : array-like of shape (K, A) or (n, K, A)
        Finite losses; negative ones are gains. With a leading axis, each row of data has a
        loss matrix of its own.
    truths : iterable of K names, optional
        What may be the case; without names the index of a frame, or 0, …, K - 1.
    acts : iterable of A names, optional
        What may be done; without names the columns of a frame, the truths if there are as many, or
        0, …, A - 1 where truths have no names either.
    reject
        Which of the acts is "send it to a person", if any; reports then show it apart.
        It may not cost less than all others whatever is true.

    Raises
    ------
    InputError
        If an entry is not finite, names repeat, or the shape does not fit the names.

    See Also
    --------
    credo.decide : The act with the least expected loss.
    Loss.from_dict, Loss.zero_one, Loss.class_costs, Loss.gains, Loss.from_csv : Ways to make one.

    Notes
    -----
    Immutable. Adding a constant to a row, or multiplying all by a positive number, changes no
    decision.

    References
    ----------
    .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
       section 1.3.

    Examples
    --------
    >>> import credo
    >>> credo.Loss([[0, 1000], [1, 0]], ["cancer", "normal"], ["treat", "discharge"])
    truth \ act  treat  discharge
    cancer           0       1000
    normal           1          0
    """

    __slots__ = ("acts", "matrix", "reject", "truths")
    matrix: F64  #: The losses, read-only, shape (K, A) or (n, K, A).
    truths: Labels  #: Names of the rows.
    acts: Labels  #: Names of the columns.
    reject: Label | None  #: Name of the reject act, or None.

    def __init__(
        self,
        matrix: Any,
        truths: Iterable[Any] | None = None,
        acts: Iterable[Any] | None = None,
        *,
        reject: Any = None,
    ) -> None:
        if truths is None or acts is None:
            truths, acts = _names_for(matrix, truths, acts)
        rows, columns = check.labels(truths, "truths of Loss"), check.labels(acts, "acts of Loss")
        check.frame(matrix, columns, "acts of Loss")
        check.frame(matrix, rows, "truths of Loss", axis="index")
        cells = np.array(check.finite(matrix, "matrix of Loss"))
        shape = len(rows), len(columns)
        if cells.ndim not in (2, 3) or cells.shape[-2:] != shape:
            turned = " It looks transposed: pass matrix.T." * (cells.shape[-2:] == shape[::-1])
            raise ShapeError(
                f"Loss needs one row per truth and one column per act, shape {shape} or "
                f"(n, {shape[0]}, {shape[1]}). Got shape {cells.shape}.{turned}"
            )
        if np.abs(cells).max(initial=0.0) > _MOST:
            odd = cells.flat[np.abs(cells).argmax()]
            raise InputError(
                f"A loss must be at most {_MOST:g} in size, so that sums of losses stay finite. "
                f"Got {odd:g}."
            )
        if reject is not None:
            _check_reject(cells, rows, columns, check.position(reject, columns, "act", "Loss"))
        name = check.plain(reject)
        self._set(matrix=check.frozen(cells), truths=rows, acts=columns, reject=name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self.matrix, self.truths, self.acts, self.reject)

    # --- ways to make one -------------------------------------------------------------------

    @classmethod
    def zero_one(cls, labels: Iterable[Any]) -> Self:
        r"""Charge one for each mistake: the best act is then the most probable label.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.zero_one(["a", "b"])
        truth \ act  a  b
        a            0  1
        b            1  0
        """
        names = check.labels(labels, "labels of Loss.zero_one")
        return cls.class_costs(dict.fromkeys(names, 1.0))

    @classmethod
    def class_costs(cls, costs: Mapping[Any, float]) -> Self:
        r"""Charge a mistake by its true class: :math:`L_{ka} = \lambda_k [a \neq k]`.

        Parameters
        ----------
        costs
            ``{label: cost of missing it}``.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.class_costs({"fraud": 20, "fair": 1})
        truth \ act  fraud  fair
        fraud            0    20
        fair             1     0
        """
        if not isinstance(costs, Mapping):
            raise InputError("Loss.class_costs needs {label: cost}, so that costs have names.")
        names = check.labels(costs, "labels of Loss.class_costs")
        values = check.finite(list(costs.values()), "costs of Loss.class_costs")
        if 8 * len(names) ** 2 > _MOST_BYTES:
            raise InputError(
                f"Loss.class_costs: a matrix of {len(names)} labels by {len(names)} acts would "
                f"take {8 * len(names) ** 2 / 2**30:.3g} GB. For the most probable label and its "
                "probability use Posterior.mode() and Posterior.confidence(), which need no matrix."
            )
        return cls(values[:, None] * (1.0 - np.eye(len(names))), names, names)

    @classmethod
    def from_dict(cls, losses: Mapping[tuple[Any, Any], float]) -> Self:
        """Make a loss from ``{(truth, act): loss}``; a missing cell is an error that names it.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.from_dict({("cancer", "treat"): 0, ("cancer", "discharge"): 1000,
        ...                       ("normal", "treat"): 1})
        Traceback (most recent call last):
        ...
        credo.exceptions.InputError: Loss.from_dict: no loss for truth 'normal' and act...
        """
        return cls(*_cells(losses, "Loss.from_dict", "loss"))

    @classmethod
    def gains(cls, gains: Any, truths: Any = None, acts: Any = None) -> Self:
        r"""Make a loss from gains, where more is better: the loss is minus the gain.

        Parameters
        ----------
        gains
            ``{(truth, act): gain}``, or an array with ``truths`` and ``acts``.
        truths, acts
            Names, if ``gains`` is an array.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.gains({("rain", "umbrella"): 2, ("rain", "walk"): -5,
        ...                   ("sun", "umbrella"): 0, ("sun", "walk"): 3})
        truth \ act  umbrella  walk
        rain               -2     5
        sun                 0    -3
        """
        if isinstance(gains, Mapping):
            gains, truths, acts = _cells(gains, "Loss.gains", "gain")
        elif truths is None or acts is None:
            raise InputError(
                "Loss.gains needs truths and acts with an array, so that rows and columns have "
                "names; or pass {(truth, act): gain}."
            )
        return cls(0.0 - check.finite(gains, "gains of Loss.gains"), truths, acts)

    @classmethod
    def from_csv(cls, path: str | os.PathLike[str], *, reject: str | None = None) -> Self:
        """Read a loss: acts in the first line, a truth in the first cell of each other line.

        Parameters
        ----------
        path
            The file. Its names are read as text. Where the first line has no comma, semicolons
            separate cells, and a comma may be the decimal point.
        reject
            Which of its acts is the reject act, if any.

        Returns
        -------
        Loss
            With rows and columns in the order of the file.

        Raises
        ------
        FileFormatError
            If a cell is not a number or a line has the wrong length; the line is named.

        See Also
        --------
        Loss.to_csv : Write one.
        """
        return cls(*_read_csv(path), reject=reject)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the loss with all digits, for ``from_csv``; the file is whole or absent."""
        if self.is_per_row:
            raise InputError("Loss.to_csv writes one matrix; this loss has one per row.")
        for names in (self.truths, self.acts):
            texts = [str(name) for name in names]
            for text in texts:
                bare = text.strip() == text != "" and text.isprintable()
                if not bare or texts.count(text) > 1:
                    raise InputError(
                        f"Loss.to_csv: the name {text!r} would not be read back: it is empty, not "
                        "unique as text, has spaces at an end, or characters that do not print."
                    )
        with written_whole(path) as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow(["truth \\ act", *self.acts])
            for truth, row in zip(self.truths, self.matrix.tolist(), strict=True):
                writer.writerow([truth, *map(repr, row)])

    # --- variations -------------------------------------------------------------------------

    def with_reject(self, cost: Any, name: Label = "reject") -> Loss:
        r"""Add an act that costs the same whatever the truth, such as asking a person.

        With zero-one losses this is Chow's rule: reject unless some
        :math:`p_k \ge 1 - \text{cost}`.

        Parameters
        ----------
        cost : float, or {truth: cost}, or array-like of shape (K,)
            What rejecting costs; it may depend on the truth. Below the least loss of every truth it
            is refused, since every case would be rejected; negative ones have a sense only beside
            gains.
        name
            Name of the new act, which comes last.

        Returns
        -------
        Loss
            With one more column.

        References
        ----------
        .. [1] C. K. Chow, "On optimum recognition error and reject tradeoff", IEEE Transactions
           on Information Theory 16 (1970), pages 41-46.

        Examples
        --------
        >>> import credo
        >>> credo.Loss.zero_one(["a", "b"]).with_reject(0.2)
        truth \ act  a  b  reject
        a            0  1     0.2
        b            1  0     0.2
        """
        if name is None or name in self.acts:
            fault = "an act needs a name" if name is None else f"there is an act {name!r} already"
            raise InputError(f"Loss.with_reject: {fault}. Pass name=….")
        if not isinstance(cost, Mapping) and np.ndim(cost) == 0:
            cost = np.full(len(self.truths), check.number(cost, "cost of Loss.with_reject"))
        column = check.per_label(cost, self.truths, "cost of Loss.with_reject")[:, None]
        wide = np.broadcast_to(column, (*self.matrix.shape[:-1], 1))
        cells = np.concatenate([self.matrix, wide], axis=-1)
        return Loss(cells, self.truths, (*self.acts, name), reject=name)

    def without_reject(self) -> Loss:
        """Return the loss without its reject act."""
        keep = [a for a, act in enumerate(self.acts) if self.reject is None or act != self.reject]
        if not keep:
            raise InputError(f"The loss has no act but the reject act {self.reject!r}. Add some.")
        return Loss(self.matrix[..., keep], self.truths, [self.acts[a] for a in keep])

    def regrets(self) -> Loss:
        """Return what each act costs more than the best one for each truth; decisions stay."""
        least = self.matrix.min(axis=-1, keepdims=True)
        return Loss(self.matrix - least, self.truths, self.acts, reject=self.reject)

    def per_row(self, matrices: Any) -> Loss:
        """Give every row of data a loss matrix of its own, with these truths and acts.

        Parameters
        ----------
        matrices : array-like of shape (n, K, A)
            ``matrices[i, k, a]`` is the loss of act ``a`` in row ``i`` if the truth is ``k``.

        Examples
        --------
        A missed fraud costs the amount, an alarm costs 10:

        >>> import numpy as np, credo
        >>> amount = np.array([5.0, 500.0])
        >>> losses = np.zeros((2, 2, 2))
        >>> losses[:, 0, 1], losses[:, 1, 0] = amount, 10
        >>> loss = credo.Loss.zero_one(["fraud", "fair"]).per_row(losses)
        >>> credo.decide([[0.1, 0.9], [0.1, 0.9]], loss, labels=["fraud", "fair"]).acts
        array(['fair', 'fraud'], dtype='<U5')
        """
        if np.ndim(matrices) != 3:
            raise ShapeError(
                f"Loss.per_row needs shape (n, {len(self.truths)}, {len(self.acts)}). "
                f"Got shape {np.shape(matrices)}."
            )
        return Loss(matrices, self.truths, self.acts, reject=self.reject)

    # --- looking inside ---------------------------------------------------------------------

    @property
    def is_per_row(self) -> bool:
        """Whether every row of data has a matrix of its own."""
        return self.matrix.ndim == 3

    def __getitem__(self, cell: tuple[Any, Any]) -> Any:
        """Return the loss of ``truth, act``: a number, or one per row."""
        k = check.position(cell[0], self.truths, "truth", "Loss")
        a = check.position(cell[1], self.acts, "act", "Loss")
        return self.matrix[:, k, a] if self.is_per_row else float(self.matrix[k, a])

    def of(self, truth: Int, act: Int) -> F64:
        """Return the loss of each row's act under its truth, both by position."""
        rows = (np.arange(len(truth)),) if self.is_per_row else ()
        return self.matrix[*rows, truth, act]

    def rows_for(self, labels: Labels, who: str = "decide") -> Int:
        """Return the row of each label; the names must be the truths, in any order."""
        odd = sorted({*labels} ^ {*self.truths}, key=[*labels, *self.truths].index)
        if not odd:
            return check.order(labels, self.truths, "loss")
        remedy = check.hint(odd[0], self.truths if odd[0] in labels else labels)
        if {*labels} == {*self.acts}:
            remedy = (
                " The acts of the loss are these labels: it looks transposed. Rows are truths, "
                "columns are acts."
            )
        raise LabelError(
            f"{who}: the labels ({check.listing(labels)}) and the loss's truths "
            f"({check.listing(self.truths)}) differ in {odd[0]!r}.{remedy}"
        )

    def dominated_acts(self) -> list[Dominance]:
        r"""List acts that no posterior would ever need.

        An act is dominated if some mixture of the others has a loss at most as large under
        every truth. Found by linear programming.

        Returns
        -------
        list of Dominance
            Each names the act and the mixture that replaces it.

        References
        ----------
        .. [1] J. O. Berger, *Statistical Decision Theory and Bayesian Analysis*, 2nd ed., 1985,
           section 1.3.2 (inadmissible acts).

        Examples
        --------
        >>> import credo
        >>> loss = credo.Loss.zero_one(["a", "b"]).with_reject(0.6)
        >>> print(*loss.dominated_acts())
        'reject' is never better than 0.5 'a' + 0.5 'b'
        """
        if self.is_per_row:
            raise InputError("Loss.dominated_acts needs one matrix, not one per row.")
        left, found = list(range(len(self.acts))), {}
        for replacement in (_single, _mixture):
            for act in reversed(left.copy()):
                others = [a for a in left if a != act]
                shares = replacement(self.matrix[:, act], self.matrix[:, others])
                if shares is not None:  # a dominated act no longer serves to dominate others
                    left = others
                    named = zip((self.acts[a] for a in others), shares.tolist(), strict=True)
                    mixture = {name: share for name, share in named if share > 0}
                    found[act] = Dominance(self.acts[act], mixture)
        return [found[act] for act in sorted(found)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Loss):
            return NotImplemented
        names = (self.truths, self.acts, self.reject) == (other.truths, other.acts, other.reject)
        return names and np.array_equal(self.matrix, other.matrix)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if not self.is_per_row:
            return text_table(self.matrix, self.truths, self.acts)
        head = f"Loss for {len(self.matrix)} rows, each with its own matrix; the mean of them:"
        return f"{head}\n{text_table(self.matrix.mean(axis=0), self.truths, self.acts)}"

    def _repr_html_(self) -> str:
        cells = self.matrix.mean(axis=0) if self.is_per_row else self.matrix
        return html_matrix(cells, self.truths, self.acts)


def as_loss(
    loss: Any, who: str, *, per_row: bool = True, n_rows: int | None = None, kept: Any = None
) -> Loss:
    """Check that a loss is one, with a single matrix or one for each of ``n_rows``.

    Of losses per row, those of the rows ``kept`` are returned.
    """
    if not isinstance(loss, Loss):
        raise InputError(
            f"{who} needs a Loss with named truths and acts. Got {type(loss).__name__}. Make one "
            "with credo.Loss(matrix, truths, acts)."
        )
    if not loss.is_per_row:
        return loss
    if not per_row:
        raise InputError(f"{who} needs a loss with one matrix for all rows, not one per row.")
    if n_rows is not None and len(loss.matrix) != n_rows:
        raise ShapeError(
            f"{who}: the loss has {len(loss.matrix)} matrices for {n_rows} rows; one per row is "
            "needed."
        )
    return loss if kept is None else loss.per_row(loss.matrix[kept])


def _check_reject(cells: F64, truths: Labels, acts: Labels, reject: int) -> None:
    """Refuse a reject act that is better than all others whatever is the case."""
    if len(acts) == 1:
        return
    cost, least = cells[..., reject], np.delete(cells, reject, axis=-1).min(axis=-1)
    if (cost < least).all():
        raise InputError(
            f"Loss: {acts[reject]!r} costs less than any other act whatever is true, so that every "
            f"case would be rejected: {cost.flat[0]:g}, where {truths[0]!r} is true and the best "
            f"act costs {least.flat[0]:g}. Pass a cost above that of the best act."
        )


def _names_for(matrix: Any, truths: Any, acts: Any) -> tuple[Any, Any]:
    """Return the names of rows and columns that were not given."""
    shape = np.shape(matrix)[-2:]
    if len(shape) < 2:
        raise ShapeError(
            f"Loss needs one row per truth and one column per act. Got shape {np.shape(matrix)}."
        )
    rows = check.names_of(matrix, "index") if truths is None else truths
    columns = check.names_of(matrix) if acts is None else acts
    if columns is None and rows is None:
        return range(shape[0]), range(shape[1])
    if columns is None and shape[0] != shape[1]:
        raise InputError(
            f"Loss: which are the {shape[1]} acts for these {shape[0]} truths? Pass acts=[...]."
        )
    return range(shape[0]) if rows is None else rows, rows if columns is None else columns


def _rebuild(matrix: F64, truths: Labels, acts: Labels, reject: Label | None) -> Loss:
    """Make the same loss again, for copies."""
    return Loss(matrix, truths, acts, reject=reject)


def _cells(losses: Any, who: str, what: str) -> tuple[F64, Labels, Labels]:
    """Turn ``{(truth, act): number}`` into a full matrix with names in order of appearance."""
    if not isinstance(losses, Mapping):
        raise InputError(
            f"{who} needs {{(truth, act): {what}}}. Got {type(losses).__name__}. For a matrix, "
            "use credo.Loss(matrix, truths, acts)."
        )
    for key in losses:
        if not isinstance(key, tuple) or len(key) != 2:
            raise InputError(f"{who}: each key must be a pair (truth, act). Got {key!r}.")
    pairs = {(check.plain(truth), check.plain(act)): v for (truth, act), v in losses.items()}
    truths = check.labels(dict.fromkeys(truth for truth, _ in pairs), f"truths of {who}")
    acts = check.labels(dict.fromkeys(act for _, act in pairs), f"acts of {who}")
    missing = [(truth, act) for truth in truths for act in acts if (truth, act) not in pairs]
    if missing:
        turned = [cell for cell in missing if cell[::-1] in pairs]
        truth, act = (turned or missing)[0]
        note = " The pair is there the other way round." * bool(turned)
        raise InputError(
            f"{who}: no {what} for truth {truth!r} and act {act!r}.{note} Truths: "
            f"{check.listing(truths)}. Acts: {check.listing(acts)}."
        )
    cells = [[pairs[truth, act] for act in acts] for truth in truths]
    return check.finite(cells, f"{what} matrix of {who}"), truths, acts


# --- dominance ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Dominance:
    """An act and the mixture of other acts that is at least as good under every truth.

    Attributes
    ----------
    act
        The act that is never needed.
    mixture
        Share of each act in the mixture that replaces it.
    """

    act: Label
    mixture: dict[Label, float]

    def __str__(self) -> str:
        """Say it in a sentence."""
        parts = [repr(a) if w == 1.0 else f"{w:.4g} {a!r}" for a, w in self.mixture.items()]
        return f"{self.act!r} is never better than {' + '.join(parts)}"


def _single(own: F64, others: F64) -> F64 | None:
    """Choose a single act that never costs more, as shares of the others."""
    better = np.flatnonzero((others <= own[:, None]).all(axis=0))
    return np.eye(others.shape[1])[better[0]] if better.size else None


def _mixture(own: F64, others: F64) -> F64 | None:
    """Find shares of the others whose mixed loss is nowhere above ``own``."""
    n_truths, n_others = others.shape
    if n_others < 2:
        return None
    # Each truth's row from zero, and for the solver on a scale of its own; neither changes a
    # comparison within a row.
    least = np.minimum(own, others.min(axis=1))
    own, others = own - least, others - least[:, None]
    most = np.maximum(own, others.max(axis=1))
    scale = np.where(most > 0, most, 1.0)
    # Least t with Σ w_a L_ka ≤ L_k,act + t for every truth, w on the simplex.
    result = scipy.optimize.linprog(
        c=[0.0] * n_others + [1.0],
        A_ub=np.column_stack([others / scale[:, None], -np.ones(n_truths)]),
        b_ub=own / scale,
        A_eq=[[1.0] * n_others + [0.0]],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * n_others + [(None, None)],
    )
    shares = np.where(result.x[:-1] < _NEXT_TO_NOTHING, 0.0, result.x[:-1])
    shares /= shares.sum()
    mixed = others @ shares
    return None if (mixed > own + _NEXT_TO_NOTHING * (mixed + own)).any() else shares


# --- files and text -------------------------------------------------------------------------------


def _read_csv(path: str | os.PathLike[str]) -> tuple[list[list[float]], list[str], list[str]]:
    """Read matrix, truths and acts; every error names the line."""
    name = local_path(path)
    if Path(name).stat().st_size > _MOST_FILE:
        raise FileFormatError(f"a loss matrix of more than {_MOST_FILE >> 20} MB is refused.", name)
    try:
        text = Path(name).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"the text is not UTF-8 ({error.reason}). Save the file as UTF-8.", name
        ) from error
    first = text.lstrip().partition("\n")[0]
    separator, point = (",", ".") if "," in first else (";", ",")  # as tables are read
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    try:
        lines = [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise FileFormatError(f"{error}.", name, reader.line_num) from error
    acts = [cell.strip() for cell in lines[0][1][1:]] if lines else []
    if len(lines) < 2 or not acts or not all(acts):
        raise FileFormatError(
            "the first line must have a corner cell and the name of each act, separated by commas "
            "or semicolons; a line for each truth follows. "
            f"Got {lines[0][1] if lines else 'nothing'}.",
            name,
            *(line for line, _ in lines[:1]),
        )
    rows: dict[str, list[float]] = {}
    for line, (truth, *written) in lines[1:]:
        cells = [cell.replace(point, ".") for cell in written]
        fault = _line_fault(truth.strip(), cells, rows, acts)
        if fault:
            raise FileFormatError(fault, name, line)
        rows[truth.strip()] = [float(cell) for cell in cells]
    return list(rows.values()), list(rows), acts


def _line_fault(truth: str, cells: list[str], rows: Mapping[str, Any], acts: list[str]) -> str:
    """Say what is wrong with a line of losses, if anything is."""
    if len(cells) != len(acts):
        return f"expected a truth and {len(acts)} losses, got {len(cells) + 1} cells."
    if not truth or truth in rows:
        return f"the truth {truth!r} occurs twice." if truth else "the name of the truth is empty."
    for act, cell in zip(acts, cells, strict=True):
        try:
            good = np.isfinite(float(cell)) and "_" not in cell
        except ValueError:
            good = False
        if not good:
            return f"the loss of act {act!r} must be a finite number, got {cell!r}."
    return ""


def html_matrix(cells: F64, rows: Sequence[Label], columns: Sequence[Label]) -> str:
    """Return a matrix with its truths and acts for notebooks."""
    lines = zip(rows[:SHOWN], cells.tolist(), strict=False)
    return html_table("", ("truth \\ act", *columns), ((str(k), *v) for k, v in lines), len(rows))


def text_table(cells: F64, rows: Sequence[Label], columns: Sequence[Label]) -> str:
    """Return a matrix with its truths and acts as text."""
    lines = [["truth \\ act", *map(str, columns)]]
    lines += [
        [str(name), *map(number, row)] for name, row in zip(rows[:SHOWN], cells, strict=False)
    ]
    first, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    texts = ["  ".join([line[0].ljust(first), *map(str.rjust, line[1:], widths)]) for line in lines]
    return "\n".join([*texts, *[f"… {len(rows) - SHOWN} more"] * (len(rows) > SHOWN)])
