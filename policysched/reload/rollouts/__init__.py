"""Staged versions in a running scheduler: stored state, measurements, control and reports."""
