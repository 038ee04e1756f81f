"""VolumeZone: a pod must run in the zone and region of its volumes."""
