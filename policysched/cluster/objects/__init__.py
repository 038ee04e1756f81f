"""Kubernetes objects in wire format, and values read from them: selectors, names, times."""
