"""Devices of the cluster: slices by pool, pools of a node, allocated devices."""
