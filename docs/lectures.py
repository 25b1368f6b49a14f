"""Every figure of five lectures on probability, decisions and graphs, each in at most three lines.

``python docs/lectures.py FOLDER`` draws all of them into a folder, and a contact sheet; names of
figures after the folder draw these alone. What several figures share is named first.
"""

import sys
import textwrap
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from cycler import cycler
from scipy import stats
from sklearn.datasets import load_digits, load_iris

import credo
from credo.decisions import likelihood_ratio_threshold
from credo.families import Bernoulli, Gaussian, Laplace
from credo.plots.figures import COLOURS

#: The chapters of the companion; names of figures begin with these.
CHAPTERS = {
    "messages": "Messages, images and decisions",
    "models": "Generative and discriminative models",
    "costs": "Costs, Gaussians and words",
    "bayes": "Bayes' rule and classification",
    "theory": "Decision theory and Gaussians",
}
FIGURES: dict[str, Callable[[], Any]] = {}
STYLE = {
    "axes.prop_cycle": cycler(color=COLOURS),
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.constrained_layout.use": True,
    "image.cmap": "gray",
    "legend.frameon": False,
}


def figure(function: Callable[[], Any]) -> Callable[[], Any]:
    """Enter a figure under its name."""
    FIGURES[function.__name__] = function
    return function


# --- what the figures share -----------------------------------------------------------------------

# A tree of five nodes, three of them observed; a node and its neighbours; two grids; a channel.
pair, agree = [[3, 1], [1, 3]], np.exp(0.6 * np.array([[1, -1], [-1, 1]]))
tree, seen = credo.MarkovNetwork(), {"x2": 1, "x4": 0, "x5": 1}
for node, potential in {
    "x1": [6, 4],
    "x2": [7, 3],
    "x3": [5, 2],
    "x4": [1, 2],
    "x5": [9, 1],
}.items():
    tree.node(node, 2, potential)
for (i, j), same in {("x1", "x2"): 4, ("x1", "x3"): 2, ("x3", "x4"): 3, ("x3", "x5"): 5}.items():
    tree.edge(i, j, [[same, 1], [1, same]])
names = ["i", "j", "k1", "k2", "k3"]
potentials = [[1, 1], [2, 1], [1, 2], [1, 4], [3, 1]]
star = credo.MarkovNetwork.from_arrays(
    potentials, [(0, 1), (1, 2), (1, 3), (1, 4)], pair, names=names
)
spins = credo.GridField.ising(np.random.default_rng(0).normal(scale=0.2, size=(6, 6)), 0.6)
methods = ["exact", "loopy", "tree_reweighted", "generalised"]
crowd = credo.MarkovNetwork.from_arrays(
    [[1, 1.3]] * 5, [(i, j) for i in range(5) for j in range(i)], [[1, 7], [7, 1]]
)
channel = credo.BayesianNetwork()
channel.variable("x", ["+1", "-1"])
channel.variable("y", ["+1", "-1"])
channel.cpt("x", [], [0.5, 0.5])
channel.cpt("y", ["x"], [[0.9, 0.1], [0.1, 0.9]])

# Four pixels x in a square, and the values y of them that came through the channel.
pixels, shown = credo.MarkovNetwork(), {"y1": "+1", "y2": "+1", "y3": "+1", "y4": "-1"}
for i in range(1, 5):
    pixels.node(f"x{i}", ["+1", "-1"])
    pixels.node(f"y{i}", ["+1", "-1"])
    pixels.edge(f"x{i}", f"y{i}", [[0.9, 0.1], [0.1, 0.9]])
for i, j in ((1, 2), (1, 3), (2, 4), (3, 4)):
    pixels.edge(f"x{i}", f"x{j}", agree)

# A portrait of 128 × 128 pixels, and what became of it.
face, levels = np.where(credo.images.portrait(128), 1, -1), (0.05, 0.1, 0.15, 0.2)
noisy = credo.add_noise(face, 0.1, seed=0)
clean = credo.denoise(noisy, 0.1, 0.6, sweeps=20)  # once, so that times below are of messages
grid = credo.GridField.ising(np.zeros((4, 4)), 1.0)
bursts = credo.add_noise(face, 0.2, kind="burst", seed=1)
burst = credo.images.flip_map(face.shape, 0.2, kind="burst", seed=1)

