"""Finds edits to the pod, nodes, placed pods and policies after which a rejected pod fits."""
