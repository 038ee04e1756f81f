"""PromQL: tokens, trees, functions, labels, units, samples, problems and freshness of queries."""