# A score read off an X-ray: known densities, what mistakes cost, when to ask.
scan = credo.GaussianClassifier.from_parameters(
    {"cancer": 2.6, "normal": 0}, 1.3, {"cancer": 0.4, "normal": 0.6}
)
best = scan.regions()
costs = credo.Loss([[0, 10], [1, 0]], ["cancer", "normal"], ["treat", "discharge"])
ask = credo.Loss.zero_one(["cancer", "normal"]).with_reject(0.2, name="ask")

# A joint density of x and t; its conditional mean is asked for along x, where t is missing.
source = credo.GaussianClassifier.from_parameters(
    {"low": [-1.5, -1], "high": [1.5, 1]}, [[1, -0.3], [-0.3, 0.3]], [0.5, 0.5]
)
draws = pd.DataFrame(source.sample(500, random_state=0)[0], columns=["x", "t"])
line = np.linspace(-5, 5, 201)
ahead = np.column_stack([line, np.full(len(line), np.nan)])

# Rows: draws of two known Gaussians, and petals of irises.
plane = credo.GaussianClassifier.from_parameters(
    {"a": [0, 0], "b": [2.5, 1.5]}, [[1, 0.5], [0.5, 1]], {"a": 0.6, "b": 0.4}
)
ball = credo.GaussianClassifier.from_parameters(
    {"a": [0, 0], "b": [2.5, 1.5]}, np.eye(2), {"a": 0.8, "b": 0.2}
)
X, y = plane.sample(150, random_state=0)
iris = load_iris(as_frame=True)
petals, kinds = iris.data.iloc[:, 2:], iris.target_names[iris.target]
lda, qda = (credo.GaussianClassifier(shape) for shape in ("lda", "qda"))

# A class on both sides of another.
blobs = credo.GaussianClassifier.from_parameters(
    {"left": [-3, 0], "inside": [0, 0], "right": [3, 0]}, 0.6 * np.eye(2)
)
points, blob = blobs.sample(300, random_state=0)
side = np.where(blob == "inside", "inside", "outside")

# Two tests for pregnancy, and what they say; rows far away, which mislead least squares.
women = pd.DataFrame(
    [[1, 0, 0], [0, 1, 1], [1, 1, 1], [1, 0, 1], [0, 1, 0]], columns=["urine", "blood", "pregnant"]
)
tests = credo.NaiveBayes("bernoulli", smoothing=0)
tests.fit(women[["urine", "blood"]], women["pregnant"])
pregnancy = credo.BayesianNetwork()
for each in women:
    pregnancy.variable(each, ["no", "yes"])
pregnancy.cpt("pregnant", [], [2 / 5, 3 / 5])
for each in ("urine", "blood"):
    pregnancy.cpt(each, ["pregnant"], [[1 / 2, 1 / 2], [1 / 3, 2 / 3]])
rng = np.random.default_rng(1)
far = np.concatenate([rng.normal(-2, 0.6, 30), rng.normal(2, 0.6, 30), rng.normal(30, 1, 30)])
truth = np.repeat([0, 1, 1], 30)
slope, start = np.polyfit(far, truth, 1)

# Simpler covariances; short messages of two kinds.
shapes = ["full", "proportional", "diagonal", "tied", "tied_diagonal", "spherical"]
alphas = np.arange(0.1, 10, 0.3)
mail = ["win the cash prize", "the cash is yours", "cash cash win", "lunch is at the desk"]
mail += ["see the notes at the desk", "the desk is free"]
kind = ["spam"] * 3 + ["ham"] * 3

