"""What a decision and the cluster show about a pod: obstacles, requirements, values, labels."""
