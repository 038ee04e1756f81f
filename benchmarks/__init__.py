"""Benchmarks: `python -m benchmarks` compares policysched with kube-scheduler."""
