"""InterPodAffinity: attraction and repulsion between pods."""
