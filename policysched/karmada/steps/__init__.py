"""The steps of one decision: filter, score, select clusters, divide replicas."""
