"""PodTopologySpread: spreads the pods of a set evenly over topology domains."""
