"""The effect of changed policies on a cluster: the pods that move, and the responsible rules."""
