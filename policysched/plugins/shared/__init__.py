"""Shared by several plugins: queueing hints, cached answers, texts about nodes, arguments."""
