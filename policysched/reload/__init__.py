"""Reload policies at run time: sources, checks, swaps, status and history."""
