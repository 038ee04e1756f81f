"""Rules about queries of metrics, which need the policy text alone."""
