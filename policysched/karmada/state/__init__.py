"""Store the known clusters and bindings, and provide snapshots and estimates for decisions."""
