"""Imports pods and their owners: their placement fields become rules."""
