"""Edits by which a pod would fit: of the pod, of nodes, of placed pods, of policies."""
