"""Figures of networks, of the weights of findings, and of messages; and places for nodes."""

import itertools
import math

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

import credo
from credo.exceptions import InputError
from credo.plots.layout import arrange
from credo.plots.networks import BEFORE, BELIEVED, OBSERVED

WIDTHS = 2.0, 0.5


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def clinic():
    net = credo.BayesianNetwork()
    for name in ("age", "ill", "test"):
        net.variable(name, ["no", "yes"])
    net.cpt("age", table=[0.75, 0.25])
    net.cpt("ill", ["age"], [[0.9, 0.1], [0.5, 0.5]])
    net.cpt("test", ["ill"], [[0.8, 0.2], [0.25, 0.75]])
    return net


def texts(ax):
    return [text.get_text() for text in ax.texts]


def patches(ax, kind):
    return [patch for patch in ax.patches if type(patch) is kind]


def bars(ax, colour):
    """Lengths of the bars of one colour, as parts of the longest there can be."""
    drawn = patches(ax, Rectangle)
    full = max(bar.get_width() for bar in drawn)
    ink = plt.matplotlib.colors.to_rgba(colour)
    return [bar.get_width() / full for bar in drawn if bar.get_facecolor() == ink]


def depth_of(ax, name):
    (text,) = [text for text in ax.texts if text.get_text() == name]
    return -text.get_position()[1]


class TestBars:
    def test_are_as_long_as_the_probabilities(self):
        post = credo.infer(clinic(), {"test": "yes"})
        ax = post.plot()
        believed = [*post.probabilities("age"), *post.probabilities("ill")]
        np.testing.assert_allclose(bars(ax, BELIEVED), believed, atol=1e-12)
        np.testing.assert_allclose(bars(ax, OBSERVED), [0.0, 1.0])
        prior = [0.75, 0.25, 0.8, 0.2, 0.8 * 0.8 + 0.2 * 0.25, 0.8 * 0.2 + 0.2 * 0.75]
        np.testing.assert_allclose(bars(ax, BEFORE), prior, atol=1e-12)

    def test_say_their_states_and_percentages(self):
        shown = texts(credo.infer(clinic()).plot())
        assert shown[:5] == ["age", "no", "75%", "yes", "25%"]

    @pytest.mark.parametrize(
        ("evidence", "options", "named"),
        [
            ({}, {}, ["probability"]),
            ({"test": "yes"}, {"prior": False}, ["posterior", "observed"]),
            ({"test": "yes"}, {}, ["posterior", "observed", "prior"]),
        ],
    )
    def test_of_the_prior_are_drawn_if_there_is_evidence(self, evidence, options, named):
        ax = credo.infer(clinic(), evidence).plot(**options)
        assert bool(bars(ax, BEFORE)) == ("prior" in named)
        assert [t.get_text() for t in ax.get_legend().get_texts()] == named

    def test_of_many_states_the_least_probable_are_summed(self):
        net = credo.BayesianNetwork()
        net.variable("die", ["a", "b", "c", "d", "e", "f", "g"])
        net.cpt("die", table=[0.05, 0.3, 0.05, 0.2, 0.25, 0.1, 0.05])
        ax = credo.infer(net).plot()
        assert texts(ax)[1::2] == ["b", "d", "e", "f", "3 others"]
        np.testing.assert_allclose(bars(ax, BELIEVED), [0.3, 0.2, 0.25, 0.1, 0.15])

    def test_of_weights_on_states_are_not_those_of_an_observed_state(self):
        ax = credo.infer(clinic(), likelihood={"test": [1, 3]}).plot()
        assert not bars(ax, OBSERVED)
        frames = patches(ax, FancyBboxPatch)
        assert [frame.get_linestyle() for frame in frames] == ["-", "-", "--"]
        named = [text.get_text() for text in ax.get_legend().get_texts()]
        assert named == ["posterior", "observed with weights", "prior"]


