"""The known clusters and bindings: snapshot, store, estimates, validation of objects."""
