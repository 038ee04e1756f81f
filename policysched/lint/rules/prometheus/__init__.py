"""Rules that compare queries with the answers of a Prometheus server."""
