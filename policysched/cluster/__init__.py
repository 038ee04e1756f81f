"""The scheduler's view of the cluster: objects, columns, counters, cache and snapshot."""
