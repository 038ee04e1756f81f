"""Canonical policy text, and texts rewritten to the current language version."""
