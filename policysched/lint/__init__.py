"""Lint: checks for policies that are valid but probably not intended.

Each rule is one module of `rules` and has a page in docs/lint/. No module of this package reads
files.
"""
