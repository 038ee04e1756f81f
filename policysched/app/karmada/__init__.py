"""The scheduler of a Karmada control plane: what joins `policysched.karmada` with the world."""
