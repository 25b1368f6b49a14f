"""``TextClassifier``: naive Bayes of documents, by their words."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from credo._types import F64, Label, PerLabel
from credo._validation.arrays import positive_int
from credo._validation.labels import as_labels, positions
from credo.classifiers._base import unchanged_on_error
from credo.classifiers._text_state import TextState
from credo.classifiers.explanation import Explanation
from credo.classifiers.words.choosing import mutual_information
from credo.classifiers.words.reading import Reader
from credo.exceptions import InputError

_OWNER = "TextClassifier"


class TextClassifier(TextState):
    r"""Classify documents by their words, with naive Bayes.

    .. math:: p(k \mid x) \propto \pi_k\, \frac{(\sum_w x_w)!}{\prod_w x_w!}
              \prod_w \theta_{kw}^{x_w} \qquad \text{or} \qquad
              \pi_k \prod_w \theta_{kw}^{x_w} (1 - \theta_{kw})^{1 - x_w}

    The multinomial model counts words; the Bernoulli model asks which occur, and learns from
    absent words, too. Both are linear in x.

    Parameters
    ----------
    model : {"multinomial", "bernoulli"}
        Counts or occurrence.
    vocabulary : {"all", "no_stop_words", "frequent", "relevant"}
        Which words: all, all but stop words, those that occur most, or those with the largest
        mutual information with the class. The choice is made from the summary, without a second
        pass over the documents, and again when more come.
    max_words : int, optional
        How many words at most; 1000 by default for ``"frequent"`` and ``"relevant"``. With the
        other two, the most frequent of their words are taken.
    smoothing : float
        Artificial observations α: :math:`(n_{kw} + \alpha)/(n_k + \alpha V)` for the multinomial
        model, :math:`(N_{kw} + \alpha)/(N_k + 2 \alpha)` for the Bernoulli model.
    smoothing_target : {"uniform", "marginal"}
        Towards equal probabilities, or towards those of the words in all classes together.
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

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels, sorted.
    priors_ : ndarray of shape (K,)
        Probability of each class.
    words_ : tuple
        The words that are used, or the numbers of slots.
    log_probabilities_ : ndarray of shape (K, V)
        Logarithm of each :math:`\theta_{kw}`.
    n_parameters_ : int
        Numbers in the model: priors and word probabilities.
    summary_ : WordSummary
        Counts of all words, chosen or not: what ``partial_fit`` and ``merge`` continue from.

    See Also
    --------
    credo.NaiveBayes : For columns, or sparse counts that you already have.

    Notes
    -----
    Exact to rounding, in the log domain. Words that fit has not seen are left out, so
    ``log_density`` is that of the known words, given how many they are. Fitting is one pass; a
    stream gives the same model as one fit. Words of one document are far from independent:
    expect posteriors near 0 and 1, and look at ``credo.decisions.calibration``.

    References
    ----------
    .. [1] A. McCallum and K. Nigam, "A comparison of event models for naive Bayes text
       classification", AAAI workshop on learning for text categorization, 1998.
    .. [2] C. D. Manning, P. Raghavan and H. Schütze, *Introduction to Information Retrieval*,
       2008, sections 13.2 to 13.5.

    Examples
    --------
    >>> import credo
    >>> mail = ["win cash now", "cash prize win", "lunch at noon", "see you at lunch"]
    >>> model = credo.TextClassifier().fit(mail, ["spam", "spam", "ham", "ham"])
    >>> model.predict_proba(["win lunch and cash"]).round(3)
    array([[0.215, 0.785]])
    >>> model.explain("win lunch and cash")
    'spam' against 'ham': log odds +1.292
      prior                 +0.000
      cash = 1              +1.163
      win = 1               +1.163
      lunch = 1             -1.034
    """

    def __init__(  # noqa: PLR0913 - one per option, all but the first by name
        self,
        model: Literal["multinomial", "bernoulli"] = "multinomial",
        *,
        vocabulary: Literal["all", "no_stop_words", "frequent", "relevant"] = "all",
        max_words: int | None = None,
        smoothing: float = 1.0,
        smoothing_target: Literal["uniform", "marginal"] = "uniform",
        stop_words: Any = "english",
        hashing: int | None = None,
        vectorizer: Any = None,
        priors: PerLabel | Literal["uniform"] | None = None,
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to documents; a failed fit leaves the classifier as it was.

        Parameters
        ----------
        X : sequence of str
            Documents.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), optional
            Weight of each document: 2 counts as the document twice, 0 as none.

        Returns
        -------
        TextClassifier
            Itself.
        """
        with unchanged_on_error(self):
            self.__dict__.pop("schema_", None)
            return self._set(self._summarise(X, y, sample_weight))

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
        Reader.of(self, _OWNER).refuse_choices(f"{_OWNER}.partial_fit")
        with unchanged_on_error(self):
            summary = self._summarise(X, y, sample_weight)
            if classes is not None:
                known = as_labels(classes, _OWNER, "classes")
                positions(summary.classes, known, _OWNER, "class")
            if hasattr(self, "summary_"):
                summary = self.summary_.merge(summary, f"{_OWNER}.partial_fit")
            return self._continue(summary)

    def merge(self, other: Self) -> Self:
        """Give a classifier fitted to the documents of both, with the parameters of this one.

        Parameters
        ----------
        other : TextClassifier
            Fitted to other documents, with the same model and vectorizer.

        Returns
        -------
        TextClassifier
            A new one.
        """
        check_is_fitted(self)
        if not isinstance(other, TextClassifier):
            raise InputError(f"{_OWNER}.merge needs a TextClassifier. Got {type(other).__name__}.")
        check_is_fitted(other)
        Reader.of(self, _OWNER).refuse_choices(f"{_OWNER}.merge")
        summary = self.summary_.merge(other.summary_, f"{_OWNER}.merge")
        return copy.copy(self)._continue(summary)  # noqa: SLF001 - its own copy

    def explain(self, document: str, a: Label | None = None, b: Label | None = None) -> Explanation:
        """Say which words moved the posterior of a document, sorted.

        Parameters
        ----------
        document : str
            The document.
        a, b : label, optional
            Explain class a against class b; by default the most probable class against the next.

        Returns
        -------
        Explanation
            Words and how often they occur; of the Bernoulli model also absent ones, with 0.
        """
        return self._explain(self._rows([document]), a, b)

    def top_words(self, n: int = 10) -> dict[Label, list[Any]]:
        r"""Give the words that speak most for each class.

        They have the largest :math:`\theta_{kw} \log(\theta_{kw} / \bar\theta_w)`, the terms of the
        divergence of a class from the mixture of all: frequent in the class, and more than
        elsewhere.

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
        size = positive_int(n, f"{_OWNER}.top_words", "n")
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
        r"""Give the mutual information of each word of ``words_`` and the class, in nats.

        Returns
        -------
        ndarray of shape (V,)
            What ``vocabulary="relevant"`` sorts by.
        """
        self._check_ready()
        return mutual_information(self.summary_)[self._chosen]
