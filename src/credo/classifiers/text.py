"""``TextClassifier``: naive Bayes of documents, by their words."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, TypeAlias, final, get_args

import numpy as np
import scipy
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from credo import _checks as check
from credo._types import F64, Int, Label, PerLabel, RandomState
from credo.classifiers._labels import join_weights, read_labels, union_of
from credo.classifiers.complement import (
    ComplementTerm,
    DocumentSketch,
    learn_complement,
    unit_rows,
)
from credo.classifiers.explanation import Explanation
from credo.classifiers.naive_bayes import TermClassifier
from credo.classifiers.naive_terms import (
    ColumnNames,
    ColumnPart,
    SparseRows,
    SparseTerm,
    Term,
    check_size,
    class_weights,
    estimate_term,
)
from credo.exceptions import InputError
from credo.families.moments import Rows

_OWNER = "TextClassifier"
#: What would choose words batch by batch, and what it must be.
_CHOICES = {"min_df": 1, "max_df": 1.0, "max_features": None}
#: What the complement model chooses its smoothing from.
_SMOOTHINGS = (1.0, 0.1)

Model: TypeAlias = Literal["complement", "multinomial", "bernoulli"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class WordSummary:
    """Documents of each class, and the counts of words in them; immutable, and a monoid.

    Of the complement model, the sums of log counts at length one, in how many documents each word
    is, and perhaps a few documents.
    """

    model: Model
    classes: Annotated[Any, "K"]
    #: Weight of the documents of each class.
    documents: Annotated[F64, "K", ">= 0"]
    #: Sorted words, or a range of slots.
    words: Annotated[tuple[str, ...] | range, "V", "distinct"]
    counts: Annotated[F64, "K V", ">= 0"]
    frequencies: Annotated[F64, "V", ">= 0"] | None = None
    sketch: Annotated[DocumentSketch, ""] | None = None

    def __post_init__(self) -> None:
        for array in (self.documents, self.counts, self.frequencies):
            if array is not None:
                check.frozen(array)

    def _check(self) -> None:
        """Refuse parts from a file that no documents have."""
        kept, fits = self.sketch, (self.model == "complement") == (self.frequencies is not None)
        if kept is not None and self.frequencies is not None:
            fits = bool((kept.codes < len(self.documents)).all())
            fits = fits and bool((kept.words < len(self.words)).all())
            fits = fits and bool((self.documents[kept.codes] > 0).all())
        if not fits or (kept is not None and self.frequencies is None):
            raise InputError("The summary is not one of documents of its model.")

    @property
    def weights(self) -> F64:
        """Weight of each class, which is that of its documents."""
        return self.documents

    def merge(self, other: Self) -> WordSummary:
        """Join two summaries: classes and words of both are kept."""
        if self._kind != other._kind:
            raise InputError(
                f"{_OWNER} can only join what has the same model, vectorizer and calibration."
            )
        classes, here, there = union_of(self.classes, other.classes, _OWNER)
        words, mine, theirs = self._join_words(other)
        check_size(len(classes), len(words), _OWNER)
        counts = np.zeros((len(classes), len(words)))
        counts[np.ix_(here, mine)] += self.counts
        counts[np.ix_(there, theirs)] += other.counts
        documents = join_weights(self.documents, other.documents, here, there)
        frequencies = sketch = None
        if self.frequencies is not None and other.frequencies is not None:
            frequencies = np.zeros(len(words))
            frequencies[mine] += self.frequencies
            frequencies[theirs] += other.frequencies
        if self.sketch is not None and other.sketch is not None:
            sketch = self.sketch.merge(other.sketch, (here, there), (mine, theirs), len(words))
        return WordSummary(self.model, classes, documents, words, counts, frequencies, sketch)

    @property
    def _kind(self) -> tuple[Any, ...]:
        """What must agree so that summaries can be joined."""
        return self.model, type(self.words), self.sketch is None

    def _join_words(self, other: Self) -> tuple[Any, Any, Any]:
        """Return the words of both, sorted, and where those of each went."""
        if self.words == other.words:
            return self.words, np.arange(len(self.words)), np.arange(len(self.words))
        if isinstance(self.words, range):
            raise InputError(
                f"{_OWNER}: {len(self.words)} slots cannot be joined with {len(other.words)}. Use "
                "the same hashing."
            )
        both = tuple(sorted({*self.words, *other.words}))
        place = {word: w for w, word in enumerate(both)}
        mine, theirs = ([place[w] for w in words] for words in (self.words, other.words))
        return both, np.array(mine, dtype=np.intp), np.array(theirs, dtype=np.intp)

    def mutual_information(self) -> F64:
        r"""Return the mutual information of each word and the class, in nats, (V,).

        .. math:: I = \sum_{t, k} p(t, k) \log \frac{p(t, k)}{p(t)\, p(k)}

        For the Bernoulli model t says whether a document has the word; for the multinomial model,
        whether a position holds it, and for the complement model, with log counts for counts.
        """
        totals = self.documents if self.model == "bernoulli" else self.counts.sum(axis=1)
        everything = totals.sum()
        result = np.zeros(len(self.words))
        if not everything > 0:
            return result
        p_class = (totals / everything)[:, None]
        for block in check.blocks(len(result), check.block_rows(len(totals))):
            present = self.counts[:, block] / everything
            for joint in (present, np.maximum(p_class - present, 0.0)):
                apart = joint.sum(axis=0) * p_class  # what is impossible adds nothing
                ratio = np.divide(joint, apart, out=np.ones_like(joint), where=joint > 0)
                result[block] += scipy.special.xlogy(joint, ratio).sum(axis=0)
        return np.maximum(result, 0.0)

    def choose(self, vocabulary: str, max_words: int | None) -> Int:
        """Return the positions of the words to use, in order."""
        often = self.counts.sum(axis=0) if self.frequencies is None else self.frequencies
        chosen = np.flatnonzero(often > 0)
        if vocabulary in ("frequent", "relevant") or max_words is not None:
            values = self.mutual_information() if vocabulary == "relevant" else often
            most = 1000 if max_words is None else max_words
            chosen = np.sort(chosen[np.argsort(-values[chosen], kind="stable")[:most]])
        elif isinstance(self.words, range) and self.frequencies is None:
            chosen = np.arange(len(self.words))
        if not len(chosen):
            raise InputError(
                f"{_OWNER}: no words are left to learn from. Pass documents with words."
            )
        return chosen


class TextClassifier(TermClassifier):
    r"""Classify documents by their words, with naive Bayes.

    .. math:: p(k \mid x) \propto \pi_k \exp\Big(b_k - \frac1T \sum_w z_w r_w
              \log \bar\theta_{kw}\Big), \qquad
              z_w = \frac{\log(1 + x_w)}{\sqrt{\sum_v \log^2(1 + x_v)}}

    The complement model describes a class by the words of all others,
    :math:`\bar\theta_{kw} \propto r_w \sum_{j \ne k} S_{jw} + \alpha`, where S are the sums of z
    over the documents of a class. Rare words weigh more,
    :math:`r_w \propto 1 + \log((1 + n)/(1 + n_w))` for n documents, :math:`n_w` of them with the
    word; one on average. Temperature T and biases b make the posterior one that can be believed:
    they minimise the log loss of documents that are left out. The models of the textbook are

    .. math:: \pi_k\, \frac{(\sum_w x_w)!}{\prod_w x_w!} \prod_w \theta_{kw}^{x_w}
              \qquad \text{and} \qquad
              \pi_k \prod_w \theta_{kw}^{x_w} (1 - \theta_{kw})^{1 - x_w}

    The multinomial model counts words; the Bernoulli model asks which occur, and learns from
    absent words, too. ``fit`` and all other methods take documents as a column of text: a list, an
    array, a Series or an Arrow array of str.

    Parameters
    ----------
    model : {"complement", "multinomial", "bernoulli"}
        Words of all other classes, calibrated; counts; or occurrence.
    vocabulary : {"all", "no_stop_words", "frequent", "relevant"}
        Which words: all, all but stop words, those that occur most (of the complement model, in
        most documents), or those with the largest mutual information with the class. The choice is
        made from the summary, without a second pass over the documents, and again when more come.
    max_words : int, optional
        How many words at most; 1000 by default for ``"frequent"`` and ``"relevant"``. With the
        other two, the most frequent of their words are taken.
    smoothing : float, optional
        Artificial observations α: :math:`(n_{kw} + \alpha)/(n_k + \alpha V)` for the multinomial
        and the complement model, :math:`(N_{kw} + \alpha)/(N_k + 2 \alpha)` for the Bernoulli
        model. 1 by default; for the complement model, which needs α > 0, the better of 1 and 0.1.
    smoothing_target : {"uniform", "marginal", "frequencies"}
        Towards equal probabilities, or towards those of the words in all classes together,
        themselves smoothed by α or as they are.
    stop_words : "english" or collection of str
        What ``"no_stop_words"`` leaves out, and only that: scikit-learn's English list, or your
        own. A vectorizer with stop words keeps its own instead.
    hashing : int, optional
        Hash words into so many slots: for streams whose words would not fit into memory. Slots
        have numbers instead of words.
    vectorizer : CountVectorizer or HashingVectorizer, optional
        Of scikit-learn, with your own tokens, n-grams or accents; ``CountVectorizer()`` by
        default. In a stream it must keep all words: no ``min_df``, ``max_df`` or
        ``max_features``.
    priors : None, "uniform", array-like or mapping from label
        Class probabilities; None for the frequencies, weighted.
    calibrated : bool
        Of the complement model: keep the words of at most 2000 documents, chosen by a hash of
        their text, and choose temperature, biases and smoothing by them. They become part of the
        model and of its file. Otherwise nothing of a single document is kept,
        :math:`T = 1/(K - 1)`, b = 0, α = 1, and posteriors are less to be believed.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted.
    priors_ : ndarray of shape (K,)
        Probability of each class.
    words_ : tuple
        The words that are used, or the numbers of slots.
    log_probabilities_ : ndarray of shape (K, V)
        Logarithm of each :math:`\theta_{kw}`, or :math:`\bar\theta_{kw}`.
    smoothing_, temperature_ : float
        α and T of the complement model.
    biases_ : ndarray of shape (K,)
        Its b, whose sum is zero.
    n_parameters_ : int
        Numbers in the model: priors, word probabilities and what else was learned.
    summary_ : WordSummary
        Counts of all words, chosen or not, and the documents that are kept: what ``partial_fit``
        and ``merge`` continue from.

    See Also
    --------
    credo.NaiveBayes : For columns, or sparse counts that you already have.

    Notes
    -----
    Exact to rounding, in the log domain. Words that fit has not seen are left out, so
    ``log_density`` is that of the known words, given how many they are. Fitting is one pass; a
    stream gives the same model as one fit.

    Words of one document are far from independent: posteriors of the multinomial and the Bernoulli
    model are near 0 and 1, true or not. The complement model has no density, so ``log_joint`` and
    ``log_density`` refuse. Each kept document is scored as if it, with its copies, had been left
    out of all sums, which has a closed form, O(K) for each of its words. Newton's method then fits
    T and b, where :math:`\log(1/T)` is expected at :math:`\log(K - 1) \pm 1`, since to first order
    the words of all other classes show a class K - 1 times less than its own, and b at 0 ± 1; few
    documents change little. Of 1 and 0.1, the α with the lower loss is taken.

    References
    ----------
    .. [1] A. McCallum and K. Nigam, "A comparison of event models for naive Bayes text
       classification", AAAI workshop on learning for text categorization, 1998.
    .. [2] C. D. Manning, P. Raghavan and H. Schütze, *Introduction to Information Retrieval*,
       2008, sections 13.2 to 13.5.
    .. [3] J. D. M. Rennie, L. Shih, J. Teevan and D. R. Karger, "Tackling the poor assumptions of
       naive Bayes text classifiers", ICML, 2003.
    .. [4] C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger, "On calibration of modern neural
       networks", ICML, 2017.

    Examples
    --------
    >>> import credo
    >>> mail = ["win cash now", "cash prize win", "lunch at noon", "see you at lunch"]
    >>> model = credo.TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict_proba(["win lunch and cash"]).round(3)
    array([[0.151, 0.849]])
    >>> model.explain("win lunch and cash")
    'spam' against 'ham': log odds +1.727
      prior                 -0.013
      cash = 1              +1.602
      win = 1               +1.602
      lunch = 1             -1.464
    """

    command = "text"
    Summary = WordSummary
    kind = "documents"
    _chooses_smoothing: ClassVar[bool] = True

    def __init__(  # noqa: PLR0913 - one per option, all but the first by name
        self,
        model: Model = "complement",
        *,
        vocabulary: Literal["all", "no_stop_words", "frequent", "relevant"] = "all",
        max_words: int | None = None,
        smoothing: float | None = None,
        smoothing_target: Literal["uniform", "marginal", "frequencies"] = "uniform",
        stop_words: Any = "english",
        hashing: int | None = None,
        vectorizer: Any = None,
        priors: PerLabel | Literal["uniform"] | None = None,
        calibrated: bool = True,
    ) -> None:
        self.model = model
        self.vocabulary = vocabulary
        self.max_words = max_words
        self.smoothing = smoothing
        self.smoothing_target = smoothing_target
        self.stop_words = stop_words
        self.hashing = hashing
        self.vectorizer = vectorizer
        self.priors = priors
        self.calibrated = calibrated

    # --- learning -------------------------------------------------------------------------------

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Add documents to those seen before; the result is that of one fit to all of them.

        Parameters
        ----------
        X : sequence of str
            Documents; new words may appear at any time.
        y : array-like of shape (n,)
            Labels; new classes may appear at any time.
        classes : array-like, optional
            All labels that may occur, to catch others; not needed.
        sample_weight : array-like of shape (n,), optional
            Weight of each document.

        Returns
        -------
        TextClassifier
            Itself.
        """
        return self._add(X, y, sample_weight, classes)

    def _check_parameters(self, seen: Sequence[Label] | None = None) -> None:
        super()._check_parameters(seen)
        check.one_of(self.model, get_args(Model), f"model of {_OWNER}")
        if self.model == "complement" and self.smoothing == 0:
            raise InputError(
                f"The smoothing of {_OWNER} must be above 0 for the complement model, where a word "
                "that other classes lack would prove a class. Pass a small one, such as 0.01."
            )
        check.one_of(self.calibrated, (True, False), f"parameter calibrated of {_OWNER}")
        known = "all", "no_stop_words", "frequent", "relevant"
        check.one_of(self.vocabulary, known, f"vocabulary of {_OWNER}")
        if self.max_words is not None:
            check.count(self.max_words, f"max_words of {_OWNER}")
        made = self._make_vectorizer()
        choices = [  # 1 is one document, and 1.0 all of them
            name for name, all_ in _CHOICES.items() if repr(getattr(made, name, all_)) != repr(all_)
        ]
        if choices and seen is not None:
            raise InputError(
                f"{_OWNER} needs a vectorizer that keeps all words. Got {', '.join(choices)}, "
                "which chooses anew in each batch. Use vocabulary= and max_words= instead."
            )

    def _make_vectorizer(self) -> Any:
        """Return a vectorizer that counts as the model needs it, not fitted."""
        if self.vectorizer is not None:
            made = _check_counting(self.vectorizer)
            if self.hashing is not None:
                raise InputError(f"{_OWNER} takes hashing or a vectorizer, not both.")
        elif self.hashing is not None:
            slots = check.count(self.hashing, f"hashing of {_OWNER}")
            made = HashingVectorizer(n_features=slots, alternate_sign=False, norm=None)
        else:
            made = CountVectorizer()
        made.dtype = np.float64
        if self.vocabulary == "no_stop_words" and made.stop_words is None:
            made.stop_words = _check_stop_words(self.stop_words)
        return made

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Rows, Any]:
        if reset:
            self._forget("schema_")
        documents = _check_documents(X)
        if y is None:
            raise InputError(f"{_OWNER} requires y to be passed, but the target y is None.")
        classes, codes, weights, kept = read_labels(y, sample_weight, len(documents), _OWNER)
        if kept is not None:
            documents = [documents[i] for i in np.flatnonzero(kept).tolist()]
        return Rows(documents, codes, weights, len(classes)), classes

    def _summarise(self, batch: tuple[Rows, Any]) -> WordSummary:
        rows, classes = batch
        words, found = self._count_words(rows.X)
        documents, n_classes = class_weights(rows), len(classes)
        counts = csr_array((len(rows.X), 0)) if not len(words) else self._sparse(found).X
        if self.model != "complement":
            sums = self._sums(counts, rows, n_classes, self.model)
            return WordSummary(self.model, classes, documents, words, sums)
        sums = self._sums(unit_rows(counts), rows, n_classes, "multinomial")
        weights = None
        if rows.weights is not None:
            weights = np.repeat(rows.weights, np.diff(counts.indptr))
        frequencies = np.bincount(counts.indices, weights, len(words)).astype(np.float64)
        sketch = None
        if self.calibrated:
            sketch = DocumentSketch.of(rows.X, rows.codes, rows.weights, counts)
        return WordSummary(self.model, classes, documents, words, sums, frequencies, sketch)

    @staticmethod
    def _sums(counts: csr_array, rows: Rows, n_classes: int, family: str) -> F64:
        """Add up the words of each class."""
        if not counts.shape[1]:
            return np.zeros((n_classes, 0))
        return SparseRows(_OWNER, counts).counts(rows.codes, rows.weights, n_classes, family)

    def _count_words(self, documents: list[str]) -> tuple[Any, Any]:
        """Return all words of documents, sorted, or a range of slots, and their counts."""
        reader = self._make_vectorizer()
        try:
            counts = reader.fit_transform(documents)
        except (ValueError, TypeError, re.error) as error:
            if "empty vocabulary" in str(error):
                return (), None
            raise InputError(f"The vectorizer of {_OWNER} failed: {error}") from error
        if isinstance(reader, HashingVectorizer):
            return range(counts.shape[1]), counts
        words = reader.get_feature_names_out().astype(object)
        order = np.argsort(words)  # a given vocabulary has its own
        return tuple(words[order].tolist()), counts[:, order]

    def _sparse(self, counts: Any) -> SparseRows:
        """Return counts as the model takes them: ones, if only occurrence matters."""
        if self.model == "bernoulli":
            counts.data.fill(1.0)
        return SparseRows.of(counts, _OWNER)

    def _learn(self, summary: WordSummary, batch: Any = None) -> None:  # noqa: ARG002 - not needed
        words, chosen = summary.words, summary.choose(self.vocabulary, self.max_words)
        counts = summary.counts
        if len(chosen) < len(words):
            words, counts = tuple(words[w] for w in chosen.tolist()), counts[:, chosen]
        self._reader = self._make_vectorizer()
        if not isinstance(self._reader, HashingVectorizer):
            self._reader.vocabulary = list(words)
        names = ColumnNames(_OWNER, words)
        self._forget("smoothing_", "temperature_", "biases_")
        term: Term
        if self.model == "complement":
            amounts = _SMOOTHINGS if self.smoothing is None else (float(self.smoothing),)
            learned = learn_complement(summary, chosen, amounts, self.smoothing_target)
            term = ComplementTerm(ColumnPart("multinomial", range(len(words))), learned, names)
            self.smoothing_, self.temperature_ = learned.smoothing, learned.temperature
            self.biases_ = check.frozen(learned.biases)
        else:
            how, part = copy.copy(self), ColumnPart(self.model, range(len(words)))
            how.smoothing = 1.0 if self.smoothing is None else self.smoothing
            found = SparseTerm.summary_of(self.model, summary.documents, counts)
            term = estimate_term(SparseTerm, part, found, how, names)
        self._terms, self._problem, self._chosen = (term,), None, chosen
        self.summary_, self.classes_, self.words_ = summary, summary.classes, words
        with np.errstate(divide="ignore"):
            self.log_probabilities_ = check.frozen(np.log(term.family.mean))
        self.n_parameters_ = len(self.classes_) + term.n_parameters
        self._set_priors()

    def _check_loaded(self) -> None:
        self._check_parameters()
        reader, words = self._make_vectorizer(), self.summary_.words
        try:
            reader.build_analyzer()
        except (re.error, TypeError) as error:
            raise InputError(f"The words of {_OWNER} have no proper pattern: {error}.") from None
        hashes = isinstance(reader, HashingVectorizer)
        fits = words == range(reader.n_features) if hashes else not isinstance(words, range)
        kept = self.summary_.sketch is not None
        fits = fits and kept == (self.calibrated and self.model == "complement")
        if self.model != self.summary_.model or not fits:
            raise InputError(f"The summary of {_OWNER} is not one of what it counts.")

    # --- answers --------------------------------------------------------------------------------

    @property
    def _has_density(self) -> bool:
        return self.summary_.model != "complement"

    def _word_scores(self) -> F64:
        """Return what a word says for each class, (K, V)."""
        return self.log_probabilities_ if self._has_density else self._terms[0].natural[0]

    def _log_priors(self) -> F64:
        """Return the logarithms of the priors, with the biases of the complement model."""
        return super()._log_priors() + getattr(self, "biases_", 0.0)

    def _rows(self, X: Any) -> SparseRows:
        self._check_ready()
        counts = self._reader.transform(_check_documents(X))
        if len(self.words_) < counts.shape[1]:
            counts = counts[:, list(self.words_)]
        return self._sparse(counts)

    def explain(self, document: str, a: Label | None = None, b: Label | None = None) -> Explanation:
        """Return which words moved the posterior of a document, sorted.

        Parameters
        ----------
        document : str
            The document.
        a, b : label, optional
            Explain class a against class b; by default the most probable class against the next.

        Returns
        -------
        Explanation
            Words and how often they occur; of the Bernoulli model also absent ones, with 0. The
            prior includes the biases of the complement model.
        """
        return self._explain(self._rows([document]), a, b)

    def sample(
        self,
        n: int = 1,
        random_state: RandomState = None,
        total: int | None = None,
        *,
        label: Label | None = None,
    ) -> tuple[list[str], Any]:
        """Draw synthetic documents, as bags of words, and their labels.

        Parameters
        ----------
        n : int
            How many.
        random_state : int, Generator or None
            Seed.
        total : int, optional
            Words of each document of the multinomial model; by default the mean over the documents
            of fit, rounded.
        label : label, optional
            Draw documents of this class only.

        Returns
        -------
        X : list of str
            Documents, their words in the order of ``words_``.
        y : ndarray of shape (n,)
            Labels, drawn by the priors.

        Raises
        ------
        InputError
            If the model is ``"complement"``, which has no distribution of documents, or words are
            hashed.
        """
        self._check_ready()
        what = f"{_OWNER}.sample"
        if not self._has_density:
            raise InputError(
                f"{what}: the complement model has no distribution of documents to draw from. Use "
                "model='multinomial' or 'bernoulli'."
            )
        if isinstance(self._reader, HashingVectorizer):
            raise InputError(f"{what}: hashed words cannot be written. Pass hashing=None.")
        size = check.count(n, f"n of {what}")
        rng = check.generator(random_state, f"random_state of {what}")
        if total is None:
            summary = self.summary_
            total = round(float(summary.counts[:, self._chosen].sum() / summary.documents.sum()))
        codes = rng.choice(len(self.classes_), size, p=self._shares_of(label))
        counts = self._terms[0].sample(codes, check.count(total, f"total of {what}", 0), rng)
        words = np.array(self.words_, dtype=object)
        repeated = (np.repeat(words, row.astype(np.intp)) for row in counts.toarray())
        return [" ".join(row.tolist()) for row in repeated], self.classes_[codes]

    def top_words(self, n: int = 10) -> dict[Label, list[Any]]:
        r"""Return the words that favour each class most.

        They have the largest :math:`\theta_{kw} \log(\theta_{kw} / \bar\theta_w)`, the terms of the
        divergence of a class from the mixture of all: frequent in the class, and more than
        elsewhere. Of the complement model, they add most to the score of its class, above the mean
        over classes, in an average document of the class.

        Parameters
        ----------
        n : int
            How many per class, at most.

        Returns
        -------
        dict
            From label to words, the most telling first.
        """
        self._check_ready()
        size = check.count(n, f"n of {_OWNER}.top_words")
        if not self._has_density:
            weights, summary = self._word_scores(), self.summary_
            mean = summary.counts[:, self._chosen] / summary.documents[:, None]
            scores = mean * (weights - self.priors_ @ weights)
        else:
            theta = np.exp(self.log_probabilities_)
            mixture = self.priors_ @ theta
            with np.errstate(divide="ignore", invalid="ignore"):
                scores = np.nan_to_num(theta * np.log(theta / mixture), nan=0.0)
        result = {}
        for label, row in zip(self.classes_.tolist(), scores, strict=True):
            best = np.argsort(-row, kind="stable")[:size].tolist()
            result[label] = [self.words_[w] for w in best if row[w] > 0]
        return result

    def mutual_information(self) -> F64:
        r"""Return the mutual information of each word of ``words_`` and the class, in nats.

        Returns
        -------
        ndarray of shape (V,)
            What ``vocabulary="relevant"`` sorts by.
        """
        self._check_ready()
        return self.summary_.mutual_information()[self._chosen]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = tags.input_tags.allow_nan = False
        tags.input_tags.one_d_array = tags.input_tags.string = True
        return tags


