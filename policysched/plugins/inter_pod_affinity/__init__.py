"""InterPodAffinity: filter and score nodes by the affinity between pods."""
