"""VolumeRestrictions: reject nodes if pods would share disks or claims that they cannot share."""
