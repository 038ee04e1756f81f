"""List and watch resources of the API server, and decode its answers."""
