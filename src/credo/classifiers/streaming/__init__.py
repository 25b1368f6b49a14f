"""Learning from Arrow batches: what a table is to a model, and how its rows are summarised."""
