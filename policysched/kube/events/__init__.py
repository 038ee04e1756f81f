"""Kubernetes events: their form, the series of equal ones, and the recorder that sends them."""
