"""VolumeZone: a pod goes to the zone and region of its volumes."""
