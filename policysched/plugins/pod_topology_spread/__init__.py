"""PodTopologySpread: pods of a set spread evenly over topology domains."""
