"""Simulate a cluster in memory: API server, metrics and workloads for the real scheduler.

The API server implements the ports of `scheduler.ports` and feeds the same handlers as `kube`.
`demo` and tests therefore run the unchanged scheduling loop, without a network and in virtual time.
The clock and the random numbers are injected: the same seed gives the same cluster at every step.
"""
