"""Apply cluster policies: clusters are rows, bindings are pods, and all rules are one plugin."""
