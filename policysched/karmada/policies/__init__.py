"""Apply cluster policies: treat clusters as rows, bindings as pods, and all rules as one plugin."""
