"""NodeAffinity: filter and score nodes by nodeSelector, node affinity and added affinity."""
