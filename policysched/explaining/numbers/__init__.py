"""Find the nearest amount, or the fewest steps, and write amounts exactly."""
