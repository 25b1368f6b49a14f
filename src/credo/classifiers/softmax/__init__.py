"""The mathematics of logistic and softmax regression: summaries over batches, and solvers."""
