"""The cluster as the scheduler sees it: objects, columns, counters, cache and snapshot."""
