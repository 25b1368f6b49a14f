"""Textbook H13: passing messages as a process that one can follow, by the names of the nodes."""

import numpy as np
import pytest

import credo

SEEN = {2: 1, 4: 0, 5: 1}


@pytest.fixture
def tree():
    made = credo.MarkovNetwork()
    for node, potential in {1: [6, 4], 2: [7, 3], 3: [5, 2], 4: [1, 2], 5: [9, 1]}.items():
        made.node(node, 2, potential)
    for (i, j), same in {(1, 2): 4, (1, 3): 2, (3, 4): 3, (3, 5): 5}.items():
        made.edge(i, j, [[same, 1], [1, same]])
    return made


@pytest.fixture
def passed(tree):
    return credo.pass_messages(tree, SEEN, root=3)


def test_h13_print_shows_who_told_whom_what_in_order_and_what_is_believed_then(passed):
    assert (
        str(passed)
        == """\
Messages towards 3
  m[2 -> 1] = (0: 0.2, 1: 0.8)
  m[5 -> 3] = (0: 0.166667, 1: 0.833333)
  m[4 -> 3] = (0: 0.75, 1: 0.25)
  m[1 -> 3] = (0: 0.424242, 1: 0.575758)
Messages from 3
  m[3 -> 1] = (0: 0.533333, 1: 0.466667)
  m[3 -> 4] = (0: 0.384615, 1: 0.615385)
  m[3 -> 5] = (0: 0.731183, 1: 0.268817)
  m[1 -> 2] = (0: 0.578947, 1: 0.421053)
Beliefs
  b[1] = (0: 0.3, 1: 0.7)
  b[2] = (0: 0, 1: 1)
  b[3] = (0: 0.525, 1: 0.475)
  b[4] = (0: 1, 1: 0)
  b[5] = (0: 0, 1: 1)
Log evidence: 7.78322"""
    )


def test_h13_the_belief_of_the_root_after_each_message(passed):
    """b(x3) is ψ3 at first, and changes whenever 3 hears something."""
    now = [passed.belief(3, after=k)[0] for k in range(len(passed) + 1)]
    expected = [5 / 7, 5 / 7, 1 / 3, 0.6, 0.525, 0.525, 0.525, 0.525, 0.525]
    np.testing.assert_allclose(now, expected, rtol=1e-14)


def test_h13_the_root_is_chosen_by_name_and_the_beliefs_do_not_depend_on_it(tree, passed):
    other = credo.pass_messages(tree, SEEN, root=2)
    assert (passed.root, other.root) == (3, 2)
    assert [(m.source, m.target) for m in other][:4] == [(5, 3), (4, 3), (3, 1), (1, 2)]
    for name, belief in other.beliefs.items():
        assert belief == pytest.approx(passed.beliefs[name], rel=1e-14)
