"""Strict readers of mappings and flags, which report everything that no caller reads."""
