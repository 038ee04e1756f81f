"""Count placed pods on each node for the conditions in use."""
