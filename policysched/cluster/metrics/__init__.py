"""Samples of metrics for each node, their windows, hysteresis, and recently placed pods."""