def _check_documents(X: Any) -> list[str]:
    """Return a sequence of documents as a list."""
    if isinstance(X, (str, bytes)) or getattr(X, "ndim", 1) == 0:
        raise InputError(f"{_OWNER} needs a list of documents. Got one text: pass [text].")
    if getattr(X, "ndim", 1) > 1 or (hasattr(X, "columns") and not hasattr(X, "to_list")):
        raise InputError(f"{_OWNER} needs one column of documents. Got a table: pass one column.")
    if isinstance(X, (AbstractSet, Mapping)) or not isinstance(X, Iterable):
        raise InputError(f"{_OWNER} needs documents in order, a list. Got {type(X).__name__}.")
    documents = X.tolist() if isinstance(X, np.ndarray) else list(X)
    if documents and hasattr(documents[0], "as_py"):
        documents = [cell.as_py() for cell in documents]  # Arrow
    for row, document in enumerate(documents):
        if not isinstance(document, str):
            raise InputError(
                f"{_OWNER} needs documents as text. Got {document!r} in row {row}. Leave missing "
                "documents out, or pass '' for one without words."
            )
    if not documents:
        raise InputError(f"{_OWNER}: found 0 sample(s), while a minimum of 1 is required.")
    return documents


def _check_counting(vectorizer: Any) -> Any:
    """Return a copy of a vectorizer; refuse one that gives something else than counts."""
    counts = isinstance(vectorizer, (CountVectorizer, HashingVectorizer))
    scaled = isinstance(vectorizer, TfidfVectorizer) or getattr(vectorizer, "norm", None)
    if not counts or scaled or getattr(vectorizer, "alternate_sign", False):
        raise InputError(
            f"The vectorizer of {_OWNER} must count words: a CountVectorizer(), or a "
            "HashingVectorizer(alternate_sign=False, norm=None). Got "
            f"{vectorizer if counts else type(vectorizer).__name__}."
        )
    return clone(vectorizer)


def _check_stop_words(words: Any) -> Any:
    """Return the words to leave out as scikit-learn takes them."""
    if isinstance(words, str) and words == "english":
        return words
    if not isinstance(words, str) and isinstance(words, Iterable):
        listed = list(words)
        if all(isinstance(word, str) for word in listed):
            return sorted(map(str, listed))
    raise InputError(
        f"The stop_words of {_OWNER} must be 'english' or a list of words. Got {words!r}."
    )
