"""NodeAffinity: nodeSelector, node affinity, and the added affinity of the profile."""
