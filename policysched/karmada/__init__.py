"""Multi-cluster scheduling: the decisions of a scheduler of a Karmada control plane.

Pure decisions about bindings and member clusters, without I/O and without a clock of its own; the
counterpart of `policysched.framework` and `policysched.plugins` for pods and nodes.
"""
