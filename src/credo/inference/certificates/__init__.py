"""Certificates: bounds on log Z from below and from above, and intervals for probabilities."""
