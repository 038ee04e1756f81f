"""The HTTP client: calls, streams, retries, limits, and the write fence."""
