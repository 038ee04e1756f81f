"""HTTP extenders: servers that take part in decisions, with the protocol of kube-scheduler."""
