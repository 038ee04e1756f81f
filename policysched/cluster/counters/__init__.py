"""Counts of placed pods for each node and each condition in use."""
