"""NodeVolumeLimits: the maximum number of volumes of each CSI driver on a node."""
