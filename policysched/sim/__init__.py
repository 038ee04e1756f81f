"""A cluster in memory: an API server, metrics and workloads that drive the real scheduler.

It implements the ports of `scheduler.ports` and feeds the same handlers as `kube`. So `demo` and
tests run the unchanged scheduling loop, without a network and in virtual time. Clock and random
numbers are injected: the same seed gives the same cluster, step by step.
"""
