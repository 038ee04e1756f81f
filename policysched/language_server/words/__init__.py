"""Words of policy texts and of the cluster: their places and their meanings."""
