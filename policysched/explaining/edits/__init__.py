"""Edits with which a pod fits: of the pod, of nodes, of placed pods, of policies."""
