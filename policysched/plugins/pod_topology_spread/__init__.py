"""PodTopologySpread: spread pods evenly over topology domains."""
