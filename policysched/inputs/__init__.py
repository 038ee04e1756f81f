"""Inputs of commands: policy sources, manifests, cluster files, running clusters, metrics."""
