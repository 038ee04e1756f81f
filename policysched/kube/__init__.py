"""The only package that talks to the API server.

`kubeconfig` says where it is and who we are, `client` sends requests, `reflector` keeps a sink up
to date by list and watch, `binding`, `pod_status` and `event_recorder` write. Bytes are decoded
straight into `policysched.cluster.objects`; the API model classes of the `kubernetes` package are
never loaded.
"""