# Digits; the weather; a test; and heights in cm, of basketball players and others.
digits = load_digits()
doubt = digits.data[1433]
reader = credo.GaussianClassifier("lda", shrinkage=0.1).fit(digits.data[:900], digits.target[:900])
weather = credo.JointTable(
    [[0.4, 0.2], [0.1, 0.3]], {"weather": ["sun", "rain"], "air": ["hot", "cold"]}
)
joint = pd.DataFrame(weather.table.T, ["hot", "cold"], ["sun", "rain"])
test = credo.BayesianNetwork()
test.variable("disease", ["yes", "no"])
test.variable("test", ["positive", "negative"])
test.cpt("disease", [], [0.004, 0.996])
test.cpt("test", ["disease"], [[0.8, 0.2], [0.1, 0.9]])
height = credo.GaussianClassifier.from_parameters(
    {"other": 175, "player": 200}, 81, {"other": 0.95, "player": 0.05}
)
cm, who = height.with_priors([0.6, 0.4]).sample(300, random_state=0)
others = cm[who == "other", 0]

# A bit on a noisy wire: 0 and 1 volt, and a standard deviation of 0.4 volts.
bits = credo.GaussianClassifier.from_parameters({"0": 0, "1": 1}, 0.16)

dear = credo.Loss([[0, 1], [4, 0]], ["0", "1"])

# Temperatures in °F of the sick and the well; 1000 features whose densities are too small.
fever = credo.GaussianClassifier.from_parameters(
    {"sick": 102, "well": 98.6}, {"sick": 4, "well": 1}, {"sick": 0.3, "well": 0.7}
)
degrees, health = fever.sample(5000, random_state=0)
many = np.random.default_rng(3).normal(0.2, 2, (1000, 1))
logs = np.cumsum(stats.norm.logpdf(many, [0, 0.2], 2), axis=0) / np.log(10)
logs = pd.DataFrame(logs, columns=["a", "b"])


# --- messages, images and decisions ---------------------------------------------------------------


@figure
def messages_tree() -> Any:
    """A tree: nodes and edges."""
    tree.plot()


@figure
def messages_elimination() -> Any:
    """Elimination as messages to x3."""
    credo.pass_messages(tree, seen, root="x3", passes=1).plot()


@figure
def messages_rule() -> Any:
    """What j tells i: what the others told j."""
    credo.pass_messages(star, root="i", passes=1).plot()


@figure
def messages_two_passes() -> Any:
    """Two passes: to the root, and back."""
    credo.pass_messages(tree, seen, root="x3").plot()


@figure
def messages_beliefs() -> Any:
    """Beliefs after both passes."""
    credo.infer(tree, seen).plot(prior=False)


@figure
def messages_steps() -> Any:
    """The belief of x3 after each message."""
    passed = credo.pass_messages(tree, seen, root="x3")
    steps = pd.Series([passed[:k].belief("x3")[1] for k in range(5)])
    steps.plot.bar(rot=0, ylim=(0, 1), xlabel="messages so far", ylabel="b(x3 = 1)")


@figure
def messages_max_product() -> Any:
    """Max-product: the best, not the sum."""
    credo.pass_messages(tree, seen, root="x3", max_product=True).plot()


@figure
def messages_loop() -> Any:
    """Loops: without damping messages may oscillate."""
    for share, ax in zip((1.0, 0.5), plt.subplots(1, 2, figsize=(9, 3.4))[1], strict=True):
        settings = {"schedule": "flooding", "momentum": share, "sweeps": 60, "on_failure": "return"}
        credo.infer(crowd, method="loopy", **settings).plot(ax, show="residuals")


@figure
def messages_overconfidence() -> Any:
    """Loopy beliefs are overconfident; two remedies."""
    posts = {m: credo.infer(spins, method=m).to_frame() for m in methods}
    beliefs = pd.DataFrame({m: each["probability"][1::2] for m, each in posts.items()})
    beliefs.set_index("exact", drop=False).plot(style=["-", "o", "o", "o"], ylabel="belief")


@figure
def messages_portrait() -> Any:
    """An image: 16 384 numbers, +1 or −1."""
    plt.imshow(face)


@figure
def messages_grid() -> Any:
    """Pixels and their neighbours."""
    grid.plot()


@figure
def messages_channel() -> Any:
    """A channel that flips one pixel in ten."""
    for sent, ax in zip(("+1", "-1"), plt.subplots(1, 2, figsize=(6, 3.2))[1], strict=True):
        credo.infer(channel, {"x": sent}).plot(ax, prior=False)


