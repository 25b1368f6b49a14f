"""A model on a labelled table: what its decisions cost, and whether its word can be taken."""
