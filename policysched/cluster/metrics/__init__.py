"""Metric samples for each node, their windows, hysteresis, and recent placements."""
