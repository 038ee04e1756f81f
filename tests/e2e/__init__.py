"""The whole scheduler against a real API server, judged by what the API server says."""
