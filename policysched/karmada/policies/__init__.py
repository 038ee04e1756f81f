"""Cluster policies at work: clusters as rows, bindings as shapes, rules as one plugin."""
