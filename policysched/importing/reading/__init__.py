"""Strict readers of mappings and flags: they report everything that is not read."""
