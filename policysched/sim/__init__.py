"""A cluster in memory: an API server, metrics and workloads that drive the real scheduler.

It implements the ports of `scheduler.ports` and feeds the same handlers as `kube` does, so that
`demo` and tests run the scheduling loop unchanged, without a network and in virtual time. Clock and
random numbers are handed in: the same seed gives the same cluster, step by step.
"""
