"""Cluster policies in force: clusters as rows, bindings as pods, rules as one plugin."""
