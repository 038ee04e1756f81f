"""PromQL: tokens, trees, functions, labels, units, samples, faults, times and text of queries."""
