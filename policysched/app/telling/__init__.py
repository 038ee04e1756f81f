"""What a running scheduler tells about its work: metrics, decisions, traces."""