class TestPlaces:
    def test_parents_are_above_their_children_and_arrows_join_them(self):
        ax = credo.infer(clinic(), {"test": "yes"}).plot()
        assert depth_of(ax, "age") < depth_of(ax, "ill") < depth_of(ax, "test")
        assert len(patches(ax, FancyArrowPatch)) == 2
        assert len(patches(ax, FancyBboxPatch)) == 3

    @pytest.mark.parametrize(("pairs", "n_lines"), [(("ab", "bc", "ca"), 3), (("ab", "ba"), 1)])
    def test_neighbours_of_a_field_are_joined_once_without_arrows(self, pairs, n_lines):
        net = credo.MarkovNetwork()
        for name in "abc":
            net.node(name, 2)
        for pair in pairs:
            net.edge(*pair, [[2, 1], [1, 2]])
        links = patches(credo.infer(net).plot(), FancyArrowPatch)
        assert len(links) == n_lines
        assert {type(link.get_arrowstyle()).__name__ for link in links} == {"Curve"}

    def test_rules_link_their_visible_variables_only(self):
        net = credo.BayesianNetwork()
        for name in ("a", "b", "c", "d", "effect"):
            net.variable(name, 2)
        for name in "abcd":
            net.cpt(name, table=[0.5, 0.5])
        net.noisy_or("effect", dict.fromkeys("abcd", 0.5))
        ax = credo.infer(net, {"effect": 1}).plot()
        assert len(patches(ax, FancyArrowPatch)) == 4
        assert len(patches(ax, FancyBboxPatch)) == 5

    def test_given_axes_are_drawn_on_with_smaller_letters(self):
        post = credo.infer(clinic())
        _, ax = plt.subplots(figsize=(1.5, 1.5))
        assert post.plot(ax) is ax
        assert ax.texts[0].get_fontsize() < post.plot().texts[0].get_fontsize()

    def test_long_names_are_cut(self):
        net = credo.BayesianNetwork()
        net.variable("a" * 40, ["b" * 40, "c"])
        net.cpt("a" * 40, table=[0.5, 0.5])
        assert texts(credo.infer(net).plot())[:2] == ["a" * 14 + "…" + "a" * 7, "bbbbbb…bbb"]

    def test_wide_names_stay_in_their_box(self):
        net = credo.BayesianNetwork()
        net.variable("W" * 40, ["M" * 40, "c"])
        net.cpt("W" * 40, table=[0.5, 0.5])
        ax = credo.infer(net).plot()
        ax.figure.canvas.draw()
        (frame,) = patches(ax, FancyBboxPatch)
        box = frame.get_window_extent()
        for text in ax.texts:
            assert box.x0 < text.get_window_extent().x0
            assert text.get_window_extent().x1 < box.x1

    def test_links_within_a_row_go_below_the_boxes_between(self):
        net = credo.MarkovNetwork()
        for name in "abcde":
            net.node(name, 2)
        for pair in itertools.combinations("abcde", 2):
            net.edge(*pair, [[2, 1], [1, 2]])
        ax = credo.infer(net).plot()
        floor = min(frame.get_y() for frame in patches(ax, FancyBboxPatch))
        lowest = [link.get_path().vertices[:, 1].min() for link in patches(ax, FancyArrowPatch)]
        assert sum(y < floor for y in lowest) == 3  # b-d, c-e and b-e


class TestChoice:
    @pytest.mark.parametrize(
        ("evidence", "names", "which"),
        [({"x9": 0}, ["x8", "x9", "x10"], "most changed"), ({}, ["x0", "x1", "x2"], "first")],
    )
    def test_the_most_changed_variables_or_the_first_are_taken(self, evidence, names, which):
        net = credo.chain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], length=30)
        ax = credo.infer(net, evidence).plot(n_variables=3)
        assert [text for text in texts(ax) if text.startswith("x")] == names
        assert ax.get_title() == f"3 of 30 variables, the {which}"

    def test_of_a_query_only_what_was_asked_for(self):
        ax = credo.infer(clinic(), {"test": "yes"}, query=["ill", "age"]).plot()
        assert {"ill", "age"} <= set(texts(ax))
        assert "test" not in texts(ax)

    def test_that_leaves_nothing_to_draw_is_refused(self):
        with pytest.raises(InputError, match="n_variables of draw must be a whole number"):
            credo.infer(clinic()).plot(n_variables=0)
        with pytest.raises(InputError, match="nothing to draw"):
            credo.infer(clinic(), {"test": "yes"}, query=[]).plot()


