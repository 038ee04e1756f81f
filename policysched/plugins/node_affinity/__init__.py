"""NodeAffinity: nodeSelector, node affinity, and the affinity that a profile adds."""
