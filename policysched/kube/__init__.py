"""Client of the Kubernetes API server; no other package sends requests to it.

    auth      address of the API server and credentials for it
    http      requests, sent by `client`
    reading   list and watch: `reflector` keeps a sink up to date
    writing   bindings, pod status, evictions, volumes
    events    Kubernetes events
    election  leader election with a Lease

Answers are decoded directly into the structs of `policysched.cluster.objects`; the API model
classes of the `kubernetes` package are never loaded.
"""
