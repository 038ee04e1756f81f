"""VolumeBinding: claims are satisfied on the node before the pod is bound to it."""
