"""Contracts between the scheduling cycle and its plugins, and how plugins are run."""
