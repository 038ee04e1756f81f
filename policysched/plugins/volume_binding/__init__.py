"""VolumeBinding: find volumes for the claims of a pod, and bind them before the pod."""
