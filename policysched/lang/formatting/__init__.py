"""Canonical policy text, and the migration of texts to the current language version."""
