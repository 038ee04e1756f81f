"""Computes the effects of a policy change on a cluster: moved pods and the rules that move them."""
