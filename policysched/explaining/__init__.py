"""Computes the advice of `explain pod`: changes with which another node wins, or a pod fits."""