class TestWeights:
    def test_bars_are_weights_given_the_others_and_marks_those_alone(self):
        found = credo.explain(credo.infer(clinic(), {"age": "yes", "test": "no"}), "ill", "yes")
        ax = found.plot()
        lengths = [bar.get_width() for bar in patches(ax, Rectangle)]
        np.testing.assert_allclose(lengths, [w.given_others for w in found.weights])
        assert lengths[0] > 0 > lengths[1]
        assert len({bar.get_facecolor() for bar in patches(ax, Rectangle)}) == 2
        marks = ax.get_lines()[0].get_xdata()
        np.testing.assert_allclose(marks, [w.alone for w in found.weights])
        labels = [label.get_text() for label in ax.get_yticklabels()]
        assert labels == ["age = yes", "test = no"]
        assert ax.get_title() == "ill = yes: 20% → 24%"
        assert ax.get_xlabel() == "weight of evidence (log10 odds)"

    def test_a_proof_reaches_the_edge(self):
        net = credo.BayesianNetwork()
        for name in ("ill", "sign"):
            net.variable(name, 2)
        net.cpt("ill", table=[0.9, 0.1])
        net.cpt("sign", ["ill"], [[1.0, 0.0], [0.5, 0.5]])
        found = credo.explain(credo.infer(net, {"sign": 1}), "ill", 1)
        assert found.weights[0].given_others == math.inf
        ax = found.plot()
        (bar,) = patches(ax, Rectangle)
        assert bar.get_width() == pytest.approx(ax.get_xlim()[1])
        assert texts(ax) == ["∞"]


class TestLayers:
    def test_every_arc_goes_down_and_long_ones_bend_once_per_row_between(self):
        arcs = [(0, 1), (1, 2), (2, 3), (0, 3)]
        layers = arrange(4, arcs, WIDTHS, directed=True)
        assert layers.row_of[:4] == [0, 1, 2, 3]
        assert [len(route) for route in layers.routes] == [2, 2, 2, 4]
        for route in layers.routes:
            rows = [layers.row_of[v] for v in route]
            assert rows == list(range(rows[0], rows[-1] + 1))

    @pytest.mark.parametrize("seed", range(5))
    def test_nodes_of_a_row_do_not_overlap(self, seed):
        rng = np.random.default_rng(seed)
        pairs = [pair for pair in itertools.combinations(range(15), 2) if rng.random() < 0.2]
        layers = arrange(15, pairs, WIDTHS, directed=True)
        assert all(layers.row_of[a] < layers.row_of[b] for a, b in pairs)
        for row in layers.rows:
            assert sum(v < 15 for v in row) <= 6
            room = [WIDTHS[0] if v < 15 else WIDTHS[1] for v in row]
            for i in range(len(row) - 1):
                gap = layers.x[row[i + 1]] - layers.x[row[i]]
                assert gap >= (room[i] + room[i + 1]) / 2 - 1e-9

    def test_a_crossing_that_can_be_undone_is_undone(self):
        layers = arrange(4, [(0, 3), (1, 2)], WIDTHS, directed=True)
        upper, lower = layers.rows
        assert [3 if v == 0 else 2 for v in upper] == lower

    def test_an_only_child_is_right_below_its_parent(self):
        layers = arrange(2, [(0, 1)], WIDTHS, directed=True)
        assert layers.x[0] == layers.x[1]

    def test_a_root_comes_down_to_its_first_child(self):
        layers = arrange(4, [(0, 1), (1, 2), (3, 2)], WIDTHS, directed=True)
        assert layers.row_of == [0, 1, 2, 1]

    def test_without_directions_rows_are_distances_from_the_first(self):
        ring = [(i, (i + 1) % 5) for i in range(5)]
        layers = arrange(5, ring, WIDTHS, directed=False)
        assert layers.row_of[:5] == [0, 1, 2, 2, 1]


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "0%"),
        (1e-9, "<0.1%"),
        (0.0123, "1.2%"),
        (0.9877, "98.8%"),
        (0.0994, "9.9%"),
        (0.0996, "10%"),
        (0.5, "50%"),
        (0.994, "99.4%"),
        (0.996, "99.6%"),
        (0.9996, ">99.9%"),
        (1.0, "100%"),
    ],
)
def test_percentages_tell_small_and_large_from_never_and_always(p, text):
    net = credo.BayesianNetwork()
    net.variable("it", ["yes", "no"])
    net.cpt("it", table=[p, 1 - p])
    assert texts(credo.infer(net).plot())[:3] == ["it", "yes", text]


