"""Searches for the nearest amount or the fewest steps, and formats amounts exactly."""
