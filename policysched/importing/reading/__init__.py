"""Read mappings and flags strictly: whatever is not used is reported."""
