"""The address of the API server and the credentials for it: kubeconfig, service account."""
