"""Conditions, selectors, taints, ranges and times as sets: empty, full, one implied by another."""
