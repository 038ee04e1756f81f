"""Checked policies become plugins: filters and scores that look at all nodes at once.

    checked program ─rewrites▶ checked expressions ─lowering▶ programs ─rules▶ plugins

`compiler.compile_profile` has the phases on one screen. Nothing here knows policy text, and nothing
is decided at run time that could be decided before: rules are independent of each other and of
their order.
"""
