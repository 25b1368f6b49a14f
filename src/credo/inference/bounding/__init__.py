"""Bounds on log Z from below and from above, and certified intervals for probabilities."""
