"""Checks of selectors, of sets of pods and of label idioms."""
