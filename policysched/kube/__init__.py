"""The only package that talks to the API server.

    auth      the address of the API server and the credentials for it
    http      requests: `client` sends them
    reading   list and watch: `reflector` keeps a sink up to date
    writing   bindings, pod status, evictions, volumes
    events    Kubernetes events
    election  leader election by a Lease

Bytes are decoded straight into the structs of `policysched.cluster.objects`; the API model classes
of the `kubernetes` package are never loaded.
"""
