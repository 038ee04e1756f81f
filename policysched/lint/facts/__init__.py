"""What is known of the cluster, of Prometheus, and of the queries of policies."""
