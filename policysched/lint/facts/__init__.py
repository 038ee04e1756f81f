"""Facts about the cluster, about Prometheus, and about the queries of policies."""