@figure
def messages_four_pixels() -> Any:
    """Four pixels, and what was seen of them."""
    credo.infer(pixels, shown).plot(prior=False)


@figure
def messages_levels() -> Any:
    """Four levels of noise, restored."""
    for flip, ax in zip(levels, plt.subplots(4, 1, figsize=(8, 11.5))[1], strict=True):
        credo.denoise(credo.add_noise(face, flip, seed=0), flip, 0.6).plot(ax, truth=face)


@figure
def messages_sweeps() -> Any:
    """Ten to twenty sweeps are enough."""
    clean.plot(truth=face, sweeps=(1, 2, 5, 10))


@figure
def messages_unsure() -> Any:
    """0.9 is not 0.51: ask about unsure pixels."""
    credo.denoise(noisy, 0.1, 0.6, loss=0.1).plot(truth=face)


@figure
def messages_bursts() -> Any:
    """Noise in bursts: one number for it, and a map."""
    for flips, ax in zip((0.2, burst), plt.subplots(2, 1, figsize=(9, 5.4))[1], strict=True):
        credo.denoise(bursts, flips, 0.6).plot(ax, truth=face)


@figure
def messages_densities() -> Any:
    """p(x, C): what is to be decided."""
    best.plot()


@figure
def messages_mistakes() -> Any:
    """Mistakes are areas."""
    best.moved([2.4]).plot(show="errors")


@figure
def messages_least_mistakes() -> Any:
    """The best threshold: where they cross."""
    best.plot(show="errors")


@figure
def messages_expected_loss() -> Any:
    """A missed cancer costs ten: the best regions."""
    scan.regions(costs).plot(show="errors")


@figure
def messages_risks() -> Any:
    """The loss of each act at x."""
    scan.regions(costs).plot(show="risks")


@figure
def messages_reject() -> Any:
    """Ask where no class reaches θ."""
    scan.regions(ask).plot(show="posteriors")


@figure
def messages_regression() -> Any:
    """The best number is E[t | x]."""
    given = source.conditional(ahead)
    ax = draws.plot.scatter("x", "t", color="gray", s=8)
    ax.errorbar(line, given.mean[:, 1], given.covariance[:, 1, 1] ** 0.5, errorevery=10)


# --- generative and discriminative models ---------------------------------------------------------


@figure
def models_two_ways() -> Any:
    """Densities of the classes, or the boundary alone."""
    credo.plots.compare([lda.fit(X, y), credo.LogisticClassifier().fit(X, y)], X, y)


@figure
def models_sigmoid() -> Any:
    """The sigmoid of the log odds a."""
    a = credo.GaussianClassifier.from_parameters({"C2": -0.5, "C1": 0.5}, 1.0)
    a.regions().plot(show="posteriors", x_range=(-6, 6)).set(xlabel="a")


@figure
def models_softmax() -> Any:
    """Three classes: the softmax."""
    three = credo.GaussianClassifier.from_parameters({"C1": -2, "C2": 0, "C3": 2}, 1.0)
    three.regions().plot(show="posteriors")


@figure
def models_lda() -> Any:
    """One covariance: a straight boundary."""
    lda.fit(X, y).plot(X, y)


@figure
def models_qda() -> Any:
    """Own covariances: a curved one."""
    qda.fit(petals, kinds).plot(petals, kinds)


@figure
def models_naive_bayes() -> Any:
    """Naive Bayes: given the class, features are independent."""
    pregnancy.plot()


@figure
def models_pregnancy() -> Any:
    """What two tests say: the learnt numbers."""
    table = tests.parameter_table().query("parameter == 'probability'")
    table = table.pivot_table(index="column", columns="class", values="value")
    table.plot.bar(rot=0, xlabel="test", ylabel="p(positive | pregnant or not)")


@figure
def models_parameters() -> Any:
    """A full table is too expensive, naive Bayes is not."""
    counts = [credo.count_parameters(d) for d in range(1, 16)]
    rows = [(each.full_table_total, each.naive_bayes_total) for each in counts]
    pd.DataFrame(rows, range(1, 16), ["full tables", "naive Bayes"]).plot(logy=True, xlabel="D")


