"""Multi-cluster scheduling: decide on bindings and member clusters for a Karmada control plane.

The decisions are pure, without I/O and without a clock of their own. This package is the
counterpart of `policysched.framework` and `policysched.plugins`, which decide on pods and nodes.
"""
