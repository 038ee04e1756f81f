"""Placing workloads across clusters: what a scheduler of a Karmada control plane decides.

Pure decisions about bindings and clusters, as `policysched.framework` and `plugins` are for pods
and nodes; without I/O and without a clock.
"""
