"""Slow twins of the decision rules, to be checked by eye. They import nothing from credo."""


def expected_loss(p, matrix, act):
    """Sum loss times probability over the truths."""
    return sum(p[k] * matrix[k][act] for k in range(len(p)))


def bayes_act(p, matrix):
    """Find the first act whose expected loss no other act undercuts."""
    losses = [expected_loss(p, matrix, act) for act in range(len(matrix[0]))]
    return losses.index(min(losses)), min(losses)
