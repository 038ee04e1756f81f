"""Searches for the nearest amount, or the fewest steps, and exact formats of amounts."""
