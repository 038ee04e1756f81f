"""Syntax tree to meaning: names, types and units, with every error at once."""
