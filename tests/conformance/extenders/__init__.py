"""HTTP extenders: the same scripted ones in front of kube-scheduler and of policysched."""
