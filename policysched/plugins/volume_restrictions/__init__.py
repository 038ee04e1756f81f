"""VolumeRestrictions: disks and claims that pods cannot share."""
