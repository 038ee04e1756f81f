"""Clusters and bindings as they are known now: snapshot, store, estimates, checks of objects."""
