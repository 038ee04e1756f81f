"""Derive the data that scheduling reads of a pod: shape, requests, disks, owners, nominations."""
