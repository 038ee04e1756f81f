"""Serve health, metrics and debug pages over HTTP, with TLS and access control."""
