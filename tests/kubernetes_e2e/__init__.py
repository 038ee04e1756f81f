"""`make kubernetes-e2e`: Kubernetes' own e2e tests, with kube-scheduler and with policysched."""
