"""Derive what scheduling reads of a pod: shape, requests, disks, owners, nominations."""
