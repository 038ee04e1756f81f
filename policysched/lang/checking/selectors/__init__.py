"""Checks of selectors, pod sets and label idioms."""