@figure
def models_outliers() -> Any:
    """Odd rows, by their density."""
    odd = lda.fit(X, y).outlier_p_values(X) < 0.03
    lda.plot(X, y).scatter(*X[odd].T, s=120, facecolors="none", edgecolors="black")


@figure
def models_least_squares() -> Any:
    """Least squares fails as a classifier, logistic regression does not."""
    ax = credo.LogisticClassifier("l2").fit(far[:, None], truth).plot(far[:, None], truth)
    ax.plot(far, start + slope * far, "k", label="least squares")
    ax.axvline((0.5 - start) / slope, color="k", linestyle=":").axes.legend(loc="center right")


@figure
def models_logistic() -> Any:
    """Logistic regression learns the sigmoid itself."""
    credo.LogisticClassifier().fit(cm, who).plot(cm, who).set(xlabel="height in cm")


# --- costs, Gaussians and words -------------------------------------------------------------------


@figure
def costs_matrix() -> Any:
    """A cost for each true class and each act."""
    values, names = costs.matrix.astype(int), {"rowLabels": costs.truths, "colLabels": costs.acts}
    plt.table(values, **names, cellLoc="center", bbox=(0.3, 0.3, 0.6, 0.4))
    plt.axis("off")


@figure
def costs_weights() -> Any:
    """Costs by class move the boundary."""
    dear = credo.Loss.class_costs({"a": 1, "b": 10})
    for loss, ax in zip((None, dear), plt.subplots(1, 2, figsize=(9, 4))[1], strict=True):
        lda.fit(X, y).plot(X, y, loss=loss, ax=ax)


@figure
def costs_lda_qda() -> Any:
    """LDA and QDA on petals of irises."""
    credo.plots.compare([lda.fit(petals, kinds), qda.fit(petals, kinds)], petals, kinds)


@figure
def costs_shapes() -> Any:
    """Simpler covariances, on petals of irises."""
    for shape, ax in zip(shapes, plt.subplots(2, 3, figsize=(12, 7.6))[1].flat, strict=True):
        credo.GaussianClassifier(shape).fit(petals, kinds).plot(petals, kinds, ax=ax)


@figure
def costs_mixture() -> Any:
    """One hump, or two."""
    mixed = credo.MixtureClassifier({"outside": 2}).fit(points, side)
    credo.plots.compare([qda.fit(points, side), mixed], points, side)


@figure
def costs_counts() -> Any:
    """Numbers to estimate: four features, three classes."""
    counts = [credo.GaussianClassifier(s).fit(iris.data, kinds).n_parameters_ for s in shapes]
    plt.bar_label(plt.barh(shapes, counts), padding=3)
    plt.xlabel("priors, means and covariances")


@figure
def costs_independence() -> Any:
    """Dependent in all, independent given the class."""
    own = credo.GaussianClassifier.from_parameters({"a": [0, 0], "b": [3, 3]}, [[1, 0], [0, 0.4]])
    own.plot(*own.sample(300, random_state=0))


@figure
def costs_words() -> Any:
    """Words as evidence for spam."""
    spam = credo.TextClassifier("multinomial", smoothing=1).fit(mail, kind)
    weights = pd.Series(spam.log_odds_weights("spam", "ham").weights, spam.words_)
    weights.sort_values().plot.barh(xlabel="weight in the log odds of spam")


@figure
def costs_smoothing() -> Any:
    """Artificial observations make words alike."""
    models = [credo.TextClassifier("multinomial", smoothing=a, max_words=4) for a in alphas]
    spam = [np.exp(each.fit(mail, kind).log_probabilities_[1]) for each in models]
    pd.DataFrame(spam, alphas, models[0].words_).plot(xlabel="α", ylabel="p(word | spam)")


# --- Bayes' rule and classification ---------------------------------------------------------------


