"""Checks of metrics: options, fallbacks, PromQL queries and their params."""
