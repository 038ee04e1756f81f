"""VolumeBinding: provides volumes for a pod's claims before the pod is bound to the node."""