class TestMessages:
    @staticmethod
    def ring():
        pairs = [[0, 1], [1, 2], [2, 0]]
        return credo.MarkovNetwork.from_arrays(np.full((3, 2), [0.6, 0.4]), pairs, [[2, 1], [1, 2]])

    def test_have_a_point_for_each_sweep_and_say_how_it_ended(self):
        post = credo.infer(self.ring(), method="loopy", schedule="flooding")
        axes = post.plot(show="residuals")
        (line,) = axes.lines
        assert np.array_equal(line.get_ydata(), post.residuals)
        assert np.array_equal(line.get_xdata(), np.arange(1, post.sweeps + 1))
        assert axes.get_yscale() == "log"
        assert axes.get_title() == "loopy: CONVERGED"
        assert axes.get_ylabel() == "largest change of a message"

    def test_that_do_not_change_have_no_point_on_a_log_scale(self):
        post = credo.infer(
            self.ring(), method="loopy", schedule="flooding", tolerance=0.0, sweeps=200
        )
        (line,) = post.plot(show="residuals").lines
        assert (np.asarray(line.get_ydata()) > 0).all()

    def test_of_samples_are_called_beliefs_and_need_sweeps(self):
        axes = credo.infer(self.ring(), method="gibbs", seed=0).plot(show="residuals")
        assert axes.get_ylabel() == "largest change of a belief"
        assert axes.get_xlabel() == "part of the draws (of 10)"
        field = credo.infer(self.ring(), method="mean_field").plot(show="residuals")
        assert field.get_ylabel() == "largest change of a belief"
        post = credo.infer(self.ring(), {0: 0, 1: 0, 2: 1}, method="gibbs")
        with pytest.raises(InputError, match="made no sweeps"):
            post.plot(show="residuals")


class TestApproximateAnswers:
    def test_have_the_same_picture_and_say_how_it_ended(self):
        post = credo.infer(clinic(), {"test": "yes"}, method="loopy")
        ax = post.plot()
        believed = [*post.probabilities("age"), *post.probabilities("ill")]
        np.testing.assert_allclose(bars(ax, BELIEVED), believed, atol=1e-12)
        assert not bars(ax, BEFORE)
        assert ax.get_title() == "loopy: EXACT"  # on a tree

    def test_what_is_shown_has_a_name(self):
        with pytest.raises(InputError, match="show of plot"):
            credo.infer(clinic()).plot(show="bars")


@pytest.mark.parametrize(
    "shares",
    [[1 / 3, 1 / 3, 1 / 3], [0.125, 0.375, 0.5], [0.004, 0.006, 0.99], [0.1665] * 4 + [0.334]],
)
def test_percentages_of_a_variable_sum_to_a_hundred(shares):
    net = credo.BayesianNetwork()
    net.variable("it", len(shares))
    net.cpt("it", table=shares)
    shown = [float(text.strip("%<>")) for text in texts(credo.infer(net).plot())[2::2]]
    assert sum(shown) == pytest.approx(100, abs=1e-9)
    np.testing.assert_allclose(shown, 100 * np.array(shares), atol=1)


class TestBareNetworks:
    def test_show_names_and_arrows(self):
        ax = clinic().plot()
        assert texts(ax) == ["age", "ill", "test"]
        assert depth_of(ax, "age") < depth_of(ax, "ill") < depth_of(ax, "test")
        assert len(patches(ax, FancyArrowPatch)) == 2

    def test_of_factor_graphs_have_a_square_for_each_factor(self):
        graph = credo.FactorGraph()
        for name in "abc":
            graph.variable(name, 2)
        graph.factor(["a", "b", "c"], np.ones((2, 2, 2)))
        graph.factor(["a"], [1, 2])
        ax = graph.plot()
        assert len(patches(ax, Rectangle)) == 2
        assert len(patches(ax, FancyArrowPatch)) == 4

    def test_of_a_hundred_variables_do_not_run_into_each_other(self):
        rng = np.random.default_rng(0)
        net = credo.BayesianNetwork()
        for i in range(100):
            net.variable(f"v{i}", 2)
            given = sorted(rng.choice(i, min(i, 2), replace=False).tolist()) if i else []
            net.cpt(f"v{i}", [f"v{j}" for j in given], np.full((2,) * (len(given) + 1), 0.5))
        ax = net.plot()
        places = np.array([text.get_position() for text in ax.texts])
        gaps = np.abs(places[:, None] - places)
        np.fill_diagonal(gaps[..., 0], 9)
        assert ((gaps[..., 0] > 1.1) | (gaps[..., 1] > 0.3)).all()

    def test_need_a_variable(self):
        with pytest.raises(InputError, match="no variables"):
            credo.FactorGraph().plot()


