"""Generalised belief propagation: beliefs of regions that agree where the regions overlap."""
