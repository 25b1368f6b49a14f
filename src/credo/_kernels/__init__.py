"""Compiled loops over flat arrays; they check nothing, allocate little and never raise."""
