"""Kubernetes events: formats, the counting of equal events, and the recorder that writes them."""
