"""Placed pods, counted for each node and each condition in use."""
