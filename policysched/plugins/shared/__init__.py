"""Share code between plugins: queueing hints, caches, texts about nodes, arguments."""
