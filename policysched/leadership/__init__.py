"""Leader election as it is configured, and the terms of a leader."""
