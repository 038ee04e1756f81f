"""Kubernetes objects as on the wire, and what is read from them: selectors, names, times."""
