"""Multi-cluster scheduling: the decisions of a scheduler of a Karmada control plane.

The decisions about bindings and member clusters are pure, without I/O and without a clock of their
own. This package is the counterpart of `policysched.framework` and `policysched.plugins` for pods
and nodes.
"""
