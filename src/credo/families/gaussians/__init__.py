"""Gaussians of several classes at once: moments, covariance shapes, scores, missing values."""
