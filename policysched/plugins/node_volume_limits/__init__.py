"""NodeVolumeLimits: limit the number of volumes of each CSI driver on a node."""
