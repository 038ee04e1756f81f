"""Readers of command inputs: policies, manifests, cluster files, running clusters, metrics."""
