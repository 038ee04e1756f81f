"""Helpers for several plugins: queueing hints, caches, arguments, and texts about nodes."""
