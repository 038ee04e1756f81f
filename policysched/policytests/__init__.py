"""Policy tests: small clusters and what policies are expected to do on them."""
