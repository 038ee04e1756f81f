"""VolumeZone: restrict a pod to the zones and regions of its volumes."""
