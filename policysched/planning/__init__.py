"""Computes the effect of a policy change on a cluster: which pods move and which rules cause it."""