@figure
def bayes_probability() -> Any:
    """Not a label, a probability: an 8, or a 9."""
    left, right = plt.subplots(1, 2, figsize=(7, 2.6))[1]
    left.imshow(-doubt.reshape(8, 8))
    pd.Series(reader.predict_proba([doubt])[0]).plot.bar(ax=right, rot=0, ylabel="probability")


@figure
def bayes_coin() -> Any:
    """A coin: numbers for the outcomes, and their probabilities."""
    plt.bar(["heads: 0", "tails: 1"], Bernoulli(0.5).pmf([0, 1]), width=0.4)
    plt.ylabel("p(x)")


@figure
def bayes_height() -> Any:
    """Heights: a histogram, and a density."""
    ax = credo.plots.histogram(others, {"Gaussian": Gaussian.fit(others)})
    ax.set_xlabel("height in cm")


@figure
def bayes_joint() -> Any:
    """A joint table, and its conditionals."""
    given = joint.div(joint.sum(axis=1), axis=0)
    for frame, ax in zip((joint, given), plt.subplots(1, 2, figsize=(9, 3.6))[1], strict=True):
        frame.plot.bar(stacked=True, rot=0, ax=ax)


@figure
def bayes_rule() -> Any:
    """A positive test: the prior and the posterior."""
    credo.infer(test, {"test": "positive"}).plot()


@figure
def bayes_likelihoods() -> Any:
    """Likelihoods: how tall players and others are."""
    height.with_priors("uniform").regions().plot().set(xlabel="height in cm")


@figure
def bayes_priors() -> Any:
    """Likelihood × prior: one in twenty plays."""
    height.regions().plot().set(xlabel="height in cm")


@figure
def bayes_errors() -> Any:
    """p(error) as areas."""
    height.regions().plot(show="errors").set(xlabel="height in cm")


@figure
def bayes_likelihood_curve() -> Any:
    """The log-likelihood has its top at the estimate."""
    credo.plots.likelihood([Gaussian, Laplace], others[:40])


@figure
def bayes_training() -> Any:
    """Trained: frequencies, means and variances."""
    credo.GaussianClassifier("qda").fit(cm, who).regions().plot().set(xlabel="height in cm")


@figure
def bayes_discriminants() -> Any:
    """At test time the largest g(x) wins."""
    trained = credo.GaussianClassifier("qda").fit(cm, who).regions()
    trained.plot().plot([192, 192], trained.weighted_densities([192])[0], "ko")


@figure
def bayes_three() -> Any:
    """Three classes have nine parameters."""
    credo.GaussianClassifier("qda").fit(petals.iloc[:, :1], kinds).regions().plot().set(
        xlabel="petal length in cm"
    )


@figure
def bayes_confusion() -> Any:
    """True classes and predictions."""
    fitted = credo.GaussianClassifier("qda").fit(petals[::2], kinds[::2])
    credo.decisions.confusion_matrix(kinds[1::2], fitted.predict(petals[1::2])).plot()


@figure
def bayes_reject() -> Any:
    """Say nothing where no class has 80 %."""
    unsure = credo.Loss.zero_one(["player", "other"]).with_reject(0.2)
    height.regions(unsure).plot(show="posteriors").set(xlabel="height in cm")


# --- decision theory and Gaussians ----------------------------------------------------------------


@figure
def theory_fever() -> Any:
    """A histogram as a density: P(104 °F)."""
    plt.hist(degrees[:, 0], bins=np.arange(94.5, 111), density=True, color="skyblue")
    plt.plot(x := np.linspace(94, 110, 300), np.exp(fever.log_density(x[:, None])), color="black")
    plt.gca().set(xlabel="temperature in °F", ylabel="density")


@figure
def theory_risks() -> Any:
    """The expected loss of each act, given x."""
    x = np.linspace(-3, 5, 200)
    losses = credo.decide(scan.posterior(x[:, None]), costs).expected_losses
    pd.DataFrame(losses, x, costs.acts).plot(xlabel="x", ylabel="expected loss given x")


