"""Conditions, selectors, taints, ranges and times as sets, to decide emptiness and implication."""
