"""The mathematics of naive Bayes: which family has which columns, summaries, scores."""
