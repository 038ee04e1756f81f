"""Facts about a pod from a decision and the cluster: obstacles, requirements, values, labels."""
