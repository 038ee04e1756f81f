"""Policy tests: small clusters, and the expected effects of policies on them."""
