"""Rules about cluster policies."""
