"""Words of policy texts and of the cluster: where they are, what they mean."""
