"""Documents as bags of words: reading, counting by class, choosing words."""
