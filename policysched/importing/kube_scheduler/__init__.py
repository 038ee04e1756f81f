"""Sources of kube-scheduler: configuration files, the command line, the legacy Policy API."""