@figure
def theory_ratio() -> Any:
    """The likelihood ratio, and where it passes T*."""
    x, ratio = np.linspace(-1, 2, 200), likelihood_ratio_threshold(dear, bits.priors_)
    plt.semilogy(x, Gaussian(0, 0.16).pdf(x) / Gaussian(1, 0.16).pdf(x))
    plt.axhline(ratio, color="gray").axes.set(xlabel="volts", ylabel="p(x | 0) / p(x | 1)")


@figure
def theory_bit() -> Any:
    """A bit on a noisy wire: 0 or 1 volt."""
    bits.regions().plot(show="errors").set(xlabel="volts")


@figure
def theory_prior() -> Any:
    """A bit that is 0 nine times in ten."""
    bits.with_priors([0.9, 0.1]).regions().plot(show="errors").set(xlabel="volts")


@figure
def theory_threshold() -> Any:
    """The threshold goes to infinity with the prior."""
    p = np.linspace(0.0001, 0.9999, 2000)
    plt.plot(p, [bits.with_priors([q, 1 - q]).boundary("0", "1").point[0] for q in p])
    plt.gca().set(xlabel="P(0)", ylabel="threshold in volts")


@figure
def theory_hyperplane() -> Any:
    """The boundary goes through x0; w is normal to it."""
    line, ax = plane.boundary("a", "b"), plane.plot(X, y)
    ax.quiver(*line.point, *line.normal, angles="xy", scale_units="xy", scale=1)
    ax.set_aspect("equal")


@figure
def theory_sphere() -> Any:
    """One variance for all: w joins the means."""
    ax = ball.plot(*ball.sample(150, random_state=0))
    ax.axline(*ball.means_, color="k", linestyle=":")
    ax.set_aspect("equal")


@figure
def theory_underflow() -> Any:
    """In many dimensions densities underflow, their logs do not."""
    left, right = plt.subplots(1, 2, figsize=(9, 3.4))[1]
    logs.assign(smallest=-308).plot(ax=left, xlabel="features", ylabel="log10 of the density")
    (logs["b"] - logs["a"]).plot(ax=right, xlabel="features", ylabel="log10 of the ratio")


# --- drawing all of them --------------------------------------------------------------------------


def draw_figures(folder: Path, names: Iterable[str] = FIGURES) -> dict[str, Path]:
    """Draw figures into a folder, and return their files by name."""
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: folder / f"{name}.png" for name in names}
    for name, file in files.items():
        with mpl.rc_context(STYLE):
            FIGURES[name]()
            plt.gcf().savefig(file, dpi=110)
        plt.close("all")
    return files


def contact_sheet(files: dict[str, Path]) -> Any:
    """Draw all pictures small, with their names and titles, chapter by chapter."""
    groups = {key: [name for name in files if name.startswith(f"{key}_")] for key in CHAPTERS}
    rows = [(key, g[i : i + 6]) for key, g in groups.items() for i in range(0, len(g), 6)]
    size = {"figsize": (21, 3.5 * len(rows)), "gridspec_kw": {"hspace": 0.6}}
    sheet, axes = plt.subplots(len(rows), 6, squeeze=False, **size)
    for line, (key, names) in zip(axes, rows, strict=True):
        for ax, name in zip(line, names, strict=False):
            ax.imshow(plt.imread(files[name]))
            title = textwrap.fill((FIGURES[name].__doc__ or "").rstrip("."), 36)
            ax.set_title(f"{name}\n{title}", fontsize=10, loc="left")
        if names[0] == groups[key][0]:
            place = line[0].get_position(original=True)
            heading = {"fontsize": 16, "weight": "bold", "va": "bottom"}
            sheet.text(place.x0, place.y1 + 0.37 * place.height, CHAPTERS[key], **heading)
    for ax in axes.flat:
        ax.set_anchor("NW")
        ax.axis("off")
    return sheet


if __name__ == "__main__":
    mpl.use("agg")
    folder = Path(sys.argv[1])
    drawn = draw_figures(folder, sys.argv[2:] or FIGURES)
    contact_sheet(drawn).savefig(folder / "contact_sheet.png", dpi=70, bbox_inches="tight")
    print(f"{len(drawn)} figures are in {folder}, small ones in {folder / 'contact_sheet.png'}")