class TestTrees:
    def test_of_cliques_show_them_and_what_they_share(self):
        tree = credo.JunctionTree(clinic())
        ax = tree.plot()
        assert texts(ax) == ["4 cells", "age, ill", "4 cells", "ill, test", "ill"]
        assert len(patches(ax, FancyArrowPatch)) == 1
        assert ax.get_title() == "junction_tree: 2 cliques; width 1"

    def test_of_a_plan_show_the_cells_of_each_table_and_mark_the_largest(self):
        net = credo.BayesianNetwork()
        for name, k in {"a": 2, "b": 3, "c": 5, "d": 2}.items():
            net.variable(name, k)
        net.cpt("a", [], [0.5, 0.5])
        net.cpt("b", ["a"], np.full((2, 3), 1 / 3))
        net.cpt("c", ["b"], np.full((3, 5), 1 / 5))
        net.cpt("d", ["c"], np.full((5, 2), 1 / 2))
        plan = credo.plan(net)
        sizes = dict(zip(plan.cliques, plan.clique_sizes, strict=True))
        assert sizes == {("a", "b"): 6, ("b", "c"): 15, ("c", "d"): 10}
        for clique, parent, shared in zip(plan.cliques, plan.parents, plan.separators, strict=True):
            above = set() if parent is None else set(plan.cliques[parent])
            assert set(shared) == set(clique) & above
        ax = plan.plot()
        assert {text for text in texts(ax) if "cells" in text} == {
            "6 cells",
            "15 cells",
            "10 cells",
        }
        marked = [
            frame
            for frame in patches(ax, FancyBboxPatch)
            if frame.get_edgecolor() == plt.matplotlib.colors.to_rgba(OBSERVED)
        ]
        assert len(marked) == 1
        assert texts(plan.plot(n_cliques=1))[0] == "15 cells"
        assert (
            plan.plot(n_cliques=1).get_title().startswith("junction_tree: 1 of 3 cliques, the la")
        )
        assert credo.plan(net, {"b": 0}, query=["a"]).cliques == (("a",),)

    def test_of_nothing_are_refused(self):
        plan = credo.plan(clinic(), dict.fromkeys(("age", "ill", "test"), "no"))
        with pytest.raises(InputError, match="no variable takes part"):
            plan.plot()

    def test_of_messages_have_an_arrow_for_each_in_the_order_of_sending(self):
        passed = credo.pass_messages(clinic(), {"test": "yes"}, root="ill")
        ax = passed.plot()
        assert texts(ax)[0] == "ill"
        arrows = patches(ax, FancyArrowPatch)
        assert len(arrows) == 4
        words = [text for text in texts(ax) if ". " in text]
        assert words == [
            f"{i}. " + ", ".join(f"{value:.3g}" for value in message.values)
            for i, message in enumerate(passed, 1)
        ]
        # Arrows towards the root point up, the others down.
        ends = [arrow._posA_posB for arrow in arrows]
        up = [bool(head[1] > tail[1]) for tail, head in ends]
        assert up == [True, True, False, False]

    def test_of_a_run_on_its_way_show_beliefs_so_far_and_grey_arrows_to_come(self):
        passed = credo.pass_messages(clinic(), {"test": "yes"}, root="ill")
        ax = passed[:1].plot()
        inks = [arrow.get_edgecolor() for arrow in patches(ax, FancyArrowPatch)]
        assert len(inks) == 4
        assert inks[1] == inks[2] == inks[3] != inks[0]
        assert sum(". " in text for text in texts(ax)) == 1
        now = passed[:1].beliefs
        believed = [*now["ill"].values(), *now["age"].values()]
        np.testing.assert_allclose(sorted(bars(ax, BELIEVED)), sorted(believed), atol=1e-12)
        assert ax.get_title().startswith("1 of 4 messages")

    def test_of_two_neighbours_do_not_run_into_each_other(self):
        graph = credo.FactorGraph()
        for name in "abcde":
            graph.variable(name, 2)
        for scope in ("abc", "cde"):
            graph.factor(list(scope), np.arange(1.0, 9.0).reshape(2, 2, 2))
        ax = credo.pass_messages(graph, root="c").plot()
        ax.figure.canvas.draw()
        said = [text.get_window_extent() for text in ax.texts if ". " in text.get_text()]
        assert len(said) == 12
        assert not any(a.overlaps(b) for a, b in itertools.combinations(said, 2))

    def test_of_a_network_without_arcs_are_none(self):
        net = credo.BayesianNetwork()
        net.variable("it", 2)
        net.cpt("it", table=[0.5, 0.5])
        assert texts(credo.pass_messages(net).plot())[0] == "it"
        with pytest.raises(InputError, match="no variables"):
            credo.pass_messages(credo.FactorGraph()).plot()
