"""Helpers for several plugins: queueing hints, caches, texts about nodes, arguments."""
