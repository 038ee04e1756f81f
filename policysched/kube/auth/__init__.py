"""The address of the API server and its credentials, from a kubeconfig or a service account."""
