"""PromQL: tokens, trees, labels, units, faults, sample times and text of queries."""
