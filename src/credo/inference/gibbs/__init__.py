"""Sampling by Markov chains, with the diagnostics that tell how far it may be trusted."""
