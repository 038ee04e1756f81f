"""InterPodAffinity: pods near some pods and away from others."""
