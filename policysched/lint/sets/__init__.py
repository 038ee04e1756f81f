"""Conditions, selectors, taints, ranges and times as sets: emptiness, fullness and implication."""
