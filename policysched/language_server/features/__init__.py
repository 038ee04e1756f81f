"""Editor features: completion, hover, fixes, names, outline and highlighting."""
