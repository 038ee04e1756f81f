"""Diagnostics and fixes as data, as text and as JSON."""
