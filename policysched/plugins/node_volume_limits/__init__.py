"""NodeVolumeLimits: the limit of volumes of each CSI driver on a node."""
